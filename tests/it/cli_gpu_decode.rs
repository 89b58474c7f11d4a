//! Translation and generation on GPUs: the lines of the CPU. A driver that computes in software is enough.

use std::thread;

use attentive::engine::Precision;
use attentive::pipeline::{Pipeline, TranslateOptions, device};
use serde_json::{Value, json};

use crate::cli_gpu::has_gpu;
use crate::run::Folder;
use crate::support::http::{get, post};
use crate::support::process::Process;
use crate::support::serving::fixture;

/// Models that translate: Transformers with added and rotary positions, and recurrent ones with both kinds of
/// attention and none.
const TRANSLATORS: [&str; 5] =
    ["transformer-post", "transformer-rotary", "seq2seq-bahdanau", "seq2seq-luong", "seq2seq-thought"];

/// Twenty lines of different lengths, in the words of one model or of another.
fn lines() -> Vec<String> {
    let digits = |n: usize| {
        let words = (0..1 + n % 9).map(|word| ((n * 7 + word * 3) % 10).to_string());
        words.collect::<Vec<_>>().join(" ")
    };
    let names = ["Ben", "Anna"].into_iter().cycle();
    let sentence = |(n, name): (usize, &str)| {
        let subject = ["the dog", "the cat", "Anna"][n % 3];
        format!("{subject} {} {name}", ["sees", "hears"][n / 2 % 2])
    };
    let sentences = (0..10).zip(names).map(sentence);
    (0..10).map(digits).chain(sentences).collect()
}

/// The output of a command, which must succeed.
fn output(folder: &Folder, arguments: &str) -> String {
    let outcome = folder.run(arguments);
    assert_eq!(outcome.code, Some(0), "{arguments}: {outcome:?}");
    outcome.stdout
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in", lines().join("\n") + "\n");
    folder
}

#[test]
fn a_gpu_translates_what_a_cpu_translates() {
    if !has_gpu() {
        return;
    }
    let folder = folder();
    for name in TRANSLATORS {
        let model = fixture(name);
        for search in ["--beam-width 1", "--beam-width 4"] {
            let command = format!("translate {} in {search}", model.display());
            let expected = output(&folder, &command);
            let found = output(&folder, &format!("{command} --device gpu"));
            assert_eq!(expected.lines().count(), 20, "{name}");
            assert_eq!(found, expected, "{name} {search}");
            // The bits of scores depend neither on the run nor on the batch.
            let scores = format!("{command} --device gpu --json");
            let [once, again] =
                ["", " --batch-size 3"].map(|more| output(&folder, &format!("{scores}{more}")));
            assert_eq!(once, again, "{name} {search}");
        }
    }
}

#[test]
fn all_kinds_of_search_work_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = folder();
    folder.write("phrases", "5\n\n1 2\n3\n".to_owned() + &"\n".repeat(16));
    folder.write("prefix", "4 2\n\n7\n".to_owned() + &"\n".repeat(17));
    let post = fixture("transformer-post");
    for search in [
        "--beam-width 3 --n-best 3 --no-repeat-ngram 2",
        "--beam-width 10 --constraints phrases",
        "--prefix prefix --beam-width 2",
        "--beam-width 4 --coverage-penalty 0.2",
        "--no-shortlist --alignments --json",
        "--split-sentences --max-new-tokens 3",
    ] {
        let command = format!("translate {} in {search}", post.display());
        let [expected, found] =
            ["cpu", "gpu"].map(|device| output(&folder, &format!("{command} --device {device}")));
        let text = |output: &str| -> Vec<String> { output.lines().map(without_scores).collect() };
        assert_eq!(text(&found), text(&expected), "{search}");
    }
    // An ensemble translates as it does on the CPU; a seed gives the same samples in two runs on the GPU.
    let with = format!("translate {0} in --with {0} --beam-width 2", post.display());
    assert_eq!(output(&folder, &format!("{with} --device gpu")), output(&folder, &with));
    let sample = format!("translate {} in --sample --seed 7 --device gpu", post.display());
    assert_eq!(output(&folder, &sample), output(&folder, &sample));
}

