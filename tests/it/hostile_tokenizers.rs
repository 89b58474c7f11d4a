//! Tokenizer files that make a library panic, or a text grow beyond all bounds.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cli_sums::forget_all_sums;
use crate::run::{Folder, Outcome};
use crate::support::http::post;
use crate::support::process::{Process, with_run};
use crate::support::serving::{metric, until};

/// The tokenizer of the model in `folder`, after a change.
fn change(folder: &Folder, change: &dyn Fn(&mut Value)) {
    let path = folder.path("run/tokenizer.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut file);
    fs::write(path, file.to_string()).unwrap();
    forget_all_sums(folder, "run");
}

/// Runs the program with 4 GB of address space, on a line of text.
fn limited(folder: &Folder, arguments: &str) -> Outcome {
    let program = env!("CARGO_BIN_EXE_attentive");
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v 4000000; exec {program} {arguments} --threads 1")])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails does not read it.
    let text = format!("1 2 3 ß{}1\n", " ".repeat(20_000));
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap().into()
}

type Case<'a> = (&'a str, Box<dyn Fn(&mut Value)>, Expected<'a>);

/// What `translate` says.
enum Expected<'a> {
    /// It translates.
    Fine,
    /// It ends with an error that has these words.
    Refused(&'a str),
}

use Expected::{Fine, Refused};

/// Tries each of `cases`.
fn try_all(cases: Vec<Case<'_>>) {
    for (name, changed, expected) in cases {
        let folder = with_run("transformer-post");
        change(&folder, &*changed);
        let outcome = limited(&folder, "translate run");
        assert!(!outcome.stderr.contains("panicked"), "{name}: {outcome:?}");
        match expected {
            Fine => assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}"),
            Refused(words) => {
                assert_eq!(outcome.code, Some(1), "{name}: {outcome:?}");
                assert!(outcome.stderr.contains(words), "{name}: {outcome:?}");
                assert!(outcome.stderr.contains("tokenizer"), "{name}: {outcome:?}");
                assert!(outcome.stderr.contains("hint: "), "{name}: {outcome:?}");
            }
        }
    }
}

/// Sets a section of the file.
fn section(name: &'static str, value: Value) -> Box<dyn Fn(&mut Value)> {
    Box::new(move |file| file[name] = value.clone())
}

/// Adds a token in place of the one for `9`, or as a new one.
fn add(file: &mut Value, token: Value) {
    let vocab = file["model"]["vocab"].as_object_mut().unwrap();
    let id = vocab.remove("9").unwrap_or_else(|| vocab.len().into());
    vocab.insert(token["content"].as_str().unwrap().to_owned(), id.clone());
    let mut whole = json!({"id": id, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": false});
    for (key, value) in token.as_object().unwrap() {
        whole[key] = value.clone();
    }
    file["added_tokens"].as_array_mut().unwrap().push(whole);
}

/// Makes the model one of another kind with the same tokens.
fn model(kind: &'static str, more: Value) -> Box<dyn Fn(&mut Value)> {
    Box::new(move |file| {
        let vocab = file["model"]["vocab"].take();
        let mut model = json!({"type": kind, "vocab": vocab});
        for (key, value) in more.as_object().unwrap() {
            model[key] = value.clone();
        }
        file["model"] = model;
    })
}

#[test]
fn panics_of_the_library_are_errors_that_name_the_file() {
    let at_fault = Refused("tokenizer.json");
    let steps = |key: &str, steps: Value| json!({"type": "Sequence", key: steps});
    try_all(vec![
        (
            "a prefix longer than what is merged",
            model("BPE", json!({"merges": ["1 2"], "continuing_subword_prefix": "####"})),
            Refused("run/tokenizer.json"),
        ),
        (
            "the same with merges in pairs",
            model("BPE", json!({"merges": [["1", "2"]], "continuing_subword_prefix": "####"})),
            Refused("run/tokenizer.json"),
        ),
        (
            "a prefix that ends within a character",
            model("BPE", json!({"merges": ["1 ß"], "continuing_subword_prefix": "#"})),
            Refused("run/tokenizer.json"),
        ),
        (
            "pieces of no characters",
            section("pre_tokenizer", json!({"type": "FixedLength", "length": 0})),
            at_fault,
        ),
        (
            "more stripped than there is",
            section(
                "decoder",
                json!({"type": "Strip", "content": "1", "start": 1_000_000_000, "stop": 1_000_000_000}),
            ),
            Refused("tokenizer.json"),
        ),
        ("a decoder that is a number", section("decoder", json!(5)), Refused("run/tokenizer.json")),
        ("a decoder that is a list", section("decoder", json!([5])), Refused("run/tokenizer.json")),
        (
            "a step that is a number",
            section("decoder", steps("decoders", json!([5]))),
            Refused("run/tokenizer.json"),
        ),
        ("a normalizer that is a number", section("normalizer", json!(5)), Refused("run/tokenizer.json")),
        (
            "a damaged map",
            section("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"})),
            Refused("run/tokenizer.json"),
        ),
        (
            "a pattern that is no regular expression",
            section("normalizer", json!({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})),
            Refused("run/tokenizer.json"),
        ),
        (
            "an unknown token beyond the vocabulary",
            section("model", json!({"type": "Unigram", "unk_id": 99, "vocab": [["<unk>", 0.0]]})),
            Refused("run/tokenizer.json"),
        ),
        ("a decoder for no tokens", section("decoder", json!({"type": "BPEDecoder", "suffix": ""})), Fine),
    ]);
}

