//! Keys and values by their old names.

use super::{CORPUS, parse};
use crate::{Config, Draft, Origins};

/// The message of the error of these lines.
fn refused(lines: &str) -> String {
    let parsed = parse(&format!("{CORPUS}\n{lines}"), &[]);
    parsed.expect_err("an error").to_string()
}

/// Lines by old names, and the same by the present ones.
const LINES: [(&str, &str); 17] = [
    ("decode.alpha = 0.7", "decode.length_penalty = 0.7"),
    ("decode.length_penalty = 'gnmt'", "decode.length_penalty_formula = 'gnmt'"),
    (
        "decode = { length_penalty = 'gnmt', alpha = 0.3 }",
        "decode = { length_penalty_formula = 'gnmt', length_penalty = 0.3 }",
    ),
    ("decode.stopping = 'likely'", "decode.early_stopping = 'heuristic'"),
    ("decode.stopping = 'first'", "decode.early_stopping = 'always'"),
    ("decode.stopping = 'exact'", "decode.early_stopping = 'never'"),
    ("decode.early_stopping = 'first'", "decode.early_stopping = 'always'"),
    ("decode.max_new_tokens = 7", "decode.max_new_extra = 7"),
    ("model.decoder_start = '</s>'", "model.decoder_start_token = '</s>'"),
    ("model.forced_first = '<unk>'", "model.forced_bos_token = '<unk>'"),
    ("model.forced_last = '</s>'", "model.forced_eos_token = '</s>'"),
    ("model.never_generated = ['a']", "model.suppress_tokens = ['a']"),
    (
        "model = { family = 'decoder_only', further_ends = ['a'] }",
        "model = { family = 'decoder_only', extra_eos_tokens = ['a'] }",
    ),
    (
        "model = { family = 'encoder', unit_vectors = true }",
        "model = { family = 'encoder', normalize_embeddings = true }",
    ),
    ("train.accumulate = 4", "train.micro_batches_per_update = 4"),
    ("train.exchange = 'bf16'", "train.exchange_precision = 'bf16'"),
    ("train.matmul = 'bf16'", "train.precision = 'bf16'"),
];

fn draft(lines: &str, overrides: &[&str]) -> Draft {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.into()).collect();
    let text = format!("{CORPUS}\n{lines}");
    Draft::parse(&text, "c.toml".as_ref(), &overrides).expect("a configuration")
}

/// The keys, whether or not the family can be trained.
fn resolved(draft: Draft) -> Config {
    draft.finish(None, &mut Origins::default(), |_, _| Ok(())).expect("a configuration")
}

#[test]
fn old_names_mean_the_same_and_are_noted() {
    for (old, new) in LINES {
        let (by_old, by_new) = (draft(old, &[]), draft(new, &[]));
        assert!(!by_old.renamed().is_empty(), "{old}");
        for note in by_old.renamed() {
            let note = note.to_string();
            assert!(note.contains("is now called"), "{note}");
        }
        assert_eq!(by_new.renamed(), [], "{new}");
        let (by_old, by_new) = (resolved(by_old), resolved(by_new));
        assert_eq!(by_old, by_new, "{old}");
        let written = by_old.to_toml();
        let again = Draft::parse(&written, "c.toml".as_ref(), &[]).expect("a configuration");
        assert_eq!(again.renamed(), [], "{written}");
    }
}

#[test]
fn a_key_and_its_value_are_one_note() {
    let both = "`decode.stopping = \"first\"` is now called `decode.early_stopping = \"always\"`; the old \
                name is still read";
    let notes = |draft: Draft| -> Vec<String> {
        let notes = draft.renamed().iter();
        notes.map(ToString::to_string).collect()
    };
    assert_eq!(notes(draft("decode.stopping = 'first'", &[])), [both]);
    assert_eq!(notes(draft("", &["decode.stopping=first"])), [both]);
    let value = both.replace("decode.stopping", "decode.early_stopping");
    assert_eq!(notes(draft("decode.early_stopping = 'first'", &[])), [value]);
    let key = "`decode.stopping` is now called `decode.early_stopping`; the old name is still read";
    assert_eq!(notes(draft("decode.stopping = 'never'", &[])), [key]);
    // Other keys keep their notes.
    let two = draft("decode = { stopping = 'first', max_new_tokens = 3 }", &[]);
    assert_eq!(notes(two).len(), 2);
}

#[test]
fn overrides_may_use_old_names() {
    for (old, new) in LINES {
        let strip = |line: &str| line.replacen(" = ", "=", 1);
        let by_old = draft("", &[&strip(old)]);
        assert!(!by_old.renamed().is_empty(), "{old}");
        assert_eq!(resolved(by_old), resolved(draft(new, &[])), "{old}");
    }
    // Strings need no quotes.
    let unquoted = draft("", &["decode.stopping=likely", "decode.length_penalty=gnmt"]);
    let quoted = "decode = { early_stopping = 'heuristic', length_penalty_formula = 'gnmt' }";
    assert_eq!(resolved(unquoted), resolved(draft(quoted, &[])));
}

#[test]
fn both_names_of_a_key_are_refused() {
    let message = refused("decode = { alpha = 1.0, length_penalty = 0.5 }");
    assert!(
        message.contains(
            "config key `decode.alpha`: expected only `decode.length_penalty`, as it is called now, found \
                          both names"
        ),
        "{message}"
    );
    assert!(message.contains("line 2"), "{message}");
}

#[test]
fn mistakes_are_found_where_the_old_name_stands() {
    let message = refused("\n\ntrain.accumulate = 'x'");
    assert!(message.contains("`train.micro_batches_per_update`") && message.contains("line 4"), "{message}");
    let both = "decode.length_penalty = 'gnmt'\ndecode.alpha = -3.0";
    let message = refused(both);
    assert!(message.contains("`decode.length_penalty`") && message.contains("line 3"), "{message}");
    let message = refused("decode.stopping = 'soon'");
    assert!(message.contains("`decode.early_stopping`") && message.contains("line 2"), "{message}");
}
