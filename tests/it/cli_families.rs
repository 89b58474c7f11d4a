//! Every family trains, goes on exactly, does not depend on threads, and is refused what it cannot do.

use std::fs;

use crate::run::Folder;

const CONFIG: &str = r#"
[data]
train = { builtin = "grammar", pairs = 600 }
valid = { builtin = "grammar", pairs = 20 }
max_len = 48
[tokenizer]
kind = "word"
vocabulary = "separate"
[model]
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 2
n_decoder_layers = 2
max_len = 48
dropout = 0.2
tie_embeddings = "decoder"
[model.recurrent]
d_hidden = 16
[train]
max_steps = 9
batch_tokens = 300
accumulate = 2
validate_every = 4
validate_sentences = 4
save_every = 4
"#;

/// Families with the settings that make most of them, and the data that they need.
const FAMILIES: [&str; 8] = [
    "--set model.family=transformer --set train.scheduled_sampling.kind=exponential \
     --set train.scheduled_sampling.decay_steps=5",
    "--set model.family=seq2seq --set train.scheduled_sampling.kind=linear \
     --set train.scheduled_sampling.decay_steps=9 --set train.scheduled_sampling.least=0.1",
    "--set model.family=seq2seq --set model.recurrent.attention=none --set model.recurrent.cell=rnn",
    "--set model.family=seq2seq --set model.recurrent.attention=general --set model.recurrent.cell=gru",
    "--set model.family=decoder_only",
    "--set model.family=decoder_only --set data.units=stream --set data.train={text='text'} \
     --set data.hold_out=0.2 --set tokenizer.kind=char --set data.valid=",
    "--set model.family=encoder_only",
    "--set model.family=tagger --set model.recurrent.cell=coupled_lstm",
];

fn folder(settings: &str) -> (Folder, String) {
    let folder = Folder::new();
    let text = "a b c ab bc, abc\nc b a\n".repeat(200);
    // A stream has no corpus for validation beside the share that it holds out.
    let (config, settings) = match settings.strip_suffix(" --set data.valid=") {
        Some(rest) => {
            let lines = CONFIG.lines().filter(|line| !line.starts_with("valid"));
            let config = lines.filter(|line| !line.starts_with("train ="));
            (config.collect::<Vec<_>>().join("\n"), rest)
        }
        None => (CONFIG.to_owned(), settings),
    };
    folder.write("c.toml", config).write("text", text);
    (folder, settings.to_owned())
}

fn weights(folder: &Folder, run: &str) -> Vec<u8> {
    fs::read(folder.path(run).join("model.safetensors")).unwrap()
}

#[test]
fn every_family_goes_on_to_the_same_bytes_with_any_number_of_threads() {
    for settings in FAMILIES {
        let (folder, settings) = folder(settings);
        let train = |arguments: &str| {
            let outcome = folder.run(&format!("train c.toml {settings} {arguments}"));
            assert_eq!(outcome.code, Some(0), "{settings}: {outcome:?}");
        };
        train("--out whole --threads 1");
        train("--out parts --threads 2 --set train.max_steps=4");
        train("--out parts --threads 2 --resume");
        let same = weights(&folder, "parts") == weights(&folder, "whole");
        assert!(same, "{settings}");
        let log = fs::read_to_string(folder.path("whole/metrics.jsonl")).unwrap();
        assert!(log.contains("\"validation\""), "{settings}: {log}");
    }
}

#[test]
fn what_a_family_cannot_do_is_refused() {
    let (folder, _) = folder("");
    let refused = |settings: &str, complaint: &[&str]| {
        folder.fails(&format!("train c.toml --out r {settings}"), 2, complaint);
    };
    refused(
        "--set model.family=decoder_only --set data.units=stream --set train.batch_tokens=20",
        &["train.batch_tokens", "48"],
    );
    refused("--set data.units=stream", &["data.units", "decoder_only"]);
    refused(
        "--set model.family=tagger --set tokenizer.kind=bpe",
        &["tokenizer.kind", "word"],
    );
    refused(
        "--set model.family=tagger --set tokenizer.vocabulary=shared",
        &["tokenizer.vocabulary", "separate"],
    );
    refused(
        "--set model.family=tagger --set train.scheduled_sampling.kind=constant",
        &["train.scheduled_sampling.kind", "no decoder"],
    );
    refused(
        "--set model.family=encoder_only --set data.train={src='text',tgt='text'}",
        &["data.train", "`text`"],
    );
    refused(
        "--set model.family=seq2seq --set model.recurrent.d_hidden=7",
        &["model.recurrent.d_hidden", "even"],
    );
    refused(
        "--set model.family=encoder_only --set train.best_by=bleu",
        &["train.best_by", "does not translate"],
    );
    refused("--set data.hold_out=0.5", &["data.hold_out", "data.valid"]);
}
