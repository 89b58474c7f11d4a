//! What cannot be quantized, and quantized models that cannot be used.

use std::fs;

use crate::cli_label::vector_tagger;
use crate::cli_model::stdout;
use crate::cli_quantize::{TEST_SET, names, quantized};
use crate::cli_sums::forget_sums;
use crate::run::Folder;

/// A command that fails, its exit code, and parts of the message.
type Refused<'a> = (String, i32, &'a [&'a str]);

/// Runs commands that fail, and checks that they leave no file.
fn refuses(folder: &Folder, cases: &[Refused<'_>]) {
    let before = names(folder, "");
    for (arguments, code, complaint) in cases {
        folder.fails(arguments, *code, complaint);
        assert_eq!(names(folder, ""), before, "{arguments}");
    }
}

fn with(model: &str, to: &str, rest: &str) -> String {
    format!("quantize {model} --precision {to} {rest}")
}

#[test]
fn what_cannot_be_quantized_is_refused() {
    let folder = quantized();
    folder.write("file", "mine");
    let usual = format!("--output new {TEST_SET}");
    let cases: [Refused<'_>; 7] = [
        (
            with("runs/c", "int8", &format!("--output small {TEST_SET}")),
            2,
            &["`small` already exists", "hint: choose another"],
        ),
        (with("runs/c", "int8", &format!("--output file {TEST_SET}")), 2, &["`file` already exists"]),
        (with("runs/c", "f16", &usual), 2, &["'f16'", "int8, bf16, f32"]),
        (with("runs/c", "int4", &usual), 2, &["int4", "int8", "bf16"]),
        (with("small", "int8", &usual), 2, &["`small` was written by `quantize` already", "hint: "]),
        (with("small", "bf16", &usual), 2, &["`small` was written by `quantize` already"]),
        (with("none", "int8", &usual), 1, &["`none`"]),
    ];
    refuses(&folder, &cases);
    assert_eq!(fs::read_to_string(folder.path("file")).unwrap(), "mine");
}

#[test]
fn test_sets_and_limits_that_cannot_be_used_are_refused() {
    let folder = quantized();
    folder.write("short", "1\n").write("empty", "");
    let usual = format!("--output new {TEST_SET}");
    let cases: [Refused<'_>; 7] = [
        (
            with("runs/c", "int8", "--output new --src in --ref short"),
            1,
            &["`in` has 4 lines, `short` has 1"],
        ),
        (with("runs/c", "int8", "--output new --src empty --ref empty"), 1, &["`empty` has no lines"]),
        (with("runs/c", "int8", "--output new --src in --ref none"), 1, &["cannot read `none`"]),
        (with("runs/c", "int8", "--output new --src in"), 2, &["--ref"]),
        (
            with("runs/c", "int8", &format!("{usual} --max-drop=-100")),
            1,
            &["lowers BLEU by ", "at most -100 is accepted", "nothing was written"],
        ),
        (with("runs/c", "int8", &format!("{usual} --max-drop NaN")), 2, &["not a number"]),
        (with("runs/c", "int8", &format!("{usual} --resamples 0")), 2, &["--resamples"]),
    ];
    refuses(&folder, &cases);
    let accepted = with("runs/c", "int8", &format!("{usual} --max-drop 100"));
    stdout(&folder, &accepted);
    assert!(folder.path("new/report.json").exists());
}

#[test]
fn taggers_of_vectors_have_one_number_type() {
    let folder = vector_tagger();
    folder.fails("quantize runs/c --precision int8 --output new", 2, &["reads vectors cannot be quantized"]);
    assert!(!folder.path("new").exists());
    folder.fails("tag runs/c train.jsonl --precision int8", 2, &["computes in f32 only", "hint: "]);
}

#[test]
fn a_quantized_model_cannot_be_trained_or_averaged() {
    let folder = quantized();
    let before = names(&folder, "small");
    let words = ["`small` is a quantized model", "the run that it was made from"];
    folder.fails("train c.toml --output small --resume", 2, &words);
    folder.fails("average small --last 2 --output mean", 2, &words);
    assert_eq!(names(&folder, "small"), before);
    // A new run in its place leaves nothing of it.
    folder.succeeds("train c.toml --output small --force");
    let new = stdout(&folder, "translate small src --json");
    assert_eq!(new, stdout(&folder, "translate runs/c src --json"));
    assert!(!folder.path("small/report.json").exists());
}

#[test]
fn the_stored_type_is_the_only_one() {
    let folder = quantized();
    for other in ["bf16", "f32"] {
        for command in
            ["translate small src", "evaluate small --src in --ref ref", "rescore small --src in --tgt ref"]
        {
            let arguments = format!("{command} --precision {other}");
            let complaint = format!("stored in int8, so it cannot compute in {other}");
            folder.fails(&arguments, 2, &[&complaint, "hint: "]);
        }
    }
    folder.fails("translate small src --precision int4", 2, &["int4", "int8"]);
}

#[test]
fn unknown_instruction_sets_are_refused() {
    let folder = quantized();
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
fn damaged_quantized_models_are_named_by_file() {
    let folder = quantized();
    let path = folder.path("small/packed.safetensors");
    let whole = fs::read(&path).unwrap();
    let wider = |bytes: &mut Vec<u8>| bytes.push(0);
    let cases: [(Damage<'_>, &str); 8] = [
        (&|bytes| bytes.truncate(bytes.len() / 2), "not a complete safetensors file"),
        (&|bytes| bytes.truncate(bytes.len() - 1), "not a complete safetensors file"),
        (&|bytes| bytes.truncate(100), "not a complete safetensors file"),
        (&|bytes| bytes.truncate(3), "not a complete safetensors file"),
        (&|bytes| bytes.clear(), "not a complete safetensors file"),
        (&wider, "not a complete safetensors file"),
        (&|bytes| *bytes.last_mut().unwrap() ^= 1, "the checksum of its numbers is wrong"),
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
            folder.fails(command, 1, &["`small/packed.safetensors`", words, "hint: copy"]);
        }
    }
}

#[test]
fn other_things_than_a_quantized_model_are_named() {
    let folder = quantized();
    let path = folder.path("small/packed.safetensors");
    let dense = fs::read(folder.path("runs/c/model.safetensors")).unwrap();
    fs::write(&path, dense).unwrap();
    folder.fails("translate small src", 1, &["packed.safetensors", "expected `attentive packed 1`"]);
    fs::remove_file(&path).unwrap();
    let missing = ["`small/packed.safetensors`", "no such file"];
    folder.fails("translate small src", 1, &missing);
    folder.fails("info small", 1, &missing);
    fs::create_dir(&path).unwrap();
    folder.fails("translate small src", 1, &["packed.safetensors"]);
}

#[test]
fn a_quantized_model_of_another_architecture_is_refused() {
    let folder = quantized();
    forget_sums(&folder, "small");
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