/// A line without numbers with a fraction, which are scores.
fn without_scores(line: &str) -> String {
    let is_score = |word: &&str| word.contains('.') && word.parse::<f64>().is_ok();
    let words = line.split(|c: char| !c.is_alphanumeric() && !".-".contains(c));
    let kept: Vec<&str> = words.filter(|word| !is_score(word)).collect();
    kept.join(" ")
}

#[test]
fn a_gpu_continues_texts_as_a_cpu_does() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new();
    for name in ["decoder-only", "decoder-only-lines"] {
        let model = fixture(name);
        let command = format!("generate {} --max-new-tokens 40 --prompt a", model.display());
        let greedy = format!("{command} --greedy");
        let found = output(&folder, &format!("{greedy} --device gpu"));
        assert_eq!(found, output(&folder, &greedy), "{name}");
        let sampled = format!("{command} --seed 3 --n-best 2 --device gpu:0");
        assert_eq!(output(&folder, &sampled), output(&folder, &sampled), "{name}");
    }
}

#[test]
fn a_gpu_is_evaluated_as_a_cpu_is() {
    if !has_gpu() {
        return;
    }
    let folder = folder();
    let model = fixture("transformer-post");
    folder.write("ref", output(&folder, &format!("translate {} in --beam-width 1", model.display())));
    let command = format!("evaluate {} --src in --ref ref --json", model.display());
    let found: Value = serde_json::from_str(&output(&folder, &format!("{command} --device gpu"))).unwrap();
    let expected: Value = serde_json::from_str(&output(&folder, &command)).unwrap();
    assert_eq!(found["bleu"], expected["bleu"]);
    assert_close(&found["perplexity"], &expected["perplexity"]);
    assert!(!found["bleu"].is_null(), "{found}");
}

fn assert_close(found: &Value, expected: &Value) {
    let [found, expected] = [found, expected].map(|it| it.as_f64().expect("a number"));
    assert!((found / expected - 1.0).abs() < 1e-4, "{found}, not {expected}");
}

#[test]
fn a_language_model_is_evaluated_on_a_gpu() {
    if !has_gpu() {
        return;
    }
    let folder = Folder::new();
    let model = fixture("decoder-only-lines");
    folder.write("texts", "a dog sees the cat\nthe cat\n");
    let command = format!("evaluate {} --text texts --json", model.display());
    let [expected, found] = ["cpu", "gpu"].map(|device| -> Value {
        let json = output(&folder, &format!("{command} --device {device}"));
        serde_json::from_str(&json).unwrap()
    });
    assert_close(&found["perplexity"], &expected["perplexity"]);
    assert_eq!(found["token_accuracy"], expected["token_accuracy"]);
}

#[test]
fn a_gpu_scores_what_a_cpu_scores() {
    if !has_gpu() {
        return;
    }
    let folder = folder();
    for name in ["transformer-post", "seq2seq-bahdanau"] {
        let model = fixture(name);
        folder.write("tgt", lines().into_iter().rev().collect::<Vec<_>>().join("\n") + "\n");
        let command = format!("rescore {} --src in --tgt tgt --json", model.display());
        let [expected, found] = ["cpu", "gpu"].map(|device| {
            let lines = output(&folder, &format!("{command} --device {device}"));
            let json = |line: &str| serde_json::from_str::<Value>(line).unwrap();
            lines.lines().map(json).collect::<Vec<_>>()
        });
        assert_eq!((expected.len(), found.len()), (20, 20));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found["tokens"], expected["tokens"]);
            assert_close(&found["log_prob"], &expected["log_prob"]);
        }
    }
}