#[test]
fn no_step_makes_a_text_grow_beyond_bounds() {
    let grows = |by: usize| json!({"type": "Replace", "pattern": {"String": "1"}, "content": "1".repeat(by)});
    let unnamed = |by: usize| json!({"pattern": {"String": "1"}, "content": "1".repeat(by)});
    let steps = |key: &str, steps: Vec<Value>| json!({"type": "Sequence", key: steps});
    let normalizers = |all| steps("normalizers", all);
    let decoders = |all| steps("decoders", all);
    let bytes =
        json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false});
    let many = |step: Value| vec![step; 40];
    let normalizer = |value| section("normalizer", value);
    let decoder = |value| section("decoder", value);
    let refused = || Refused("are allowed");
    try_all(vec![
        ("three replacements", normalizer(normalizers(vec![grows(1000); 3])), refused()),
        ("one large replacement", normalizer(grows(3_000_000)), refused()),
        ("nested replacements", normalizer(normalizers(vec![normalizers(vec![grows(1000)]); 3])), refused()),
        ("steps without a type", normalizer(json!({"normalizers": vec![unnamed(1000); 3]})), refused()),
        (
            "a replacement of nothing",
            normalizer(json!({"type": "Replace", "pattern": {"Regex": ""}, "content": "x".repeat(100_000)})),
            refused(),
        ),
        (
            "a large beginning",
            normalizer(json!({"type": "Prepend", "prepend": "x".repeat(3_000_000)})),
            refused(),
        ),
        ("bytes of bytes", normalizer(normalizers(many(json!({"type": "ByteLevel"})))), refused()),
        (
            "bytes of bytes, when dividing",
            section("pre_tokenizer", steps("pretokenizers", many(bytes.clone()))),
            refused(),
        ),
        (
            "the same, nested",
            section("pre_tokenizer", steps("pretokenizers", vec![steps("pretokenizers", many(bytes)); 2])),
            refused(),
        ),
        ("three replacements, when decoding", decoder(decoders(vec![grows(1000); 3])), refused()),
        ("one large replacement, when decoding", decoder(grows(3_000_000)), refused()),
        (
            "nested replacements, when decoding",
            decoder(decoders(vec![decoders(vec![grows(1000)]); 3])),
            refused(),
        ),
        (
            "blanks between all characters",
            decoder(decoders(many(json!({"type": "BPEDecoder", "suffix": ""})))),
            refused(),
        ),
        (
            "a long unknown token",
            Box::new(|file| file["model"]["unk_token"] = "u".repeat(1_000_000).into()),
            refused(),
        ),
        (
            "a long added token",
            Box::new(|file| file["added_tokens"][0]["content"] = "u".repeat(1_000_000).into()),
            refused(),
        ),
        (
            "a template that repeats the text",
            section(
                "post_processor",
                json!({"type": "TemplateProcessing", "single": vec![json!({"Sequence": {"id": "A", "type_id": 0}}); 100_000],
                    "pair": [], "special_tokens": {}}),
            ),
            Fine,
        ),
        (
            "added tokens that overlap",
            Box::new(|file| add(file, json!({"content": " ", "rstrip": true, "lstrip": true}))),
            Fine,
        ),
        (
            "an added token that is normalized to nothing",
            Box::new(|file| {
                file["normalizer"] = json!({"type": "Strip", "strip_left": true, "strip_right": true});
                add(file, json!({"content": " ", "normalized": true}));
            }),
            Fine,
        ),
        (
            "long added tokens",
            Box::new(|file| {
                (0..60).for_each(|n| add(file, json!({"content": format!("{n}{}", "y".repeat(20_000))})))
            }),
            Refused("tokenizer"),
        ),
        ("what NFKC does", normalizer(normalizers(many(json!({"type": "NFKC"})))), Fine),
        ("a word mark", normalizer(grows(3)), Fine),
    ]);
}

