//! Models and runs of every family (`scripts/fixtures/runs.sh`), most of which earlier programs wrote: they
//! load, give the same output, and resume to the same weights.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;

use crate::fixture;
use crate::run::Folder;

/// Relative tolerance of scores and printed numbers.
const TOLERANCE: f64 = 1e-4;

/// The output that all instruction sets and systems give to the bit.
const INT8: &str = "int8";

/// Relative tolerance of weights in `f32`, whose sums have one order on all instruction sets.
const WEIGHTS_TOLERANCE: f32 = 1e-5;

/// Tolerance of the mean difference of weights trained in bfloat16, where instruction sets round in different
/// orders. An update changes a weight by up to 0.01.
const BF16_MEAN_DIFFERENCE: f32 = 1e-3;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/runs")
}

/// A copy of the fixture `name`.
fn copy(name: &str) -> Folder {
    let folder = Folder::new();
    copy_into(&fixtures().join(name), &folder.path(""));
    folder
}

fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_into(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Runs each line of `commands` and compares its standard output with the file in `expected`.
fn check_outputs(name: &str) {
    let folder = copy(name);
    let commands = fs::read_to_string(folder.path("commands")).unwrap();
    assert!(!commands.is_empty(), "{name} has no commands");
    for line in commands.lines() {
        let (output, arguments) = line.split_once(' ').unwrap();
        let outcome = folder.run(arguments);
        assert_eq!(outcome.code, Some(0), "{name}, {arguments}: {outcome:?}");
        let expected = fs::read_to_string(folder.path("expected").join(output)).unwrap();
        if output == INT8 {
            assert_eq!(outcome.stdout, expected, "{name}, {arguments}");
            continue;
        }
        assert_same_text(&format!("{name}, {arguments}"), &outcome.stdout, &expected);
    }
}

/// Checks that words are equal and numbers agree to within [`TOLERANCE`]; the program's version and durations
/// are ignored.
fn assert_same_text(what: &str, found: &str, expected: &str) {
    let (found_lines, expected_lines): (Vec<_>, Vec<_>) =
        (found.lines().collect(), expected.lines().collect());
    assert_eq!(found_lines.len(), expected_lines.len(), "{what}: {found}\nexpected {expected}");
    for (found, expected) in found_lines.into_iter().zip(expected_lines) {
        let (found_words, expected_words) = (words(found), words(expected));
        let same = found_words.len() == expected_words.len()
            && found_words.iter().zip(&expected_words).all(|(found, expected)| same_word(found, expected));
        assert!(same, "{what}: found `{found}`, expected `{expected}`");
    }
}

fn words(line: &str) -> Vec<&str> {
    let line = match line.rsplit_once(" in ") {
        Some((counts, duration)) if duration.starts_with(|c: char| c.is_ascii_digit()) => counts,
        _ => line,
    };
    line.split([' ', '\t', ',', ':', '|', '/', '[', ']', '(', ')', '{', '}'])
        .filter(|word| !word.starts_with("attentive-"))
        .collect()
}

fn same_word(found: &str, expected: &str) -> bool {
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(expected)) => (found - expected).abs() <= TOLERANCE * expected.abs().max(1.0),
        _ => found == expected,
    }
}

/// Resumes the run for four more updates and compares the weights.
fn check_resume(name: &str) {
    let folder = copy(name);
    let before = fs::read(folder.path("run/checkpoints/step-00000008/model.safetensors")).unwrap();
    let outcome = folder.run("train c.toml --output run --resume --set train.max_steps=12");
    assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
    let found = fs::read(folder.path("run/checkpoints/step-00000012/model.safetensors")).unwrap();
    let expected = fs::read(folder.path("resumed.safetensors")).unwrap();
    let [found, expected, before] =
        [&found, &expected, &before].map(|bytes| SafeTensors::deserialize(bytes).unwrap());
    assert_eq!(found.len(), expected.len(), "{name}: tensors");
    let config = fs::read_to_string(folder.path("c.toml")).unwrap();
    let bf16 = config.contains("precision = 'bf16'");
    let mut moved = 0.0_f32;
    for tensor in expected.names() {
        let [found, expected, before] =
            [&found, &expected, &before].map(|file| fixture::values(file, tensor));
        let what = format!("{name}, {tensor}");
        if is_without_gradient(tensor, &config) {
            let finite = found.iter().all(|value| value.is_finite());
            assert!(finite && found.len() == expected.len(), "{what}: {found:?}");
            continue;
        }
        moved += mean_difference(&before, &expected);
        if bf16 {
            let difference = mean_difference(&found, &expected);
            assert!(difference <= BF16_MEAN_DIFFERENCE, "{what}: {difference}");
        } else {
            assert_close(&what, &found, &expected);
        }
    }
    assert!(moved > 0.0, "{name}: the fixture's weights did not change");
}

