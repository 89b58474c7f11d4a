//! Quantized models, and models that decode in other number types.

use std::fs;

use serde_json::Value;

use crate::cli_classify;
use crate::cli_generate::language_models;
use crate::cli_label::tagger;
use crate::cli_masked::masked;
use crate::cli_model::{CONFIG, stdout, trained};
use crate::run::{Folder, for_family};

const TYPES: [&str; 2] = ["int8", "bf16"];
pub(crate) const TEST_SET: &str = "--src in --ref ref --resamples 50";

/// The folder of [`trained`] with a test set in `in` and `ref`.
pub(crate) fn with_test_set() -> Folder {
    let folder = trained();
    folder
        .write("in", "1 2 3\n4 5 6 7\n\n9 8 7 6 5 4 3 2 1\n")
        .write("ref", "3 2 1\n7 6 5 4\n\n1 2 3 4 5 6 7 8 9\n");
    folder
}

/// [`with_test_set`], and `runs/c` in 8-bit integers in the directory `small`.
pub(crate) fn quantized() -> Folder {
    let folder = with_test_set();
    quantize(&folder, "runs/c", "int8", "small");
    folder
}

fn quantize(folder: &Folder, model: &str, to: &str, out: &str) -> String {
    let arguments = format!("quantize {model} --precision {to} --output {out} {TEST_SET}");
    stdout(folder, &arguments)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The sorted names of what `dir` holds.
pub(crate) fn names(folder: &Folder, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path(dir)).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn without_a_test_set_there_is_a_model_and_no_report() {
    let folder = quantized();
    let quick = "quantize runs/c --precision int8 --output quick";
    let outcome = folder.succeeds(quick);
    assert!(outcome.stdout.contains("smaller"), "{outcome:?}");
    assert!(!outcome.stdout.contains("BLEU"), "{outcome:?}");
    assert!(outcome.stderr.contains("note: nothing was measured"), "{outcome:?}");
    let mut expected = names(&folder, "small");
    expected.retain(|name| name != "report.json");
    assert_eq!(names(&folder, "quick"), expected);
    let of = |model: &str| stdout(&folder, &format!("translate {model} src --scores"));
    assert_eq!(of("quick"), of("small"));
    let shown = json(&stdout(&folder, &format!("{quick}-json --json")));
    assert_eq!(shown["precision"], "int8");
    assert!(shown["bytes"]["after"].as_u64() < shown["bytes"]["before"].as_u64());
    assert!(shown.get("report").is_none());
    folder.write("text", "1 2\n3 4 5\n6\n");
    stdout(&folder, "quantize runs/c --precision int8 --output short --shortlist text text");
    assert!(names(&folder, "short").contains(&"shortlist.safetensors".to_owned()));
    folder.fails("quantize runs/c --precision int8 --output new --max-drop 1", 2, &["--src"]);
    folder.fails(
        "quantize runs/c --precision int8 --output new --beam-width 1",
        2,
        &["search options have no effect without a test set"],
    );
    assert!(!folder.path("new").exists());
}

#[test]
fn a_quantized_model_gives_what_the_original_gives_in_its_type() {
    let folder = with_test_set();
    folder.write("s.toml", for_family(CONFIG, "seq2seq"));
    let seq2seq = "train s.toml --output s --set model.family=seq2seq --set model.recurrent.d_hidden=16";
    assert_eq!(folder.run(seq2seq).code, Some(0));
    for (model, name) in [("runs/c", "c"), ("s", "s")] {
        for to in TYPES {
            let small = format!("{name}-{to}");
            quantize(&folder, model, to, &small);
            for command in [
                "translate MODEL src",
                "translate MODEL src --json --n-best 2",
                "translate MODEL src --json --beam-width 1 --alignments",
                "translate MODEL src --sample --seed 3 --scores",
                "rescore MODEL --src in --tgt ref --token-scores --json",
            ] {
                let of = |model: &str| stdout(&folder, &command.replace("MODEL", model));
                let before = of(&format!("{model} --precision {to}"));
                assert_eq!(of(&small), before, "{command}");
                assert_eq!(of(&format!("{small} --precision {to}")), before);
                assert_ne!(before, "");
            }
            let evaluate = |model: &str| {
                let arguments = format!("evaluate {model} --src in --ref ref --json");
                let mut report = json(&stdout(&folder, &arguments));
                report.as_object_mut().unwrap().remove("seconds");
                report
            };
            let before = evaluate(&format!("{model} --precision {to}"));
            assert_eq!(evaluate(&small), before, "{model}");
        }
        let precise = stdout(&folder, &format!("translate {model} src --json"));
        let same = format!("translate {model} src --json --precision f32");
        assert_eq!(stdout(&folder, &same), precise);
        for to in TYPES {
            let rounded = format!("translate {model} src --json --precision {to}");
            assert_ne!(stdout(&folder, &rounded), precise, "{to} changes nothing");
        }
    }
}

#[test]
fn a_quantized_model_is_used_like_any_other() {
    let folder = quantized();
    assert_eq!(
        names(&folder, "small"),
        ["config.toml", "packed.safetensors", "provenance.json", "report.json", "tokenizer.json"]
    );
    let info = json(&stdout(&folder, "info small --json"));
    let before = json(&stdout(&folder, "info runs/c --json"));
    assert_eq!((&info["precision"], &before["precision"]), (&"int8".into(), &"f32".into()));
    assert_eq!(info["n_parameters"], before["n_parameters"]);
    let text = stdout(&folder, "info small");
    for words in ["number type", " int8\n", " of packed.safetensors\n", "d_ff = 32"] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    let compared = stdout(&folder, "compare runs/c small --src in --ref ref --json");
    let compared = json(&compared);
    assert_eq!(compared["systems"][1]["name"], "small");
    assert_eq!(compared["systems"][1]["n_parameters"], before["n_parameters"]);
    let outcome = folder.command("explain small").arg("1 2 3").output().unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert!(folder.path("explanation.html").exists());
    for arguments in ["translate small src --with runs/c", "translate runs/c src --with small"] {
        assert_eq!(stdout(&folder, arguments).lines().count(), 5);
    }
    let svg = stdout(&folder, "plot positions small");
    assert!(svg.starts_with("<svg"), "{svg}");
}

#[test]
fn the_report_holds_what_is_printed() {
    let folder = with_test_set();
    let arguments = format!("quantize runs/c --precision int8 --output small {TEST_SET}");
    let printed = json(&stdout(&folder, &format!("{arguments} --json")));
    let report = json(&fs::read_to_string(folder.path("small/report.json")).unwrap());
    assert_eq!(printed, report);
    assert_eq!((&report["precision"], &report["lines"]), (&"int8".into(), &4.into()));
    let size = fs::metadata(folder.path("small/packed.safetensors")).unwrap().len();
    assert_eq!(report["bytes"]["after"], size);
    assert_eq!(report["search"]["max_new_tokens"], Value::Null);
    assert!(report["search"].get("max_new_tokens").is_some());
    let settings = ["resamples", "seed", "threads"].map(|key| report[key].as_u64().unwrap());
    assert_eq!(settings[..2], [50, 12345]);
    assert_eq!(report["batch_size"], 16 * settings[2]);
    let info = json(&stdout(&folder, "info runs/c --json"));
    let bytes = 4 * info["n_parameters"].as_u64().unwrap();
    assert_eq!(report["bytes"]["before"], bytes);
    let original = &info["provenance"]["sha256"]["model.safetensors"];
    assert_eq!(&report["original_sha256"], original);
    for (model, which) in [("runs/c", "baseline"), ("small", "system")] {
        let evaluate = format!("evaluate {model} --src in --ref ref --json");
        let evaluated = json(&stdout(&folder, &evaluate));
        for metric in ["bleu", "chrf"] {
            let of_report = report[metric][which]["value"].as_f64().unwrap();
            let value = evaluated[metric]["value"].as_f64().unwrap();
            assert!((of_report - value).abs() < 1e-9, "{metric} of {model}");
        }
    }
    let outputs = ["runs/c", "small"].map(|model| stdout(&folder, &format!("translate {model} in")));
    let pairs = outputs[0].lines().zip(outputs[1].lines());
    let changed = pairs.filter(|(before, after)| before != after).count();
    assert_eq!(report["changed_lines"], changed);

    let text = quantize(&folder, "runs/c", "bf16", "half");
    let rows: Vec<&str> = text.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(rows, ["weights", "size", "speed", "BLEU", "chrF2", "changed", "CPU", "search"]);
    let report = json(&fs::read_to_string(folder.path("half/report.json")).unwrap());
    let changed = format!("{} of 4 lines", report["changed_lines"]);
    assert!(text.contains(&changed) && text.contains("bf16"), "{text}");
}

/// The vocabulary is so small that all of its tokens in the text are candidates, which changes nothing.
#[test]
fn a_shortlist_is_learned_stored_and_switched_off() {
    let folder = with_test_set();
    let text = (0..10).map(|i| format!("{i} {} {}\n", (i + 3) % 10, (i * 7) % 10));
    folder.write("text", text.collect::<String>());
    let arguments =
        format!("quantize runs/c --precision int8 --output listed {TEST_SET} --shortlist text text");
    let printed = stdout(&folder, &arguments);
    for words in [
        "         f32             int8 with shortlist\nweights  f32             int8\n",
        "effect of the shortlist (",
        "):\n         int8            int8 with shortlist\ntokens ",
        "candidates of a line",
        "\ntokens   14 ",
    ] {
        assert!(printed.contains(words), "`{words}` is not in {printed}");
    }
    let report = json(&fs::read_to_string(folder.path("listed/report.json")).unwrap());
    let cost = &report["shortlist"];
    assert_eq!(cost["vocabulary"], 14);
    let candidates = cost["candidates"].as_f64().unwrap();
    assert!((10.0..14.0).contains(&candidates), "{candidates}");
    let size = fs::metadata(folder.path("listed/shortlist.safetensors")).unwrap().len();
    assert_eq!(cost["bytes"], size);
    quantize(&folder, "runs/c", "int8", "small");
    for options in ["", "--beam-width 1", "--sample --seed 2", "--no-repeat-ngram 2"] {
        let of = |model: &str| stdout(&folder, &format!("translate {model} src {options}"));
        let expected = of("small");
        assert_eq!(of("listed --no-shortlist"), expected, "{options}");
        assert_eq!(of("small --no-shortlist"), expected, "{options}");
        assert_eq!(of("listed").lines().count(), 5);
    }
    // Random draws and blocked n-grams read the logits of all tokens.
    for options in ["--sample --seed 2", "--no-repeat-ngram 2"] {
        let of = |model: &str| stdout(&folder, &format!("translate {model} src {options}"));
        assert_eq!(of("listed"), of("small"), "{options}");
    }
    // Quantized anew, a model keeps its shortlist.
    let file = "shortlist.safetensors";
    let [listed, original] = ["listed", "runs/c"].map(|dir| folder.path(dir).join(file));
    fs::copy(&listed, &original).unwrap();
    quantize(&folder, "runs/c", "bf16", "again");
    assert_eq!(fs::read(folder.path("again").join(file)).unwrap(), fs::read(&listed).unwrap());

    let whole = fs::read(&listed).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for (bytes, words) in [
        (&whole[..whole.len() - 1], "not a complete safetensors file"),
        (&changed, "the checksum of its numbers is wrong"),
        (&[], "not a complete safetensors file"),
    ] {
        fs::write(&listed, bytes).unwrap();
        folder.fails("translate listed src", 1, &["`listed/shortlist.safetensors`", words, "hint: "]);
    }
    folder.fails(
        &format!("quantize runs/c --precision int8 --output new {TEST_SET} --shortlist text in"),
        1,
        &["`text` has 10 lines, `in` has 4"],
    );
    assert!(!folder.path("new").exists());
}

#[test]
fn a_language_model_generates_in_every_type() {
    let folder = language_models();
    for model in ["lines", "stream"] {
        let draw = |options: &str| {
            let fixed = "--n-best 2 --seed 5 --max-new-tokens 20 --json";
            stdout(&folder, &format!("generate runs/{model} {fixed} {options}"))
        };
        let precise = draw("");
        assert_eq!(draw("--precision f32"), precise);
        for to in TYPES {
            let rounded = draw(&format!("--precision {to}"));
            assert_ne!(rounded, "");
            assert_eq!(draw(&format!("--precision {to} --threads 1")), rounded);
        }
        let evaluate = format!("evaluate runs/{model} --text text --json");
        let exact = json(&stdout(&folder, &evaluate));
        for to in TYPES {
            let rounded = json(&stdout(&folder, &format!("{evaluate} --precision {to}")));
            let [a, b] = [&exact, &rounded].map(|report| report["perplexity"].as_f64().unwrap());
            assert!(a != b && (a / b - 1.0).abs() < 0.1, "{to}: {a} and {b}");
        }
    }
    folder.write("in", "a\n").write("ref", "a\n");
    let refused = format!("quantize runs/lines --precision int8 --output small {TEST_SET}");
    folder.fails(&refused, 2, &["a test set measures translations only", "continues texts"]);
    let refused = "quantize runs/lines --precision int8 --output small --shortlist in ref";
    folder.fails(refused, 2, &["only a model that translates has a shortlist", "leave it out"]);
    assert!(!folder.path("small").exists());
}

/// Models of each kind that is no translator, and a command that uses each.
fn other_models() -> Vec<(Folder, &'static str, &'static str)> {
    let generate = "generate MODEL --n-best 2 --seed 5 --max-new-tokens 20 --json";
    let (tags, labels, embed) = ("tag MODEL text --json", "classify MODEL text --json", "embed MODEL text");
    let folders = [
        (tagger(), "runs/c", tags),
        (cli_classify::trained(""), "runs/c", labels),
        (cli_classify::trained(cli_classify::RECURRENT), "runs/c", labels),
        (masked(), "runs/c", "fill MODEL --top 3 --json Mann<mask>"),
        (masked(), "runs/c", embed),
        (language_models(), "runs/lines", generate),
        (language_models(), "runs/stream", generate),
        (trained(), "runs/c", embed),
    ];
    for (folder, ..) in &folders {
        folder.write("text", "the dog sees a cat .\n\nein Mann\n1 2 3\n");
    }
    folders.into()
}

#[test]
fn models_of_every_task_are_stored_in_every_type() {
    for (folder, model, command) in other_models() {
        let of = |model: &str, options: &str| {
            stdout(&folder, &format!("{} {options}", command.replace("MODEL", model)))
        };
        let precise = of(model, "");
        for to in ["int8", "bf16", "f32"] {
            let small = format!("small-{to}");
            let shown = stdout(&folder, &format!("quantize {model} --precision {to} --output {small}"));
            assert_eq!(shown.contains("smaller"), to != "f32", "{shown}");
            let rounded = of(model, &format!("--precision {to}"));
            assert_eq!(of(&small, ""), rounded, "{model}, {to}");
            if to == "f32" {
                assert_eq!(rounded, precise, "{model}");
                // What is stored in f32 can be rounded like the original.
                assert_eq!(of(&small, "--precision int8"), of(model, "--precision int8"), "{model}");
                let info = json(&stdout(&folder, &format!("info {small} --json")));
                assert_eq!(info["precision"], "f32");
            }
        }
    }
}

/// The peak use of RAM in MB of the process `child`, which is waited for.
#[cfg(target_os = "linux")]
fn peak_of(mut child: std::process::Child) -> f64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0f64;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0.0) * 1024.0 / 1e6);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// Weights are read and rounded matrix by matrix, so the whole model is never in RAM in f32 beside the new one.
#[cfg(target_os = "linux")]
#[test]
fn quantizing_takes_little_more_ram_than_the_model_in_f32() {
    let folder = Folder::new();
    let words: String = (0..12_000).map(|n| format!("v{n} v{n}\n")).collect();
    folder.write("words", words).write(
        "c.toml",
        "
[data]
train = { src = 'words', tgt = 'words' }
[tokenizer]
kind = 'word'
min_frequency = 1
vocab_size = 20000
vocabulary = 'separate'
[model]
d_model = 512
d_ff = 8
n_encoder_layers = 1
n_decoder_layers = 1
tie_embeddings = 'none'
[train]
max_steps = 2
batch_tokens = 64
keep_last = 1
schedule = { warmup_steps = 1 }
",
    );
    stdout(&folder, "train c.toml --output large");
    let size = fs::metadata(folder.path("large/model.safetensors")).unwrap().len() as f64 / 1e6;
    assert!(size > 70.0, "{size} MB");
    let quantize = crate::cli_damage::start(&folder, "quantize large --precision int8 --output small");
    let peak = peak_of(quantize);
    assert!(peak > 20.0 && peak < 1.2 * size, "{peak} MB for a model of {size} MB");
}