#[test]
fn merges_are_never_left_out_at_random() {
    let folder = with_run("transformer-post");
    let merges = json!({"merges": ["1 2", "12 3"], "dropout": 0.9, "unk_token": "<unk>"});
    change(&folder, &|file| {
        let added = file["model"]["vocab"].as_object_mut().unwrap();
        // Two tokens in place of others, so that the size of the vocabulary stays.
        let two: Vec<String> =
            added.keys().filter(|key| ["8", "9"].contains(&key.as_str())).cloned().collect();
        for (old, new) in two.iter().zip(["12", "123"]) {
            let id = added.remove(old).unwrap();
            added.insert(new.into(), id);
        }
        model("BPE", merges.clone())(file);
        file["pre_tokenizer"] = json!({"type": "WhitespaceSplit"});
    });
    folder.write("in", "123 123 123 123 123 123 123 123\n".repeat(20));
    let translated = || {
        let outcome = folder.succeeds("translate run in");
        outcome.stdout
    };
    let first = translated();
    for _ in 0..3 {
        assert_eq!(translated(), first);
    }
}

/// A server neither waits forever nor ends.
#[test]
fn a_server_reports_what_it_cannot_load_and_goes_on() {
    let bad = |folder: &Folder| {
        change(folder, &|file| {
            model("BPE", json!({"merges": ["1 2"], "continuing_subword_prefix": "####"}))(file)
        });
    };
    let folder = with_run("transformer-post");
    bad(&folder);
    let outcome = folder.run("serve en-de=run --listen 127.0.0.1:0");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("run/tokenizer.json"), "{outcome:?}");
    // The same when it is loaded again; afterwards, a whole model is loaded.
    let folder = with_run("transformer-post");
    let whole = fs::read(folder.path("run/tokenizer.json")).unwrap();
    let server = Process::start(&folder, "en-de=run");
    let reloads = |result: &str| metric(server.address, "attentive_reloads_total", result);
    bad(&folder);
    for failures in [1.0, 2.0] {
        server.signal("HUP");
        until("refused", || reloads("fail") == failures);
    }
    folder.write("run/tokenizer.json", whole);
    server.signal("HUP");
    until("reloaded", || reloads("success") == 1.0);
    let asked = json!({"q": "1 2", "source": "en", "target": "de"});
    post(server.address, "/translate", &asked).expect(200);
    server.signal("TERM");
    let (code, log) = server.end();
    assert_eq!(code, Some(0), "{log}");
    for words in ["reloading failed", "run/tokenizer.json", " reloading", " reloaded"] {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn a_request_that_grows_is_refused_and_the_server_answers_others() {
    let folder = with_run("transformer-post");
    let grows = json!({"type": "Replace", "pattern": {"String": "1"}, "content": "1".repeat(1000)});
    change(&folder, &|file| {
        file["normalizer"] = json!({"type": "Sequence", "normalizers": vec![grows.clone(); 3]})
    });
    let server = Process::start(&folder, "en-de=run");
    let ask =
        |text: &str| post(server.address, "/translate", &json!({"q": text, "source": "en", "target": "de"}));
    for _ in 0..3 {
        let refused = ask("1").expect(400);
        assert!(refused["error"].as_str().unwrap().contains("are allowed"), "{refused}");
        ask("2 3").expect(200);
    }
}
