//! Defaults: how words are divided, tokenizers that are given, warm-up, and what `evaluate` and `quantize`
//! say of a search.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli_model::stdout;
use crate::cli_quantize::{TEST_SET, with_test_set};
use crate::run::Folder;

const SENTENCES: &str =
    "A dog runs.\nA cat, a dog!\nThe dog doesn't run.\nA cat runs at 3.14 p.m.\n(The cat runs.)\n";

/// A translation of sentences into themselves, with `lines` in `[tokenizer]`.
fn config(lines: &str) -> String {
    format!(
        "[data]
train = {{ src = 'text', tgt = 'text' }}
[tokenizer]
{lines}
[model]
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1
[train]
max_steps = 4
batch_tokens = 200
save_every = 2
validate_every = 0
schedule = {{ warmup_steps = 2 }}
"
    )
}

fn folder(lines: &str) -> Folder {
    let folder = Folder::new();
    folder.write("text", SENTENCES.repeat(20)).write("c.toml", config(lines));
    folder
}

fn succeeds(folder: &Folder, arguments: &str) -> String {
    let outcome = folder.run(arguments);
    assert_eq!(outcome.code, Some(0), "{arguments}: {outcome:?}");
    outcome.stdout + &outcome.stderr
}

/// The tokens in the tokenizer file of the model directory `run`.
fn tokens(folder: &Folder, run: &str) -> Vec<String> {
    let path = folder.path(run).join("tokenizer.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let vocab = file["model"]["vocab"].as_object().unwrap();
    vocab.keys().cloned().collect()
}

fn mixes(token: &str) -> bool {
    token.contains(char::is_alphabetic) && token.contains(['.', ',', '!', '(', ')', '\''])
}

fn fixture(name: &str) -> std::path::PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fixtures.join(name)
}

#[test]
fn punctuation_is_apart_in_new_vocabularies() {
    let folder = folder("vocab_size = 80");
    succeeds(&folder, "train c.toml --output new");
    let new = tokens(&folder, "new");
    assert!(new.contains(&"▁dog".into()) && !new.iter().any(|token| mixes(token)), "{new:?}");
    let old = "--set tokenizer.split_punctuation=false --set tokenizer.split_by_script=false";
    succeeds(&folder, &format!("train c.toml --output old {old}"));
    assert!(tokens(&folder, "old").iter().any(|token| mixes(token)));
}

#[test]
fn a_sentencepiece_model_is_trained_with() {
    let folder = folder("from = 'my.model'");
    fs::copy(fixture("sentencepiece/unigram.model"), folder.path("my.model")).unwrap();
    succeeds(&folder, "train c.toml --output whole");
    succeeds(&folder, "train c.toml --output part --set train.max_steps=2");
    // The model directory has all that it needs.
    fs::remove_file(folder.path("my.model")).unwrap();
    succeeds(&folder, "train c.toml --output part --resume");
    let weights = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
    assert!(weights("whole") == weights("part"));
    let lines = stdout(&folder, "translate part text");
    assert_eq!(lines.lines().count(), 100);
    let file = fs::read_to_string(folder.path("part/tokenizer.json")).unwrap();
    assert!(file.contains("Unigram") && file.contains("precompiled_charsmap"));
    folder.fails("train c.toml --output new", 2, &["`tokenizer.from`", "`my.model`, which does not exist"]);
}

#[test]
fn a_given_tokenizer_must_fit() {
    let folder = folder("from = 'my.model'\nvocabulary = 'separate'");
    fs::copy(fixture("sentencepiece/bpe.model"), folder.path("my.model")).unwrap();
    let tied = "train c.toml --output new --set model.tie_embeddings=none";
    folder.fails(tied, 2, &["`tokenizer.from`", "one tokenizer in `my.model`"]);
    folder.write("my.model", "no model");
    folder.fails("train c.toml --output new --set tokenizer.vocabulary=shared", 1, &["my.model"]);
}

#[test]
fn a_warmup_that_does_not_end_is_told() {
    let folder = folder("vocab_size = 80");
    let long = "train c.toml --set train.schedule.warmup_steps=40";
    let said = succeeds(&folder, long);
    assert!(said.contains("warning: `train.schedule.warmup_steps` = 40"), "{said}");
    assert!(said.contains("reaches only 10 % of its peak"), "{said}");
    let said = succeeds(&folder, "train c.toml --output other");
    assert!(!said.contains("warmup_steps"), "{said}");
}