#[test]
fn a_server_on_a_gpu_answers_many_clients() {
    if !has_gpu() {
        return;
    }
    let folder = folder();
    let model = fixture("transformer-post");
    let expected = output(&folder, &format!("translate {} in", model.display()));
    let arguments = format!("en-de={} tags={} --device gpu", model.display(), fixture("tagger").display());
    let server = Process::start(&folder, &arguments);
    let address = server.address;
    thread::scope(|scope| {
        for client in 0..4 {
            let (lines, expected) = (lines(), &expected);
            scope.spawn(move || {
                let pairs = lines.iter().zip(expected.lines()).cycle();
                for (line, expected) in pairs.skip(client * 5).take(20) {
                    let asked = json!({"q": line, "source": "en", "target": "de"});
                    let found = post(address, "/translate", &asked).expect(200);
                    assert_eq!(found["translatedText"], json!(expected), "{line}");
                }
            });
        }
    });
    let models = get(address, "/api/models").expect(200);
    assert!(models["models"][0]["gpu"].is_string(), "{models}");
    assert_eq!(models["models"][0]["precision"], "f32", "{models}");
    assert!(models["models"][1]["gpu"].is_null(), "{models}");
    assert_eq!(models["models"][1]["precision"], "f32", "{models}");
    server.signal("TERM");
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("the model does not decode, so it computes on the CPU"), "{log}");
}

/// Weights in bf16 give the numbers of weights that were rounded before and are kept in f32, to the last bit.
#[test]
fn a_gpu_keeps_weights_in_bf16() {
    if !has_gpu() {
        return;
    }
    let folder = folder();
    let (src, tgt) = (lines(), lines().into_iter().rev().collect::<Vec<_>>());
    let gpu = "gpu".parse().unwrap();
    for name in ["transformer-post", "seq2seq-bahdanau", "seq2seq-luong"] {
        let model = fixture(name);
        let in_bf16 = Pipeline::load_on(&model, gpu, Some(Precision::Bf16)).unwrap();
        let rounded = Pipeline::load_in(&model, Some(Precision::Bf16)).unwrap();
        let rounded = rounded.into_precision(Precision::F32).unwrap();
        let rounded = rounded.on_device(device::gpu(None).unwrap()).unwrap();
        let exact = Pipeline::load_on(&model, gpu, None).unwrap();
        let options = TranslateOptions::from(&exact.config().decode);
        let [found, expected, exact] = [&in_bf16, &rounded, &exact].map(|pipeline| {
            (pipeline.translate_lines(&src, &options).unwrap(), pipeline.rescore(1, &src, &tgt).unwrap())
        });
        assert_eq!(found, expected, "{name}");
        assert_ne!(found, exact, "{name}: the weights were rounded");

        let lines = found.0.iter().map(|line| format!("{}\n", line.hypotheses[0].text));
        let command = format!("translate {} in --precision bf16 --device gpu", model.display());
        assert_eq!(output(&folder, &command), String::from_iter(lines), "{name}");
        // A model that is stored in bf16 is computed in bf16.
        output(&folder, &format!("quantize {} --precision bf16 --output {name}", model.display()));
        let stored = format!("translate {name} in --device gpu --json");
        assert_eq!(output(&folder, &stored), output(&folder, &format!("{command} --json")));
        let profile = folder.run(&format!("{stored} --profile"));
        assert!(profile.stderr.contains("f32 with weights in bf16"), "{profile:?}");
    }
}

#[test]
fn what_a_gpu_does_not_do_is_refused() {
    let folder = folder();
    let [model, tagger] = ["transformer-post", "tagger"].map(fixture);
    let translate = format!("translate {} in", model.display());
    for command in [&translate, &format!("generate {}", model.display())] {
        let command = format!("{command} --device gpu --precision int8");
        let complaint = "GPUs keep weights in f32 or bf16, not in int8";
        folder.fails(&command, 2, &[complaint, "leave the precision out", "`--device cpu`"]);
    }
    folder.fails(&format!("{translate} --device cuda"), 2, &["`gpu:N` with the number of a GPU"]);
    let complaint = if has_gpu() {
        ["there is no GPU with the number 99", "attentive devices"]
    } else {
        ["no GPU was found", "install a driver"]
    };
    folder.fails(&format!("{translate} --device gpu:99"), 2, &complaint);
    // A server tells its address before it loads models.
    let served = format!("serve en-de={} --listen 127.0.0.1:0", model.display());
    let outcome = folder.run(&format!("{served} --device gpu:99"));
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains(complaint[0]), "{outcome:?}");
    if has_gpu() {
        let command = format!("evaluate {} --src in --ref in --device gpu", tagger.display());
        folder.fails(&command, 2, &["computes on the CPU only", "leave the device out"]);
    }
}