/// Whether the true gradient of the parameter `name` is zero: the bias of keys shifts all scores of a query
/// equally unless keys are rotated. What is computed for it is a rounding error, which Adam magnifies to
/// whole updates, so that its values say nothing.
fn is_without_gradient(name: &str, config: &str) -> bool {
    name.ends_with("attention.key.bias") && !config.contains("'rotary'")
}

fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= WEIGHTS_TOLERANCE * expected.abs().max(1.0),
            "{what}, element {index}: found {found}, the old program has {expected}"
        );
    }
}

fn mean_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let sum: f32 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
    sum / a.len() as f32
}

/// The names of the fixtures.
fn names() -> Vec<String> {
    let entries = fs::read_dir(fixtures()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A test for each fixture that is a run.
macro_rules! runs {
    ($($test:ident = $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                check_outputs($name);
                check_resume($name);
            }
        )*

        #[test]
        fn every_fixture_has_a_test() {
            let mut tested = vec!["average", $($name),*];
            tested.sort_unstable();
            let mut folders = names();
            folders.sort_unstable();
            assert_eq!(folders, tested);
        }
    };
}

runs! {
    a_post_norm_transformer_goes_on = "transformer-post",
    a_pre_norm_rotary_transformer_goes_on = "transformer-rotary",
    a_transformer_in_bfloat16_with_scheduled_sampling_goes_on = "transformer-bf16",
    a_seq2seq_model_with_bahdanaus_attention_goes_on = "seq2seq-bahdanau",
    a_seq2seq_model_with_luongs_attention_goes_on = "seq2seq-luong",
    a_seq2seq_model_without_attention_goes_on = "seq2seq-thought",
    a_causal_language_model_goes_on = "decoder-only",
    a_masked_language_model_goes_on = "encoder-only",
    a_tagger_goes_on = "tagger",
    a_tagger_of_vectors_goes_on = "tagger-vectors",
    a_fine_tuned_transformer_goes_on = "transformer-finetuned",
    a_causal_language_model_of_lines_goes_on = "decoder-only-lines",
    a_classifier_goes_on = "classifier",
}

#[test]
fn an_averaged_model_is_read() {
    check_outputs("average");
}

/// A model from before formats had numbers is refused by every command, with one sentence that says what to
/// do.
#[test]
fn models_without_a_format_are_refused() {
    let folder = copy("transformer-post");
    let path = folder.path("run/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("format = 1\n", "", 1)).unwrap();
    folder.write("from.toml", "data.train = { builtin = 'reverse', pairs = 9 }\nmodel.from = 'run'\n");
    for command in [
        "translate run src",
        "translate run --checkpoint last src",
        "info run",
        "average run --last 2 --output mean",
        "quantize run --precision int8 --output small",
        "export run --to marian --output theirs",
        "serve en-de=run --listen 127.0.0.1:0",
        "train c.toml --output run --resume",
        "train from.toml --output next",
        "config show run",
    ] {
        let expected = ["was written before formats had numbers", "attentive.load(\"old\").save(\"new\")"];
        let outcome = folder.run(command);
        assert!(outcome.code.is_some_and(|code| code != 0), "{command}: {outcome:?}");
        for words in expected {
            assert!(outcome.stderr.contains(words), "{command}: {outcome:?}");
        }
    }
}