#[test]
fn a_noam_rate_that_is_no_factor_is_told() {
    let folder = folder("vocab_size = 80");
    let rate = |rate: &str, output: &str| {
        let noam = "train c.toml --set train.schedule.kind=noam --set train.schedule.warmup_steps=2";
        let rate = format!("--set train.optimizer.learning_rate={rate}");
        succeeds(&folder, &format!("{noam} {rate} --output {output}"))
    };
    let said = rate("0.00001", "low");
    assert!(said.contains("warning: the learning rate never exceeds"), "{said}");
    let said = rate("1.0", "right");
    assert!(!said.contains("never exceeds"), "{said}");
}

#[test]
fn short_translations_are_told() {
    let folder = with_test_set();
    let evaluate = "evaluate runs/c --src in --ref ref --max-new-tokens 2";
    let advice = |options: &str| {
        let outcome = folder.succeeds(&format!("{evaluate} {options}"));
        assert!(outcome.stdout.starts_with("BLEU"), "{outcome:?}");
        outcome.stderr
    };
    let said = advice("--length-penalty-formula gnmt --length-penalty 0.6");
    assert!(said.contains("warning: the translations are short"), "{said}");
    assert!(said.contains("try `--length-penalty-formula length --length-penalty 1`"), "{said}");
    assert!(advice("--length-penalty 0.5").contains("try `--length-penalty 1`"));
    assert!(advice("").contains("a larger `--length-penalty`"));
    assert!(advice("--beam-width 1").contains("`--beam-width 5"));
    // Translations that are long enough need no advice.
    folder.write("ref", "3\n7\n\n1\n");
    assert!(!advice("").contains("short"));
}

#[test]
fn the_search_of_a_report_can_be_chosen() {
    let folder = with_test_set();
    let quantize = format!("quantize runs/c --precision int8 {TEST_SET} --json");
    let report = |options: &str| -> Value {
        serde_json::from_str(&stdout(&folder, &format!("{quantize} {options}"))).unwrap()
    };
    let own = report("--output own");
    assert_eq!(own["search"]["beam_width"], 2);
    let chosen = report(
        "--output chosen --beam-width 3 --length-penalty-formula gnmt --length-penalty 0.5 --max-new-tokens \
         1",
    );
    let search = &chosen["search"];
    assert_eq!(
        (&search["beam_width"], &search["length_penalty_formula"], &search["length_penalty"]),
        (&3.into(), &"gnmt".into(), &0.5.into())
    );
    // It is the search of both measurements.
    let evaluate = "evaluate chosen --src in --ref ref --json --beam-width 3 --length-penalty-formula gnmt \
                    --length-penalty 0.5 --max-new-tokens 1";
    let report: Value = serde_json::from_str(&stdout(&folder, evaluate)).unwrap();
    let bleu = |value: &Value| value["value"].as_f64().unwrap();
    assert!((bleu(&chosen["bleu"]["system"]) - bleu(&report["bleu"])).abs() < 1e-9);
    let text =
        stdout(&folder, &format!("quantize runs/c --precision bf16 --output half {TEST_SET} --beam-width 1"));
    assert!(text.contains("search   greedy"), "{text}");
}

#[test]
fn a_formula_that_is_chosen_has_its_own_exponent() {
    let folder = with_test_set();
    let scores = |options: &str| stdout(&folder, &format!("translate runs/c in --scores {options}"));
    let gnmt = scores("--length-penalty-formula gnmt");
    assert_eq!(gnmt, scores("--length-penalty-formula gnmt --length-penalty 0.6"));
    assert_ne!(gnmt, scores("--length-penalty-formula gnmt --length-penalty 1"));
    assert_eq!(scores("--length-penalty-formula length"), scores(""));
    // The model's exponent belongs to its formula.
    let train = "train c.toml --output runs/own --set decode.length_penalty_formula=gnmt --set \
                 decode.length_penalty=0.3";
    succeeds(&folder, train);
    let scores = |options: &str| stdout(&folder, &format!("translate runs/own in --scores {options}"));
    assert_eq!(scores("--length-penalty-formula gnmt"), scores("--length-penalty 0.3"));
    assert_eq!(
        scores("--length-penalty-formula length"),
        scores("--length-penalty-formula length --length-penalty 1")
    );
}
