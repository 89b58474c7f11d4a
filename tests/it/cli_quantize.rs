//! Quantised models, and models that decode in other number types.

use std::fs;

use serde_json::Value;

use crate::cli_generate::language_models;
use crate::cli_model::{CONFIG, stdout, trained};
use crate::run::{Folder, for_family};

const TYPES: [&str; 2] = ["int8", "bf16"];
const TEST_SET: &str = "--src in --ref ref --resamples 50";

/// The folder of [`trained`] with a test set in `in` and `ref`.
pub(crate) fn with_test_set() -> Folder {
    let folder = trained();
    folder
        .write("in", "1 2 3\n4 5 6 7\n\n9 8 7 6 5 4 3 2 1\n")
        .write("ref", "3 2 1\n7 6 5 4\n\n1 2 3 4 5 6 7 8 9\n");
    folder
}

/// [`with_test_set`], and `runs/c` in 8-bit integers in the directory `small`.
pub(crate) fn quantised() -> Folder {
    let folder = with_test_set();
    quantise(&folder, "runs/c", "int8", "small");
    folder
}

fn quantise(folder: &Folder, model: &str, to: &str, out: &str) -> String {
    let arguments = format!("quantize {model} --to {to} --out {out} {TEST_SET}");
    stdout(folder, &arguments)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn names(folder: &Folder, dir: &str) -> Vec<String> {
    let entries = fs::read_dir(folder.path(dir)).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_quantised_model_gives_what_the_original_gives_in_its_type() {
    let folder = with_test_set();
    folder.write("s.toml", for_family(CONFIG, "seq2seq"));
    let seq2seq =
        "train s.toml --out s --set model.family=seq2seq --set model.recurrent.d_hidden=16";
    assert_eq!(folder.run(seq2seq).code, Some(0));
    for (model, name) in [("runs/c", "c"), ("s", "s")] {
        for to in TYPES {
            let small = format!("{name}-{to}");
            quantise(&folder, model, to, &small);
            for command in [
                "translate MODEL src",
                "translate MODEL src --json --n-best 2",
                "translate MODEL src --format jsonl --beam-width 1 --alignments",
                "translate MODEL src --sample --seed 3 --scores",
                "rescore MODEL --src in --tgt ref --tokens --format jsonl",
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
fn a_quantised_model_is_used_like_any_other() {
    let folder = quantised();
    assert_eq!(
        names(&folder, "small"),
        [
            "config.toml",
            "packed.safetensors",
            "provenance.json",
            "receipt.json",
            "tokenizer.json"
        ]
    );
    let info = json(&stdout(&folder, "info small --json"));
    let before = json(&stdout(&folder, "info runs/c --json"));
    assert_eq!(
        (&info["precision"], &before["precision"]),
        (&"int8".into(), &"f32".into())
    );
    assert_eq!(info["n_parameters"], before["n_parameters"]);
    let text = stdout(&folder, "info small");
    for words in [
        "number type",
        " int8\n",
        " of packed.safetensors\n",
        "d_ff = 32",
    ] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    let compared = stdout(&folder, "compare runs/c small --src in --ref ref --json");
    let compared = json(&compared);
    assert_eq!(compared["systems"][1]["name"], "small");
    assert_eq!(
        compared["systems"][1]["n_parameters"],
        before["n_parameters"]
    );
    let outcome = folder
        .command("inspect small")
        .arg("1 2 3")
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{outcome:?}");
    assert!(folder.path("inspect.html").exists());
    for arguments in [
        "translate small src --with runs/c",
        "translate runs/c src --with small",
    ] {
        assert_eq!(stdout(&folder, arguments).lines().count(), 5);
    }
    let svg = stdout(&folder, "plot positions small");
    assert!(svg.starts_with("<svg"), "{svg}");
}

#[test]
fn the_receipt_holds_what_is_printed() {
    let folder = with_test_set();
    let arguments = format!("quantize runs/c --to int8 --out small {TEST_SET}");
    let printed = json(&stdout(&folder, &format!("{arguments} --json")));
    let receipt = json(&fs::read_to_string(folder.path("small/receipt.json")).unwrap());
    assert_eq!(printed, receipt);
    assert_eq!(
        (&receipt["precision"], &receipt["lines"]),
        (&"int8".into(), &4.into())
    );
    let size = fs::metadata(folder.path("small/packed.safetensors"))
        .unwrap()
        .len();
    assert_eq!(receipt["bytes"]["after"], size);
    let info = json(&stdout(&folder, "info runs/c --json"));
    let bytes = 4 * info["n_parameters"].as_u64().unwrap();
    assert_eq!(receipt["bytes"]["before"], bytes);
    let original = &info["provenance"]["sha256"]["model.safetensors"];
    assert_eq!(&receipt["original_sha256"], original);
    for (model, which) in [("runs/c", "baseline"), ("small", "system")] {
        let evaluate = format!("evaluate {model} --src in --ref ref --json");
        let report = json(&stdout(&folder, &evaluate));
        for metric in ["bleu", "chrf"] {
            let of_receipt = receipt[metric][which]["value"].as_f64().unwrap();
            let value = report[metric]["value"].as_f64().unwrap();
            assert!((of_receipt - value).abs() < 1e-9, "{metric} of {model}");
        }
    }
    let outputs =
        ["runs/c", "small"].map(|model| stdout(&folder, &format!("translate {model} in")));
    let pairs = outputs[0].lines().zip(outputs[1].lines());
    let changed = pairs.filter(|(before, after)| before != after).count();
    assert_eq!(receipt["changed_lines"], changed);

    let text = quantise(&folder, "runs/c", "bf16", "half");
    let rows: Vec<&str> = text
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        rows,
        [
            "weights", "size", "speed", "BLEU", "chrF2", "changed", "CPU"
        ]
    );
    let receipt = json(&fs::read_to_string(folder.path("half/receipt.json")).unwrap());
    let changed = format!("{} of 4 lines", receipt["changed_lines"]);
    assert!(text.contains(&changed) && text.contains("bf16"), "{text}");
}

#[test]
fn a_language_model_generates_in_every_type() {
    let folder = language_models();
    for model in ["lines", "stream"] {
        let draw = |options: &str| {
            let fixed = "--samples 2 --seed 5 --max-new-tokens 20 --json";
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
    let refused = format!("quantize runs/lines --to int8 --out small {TEST_SET}");
    folder.fails(&refused, 2, &["cannot do that", "attentive generate"]);
    assert!(!folder.path("small").exists());
}

#[test]
fn what_cannot_be_quantised_is_refused() {
    let folder = quantised();
    folder
        .write("short", "1\n")
        .write("empty", "")
        .write("file", "mine");
    let before = names(&folder, "");
    let with = |model: &str, to: &str, rest: &str| format!("quantize {model} --to {to} {rest}");
    let usual = format!("--out new {TEST_SET}");
    let cases: [(String, i32, &[&str]); 14] = [
        (
            with("runs/c", "int8", &format!("--out small {TEST_SET}")),
            2,
            &["`small` exists already", "hint: choose another"],
        ),
        (
            with("runs/c", "int8", &format!("--out file {TEST_SET}")),
            2,
            &["`file` exists already"],
        ),
        (with("runs/c", "f32", &usual), 2, &["'f32'", "int8, bf16"]),
        (with("runs/c", "int4", &usual), 2, &["int4", "int8", "bf16"]),
        (
            with("small", "int8", &usual),
            2,
            &["`small` is quantised already", "hint: "],
        ),
        (
            with("small", "bf16", &usual),
            2,
            &["`small` is quantised already"],
        ),
        (with("none", "int8", &usual), 1, &["`none`"]),
        (
            with("runs/c", "int8", "--out new --src in --ref short"),
            1,
            &["`in` has 4 lines, `short` has 1"],
        ),
        (
            with("runs/c", "int8", "--out new --src empty --ref empty"),
            1,
            &["`empty` has no lines"],
        ),
        (
            with("runs/c", "int8", "--out new --src in --ref none"),
            1,
            &["cannot read `none`"],
        ),
        (with("runs/c", "int8", "--out new --src in"), 2, &["--ref"]),
        (
            with("runs/c", "int8", &format!("{usual} --max-drop=-100")),
            1,
            &[
                "lowers BLEU by ",
                "at most -100 is accepted",
                "nothing was written",
            ],
        ),
        (
            with("runs/c", "int8", &format!("{usual} --max-drop NaN")),
            2,
            &["not a number"],
        ),
        (
            with("runs/c", "int8", &format!("{usual} --resamples 0")),
            2,
            &["--resamples"],
        ),
    ];
    for (arguments, code, complaint) in &cases {
        folder.fails(arguments, *code, complaint);
        assert_eq!(names(&folder, ""), before, "{arguments}");
    }
    assert_eq!(fs::read_to_string(folder.path("file")).unwrap(), "mine");
    let accepted = with("runs/c", "int8", &format!("{usual} --max-drop 100"));
    stdout(&folder, &accepted);
    assert!(folder.path("new/receipt.json").exists());
}

#[test]
fn taggers_have_one_number_type() {
    let folder = with_test_set();
    folder.write(
        "t.toml",
        for_family(CONFIG, "tagger").replace("'reverse'", "'grammar'"),
    );
    let tagger = "train t.toml --out t --set model.family=tagger --set model.recurrent.d_hidden=16 \
                  --set tokenizer.vocabulary=separate --set tokenizer.vocab_size=90";
    let outcome = folder.run(tagger);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let quantize = format!("quantize t --to int8 --out new {TEST_SET}");
    folder.fails(&quantize, 2, &["cannot do that", "attentive tag"]);
    assert!(!folder.path("new").exists());
    let evaluate = "evaluate t --src in --ref ref --precision int8";
    folder.fails(evaluate, 2, &["computes in f32 only", "hint: "]);
}

#[test]
fn a_quantised_model_cannot_be_trained_or_averaged() {
    let folder = quantised();
    let before = names(&folder, "small");
    let words = [
        "`small` is a quantised model",
        "the run that it was made from",
    ];
    folder.fails("train c.toml --out small --resume", 2, &words);
    folder.fails("average small --last 2 --out mean", 2, &words);
    assert_eq!(names(&folder, "small"), before);
    // A new run in its place leaves nothing of it.
    let outcome = folder.run("train c.toml --out small --force");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let new = stdout(&folder, "translate small src --json");
    assert_eq!(new, stdout(&folder, "translate runs/c src --json"));
    assert!(!folder.path("small/receipt.json").exists());
}

#[test]
fn the_stored_type_is_the_only_one() {
    let folder = quantised();
    for other in ["bf16", "f32"] {
        for command in [
            "translate small src",
            "evaluate small --src in --ref ref",
            "rescore small --src in --tgt ref",
        ] {
            let arguments = format!("{command} --precision {other}");
            let complaint = format!("stored in int8, so it cannot compute in {other}");
            folder.fails(&arguments, 2, &[&complaint, "hint: "]);
        }
    }
    folder.fails("translate small src --precision int4", 2, &["int4", "int8"]);
}

#[test]
fn unknown_instruction_sets_are_refused() {
    let folder = quantised();
    for command in ["translate small src", "info small", "score in ref"] {
        let mut command = folder.command(command);
        let output = command.env("ATTENTIVE_ISA", "avx3").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        let expected = "error: ATTENTIVE_ISA is `avx3`, but must be one of portable, avx2";
        assert!(stderr.starts_with(expected), "{stderr}");
        assert!(stderr.contains("hint: unset it"), "{stderr}");
    }
}

/// A change of a file's content.
type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn damaged_quantised_models_are_named_by_file() {
    let folder = quantised();
    let path = folder.path("small/packed.safetensors");
    let whole = fs::read(&path).unwrap();
    let wider = |bytes: &mut Vec<u8>| bytes.push(0);
    let cases: [(Damage<'_>, &str); 8] = [
        (
            &|bytes| bytes.truncate(bytes.len() / 2),
            "not a complete safetensors file",
        ),
        (
            &|bytes| bytes.truncate(bytes.len() - 1),
            "not a complete safetensors file",
        ),
        (
            &|bytes| bytes.truncate(100),
            "not a complete safetensors file",
        ),
        (
            &|bytes| bytes.truncate(3),
            "not a complete safetensors file",
        ),
        (&|bytes| bytes.clear(), "not a complete safetensors file"),
        (&wider, "not a complete safetensors file"),
        (
            &|bytes| *bytes.last_mut().unwrap() ^= 1,
            "the checksum of its numbers is wrong",
        ),
        (
            &|bytes| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 4;
            },
            "the checksum of its numbers is wrong",
        ),
    ];
    for (damage, words) in cases {
        let mut bytes = whole.clone();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        for command in ["translate small src", "info small"] {
            folder.fails(
                command,
                1,
                &["`small/packed.safetensors`", words, "hint: copy"],
            );
        }
    }
    let dense = fs::read(folder.path("runs/c/model.safetensors")).unwrap();
    fs::write(&path, dense).unwrap();
    folder.fails(
        "translate small src",
        1,
        &["packed.safetensors", "expected `attentive packed 1`"],
    );
    fs::remove_file(&path).unwrap();
    let missing = ["`small/packed.safetensors`", "no such file"];
    folder.fails("translate small src", 1, &missing);
    folder.fails("info small", 1, &missing);
    fs::create_dir(&path).unwrap();
    folder.fails("translate small src", 1, &["packed.safetensors"]);
}

#[test]
fn a_quantised_model_of_another_architecture_is_refused() {
    let folder = quantised();
    let path = folder.path("small/config.toml");
    let config = fs::read_to_string(&path).unwrap();
    let cases = [
        ("d_model = 16", "d_model = 32", "does not fit [14, 32]"),
        ("d_ff = 32", "d_ff = 48", "does not fit [48, 16]"),
        ("n_decoder_layers = 1", "n_decoder_layers = 2", "is missing"),
        ("n_encoder_layers = 1", "n_encoder_layers = 0", ""),
        ("family = \"transformer\"", "family = \"encoder_only\"", ""),
    ];
    for (from, to, words) in cases {
        let changed = config.replacen(from, to, 1);
        assert_ne!(changed, config, "{from}");
        fs::write(&path, changed).unwrap();
        for command in ["translate small src", "info small"] {
            let outcome = folder.run(command);
            assert!(matches!(outcome.code, Some(1 | 2)), "{outcome:?}");
            assert!(outcome.stderr.starts_with("error: "), "{outcome:?}");
            assert!(outcome.stderr.contains(words), "{outcome:?}");
        }
    }
    fs::write(&path, config).unwrap();
    let tokenizer = folder.path("small/tokenizer.json");
    fs::copy(folder.path("runs/c/tokenizer.json"), tokenizer).unwrap();
    stdout(&folder, "translate small src");
}
