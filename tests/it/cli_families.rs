//! Every family trains, resumes exactly, does not depend on threads, and refuses what it cannot do.

use std::fs;

use serde_json::Value;

use crate::run::Folder;

/// Large enough for kernels to use several threads; an update takes about half a pass over the corpus.
const CONFIG: &str = r#"
[data]
train = { builtin = "grammar", pairs = 1000 }
valid = { builtin = "grammar", pairs = 20 }
max_len = 48
[tokenizer]
kind = "word"
vocabulary = "separate"
[model]
d_model = 64
max_len = 48
dropout = 0.2
[train]
max_steps = 5
batch_tokens = 2400
micro_batches_per_update = 2
validate_every = 2
validate_sentences = 4
save_every = 3
schedule = { warmup_steps = 2 }
"#;

/// Sizes for families that use them; others refuse them.
const TRANSFORMER: &str = "--set model.d_ff=128 --set model.n_heads=2";
const RECURRENT: &str = "--set model.recurrent.d_hidden=256";
const ENCODER: &str = "--set model.n_encoder_layers=2";
const DECODER: &str = "--set model.n_decoder_layers=2";
/// Small batches, so that an epoch does not end with an update.
const SHORT: &str = "--set train.batch_tokens=1600";
const TIED: &str = "--set model.tie_embeddings=decoder";

/// Families with settings that use most of their features, and the data that they need.
const FAMILIES: [&[&str]; 13] = [
    &[
        "--set model.family=transformer --set train.scheduled_sampling.kind=exponential",
        "--set train.scheduled_sampling.decay_steps=3",
        TRANSFORMER,
        ENCODER,
        DECODER,
        TIED,
    ],
    &[
        "--set model.family=seq2seq --set train.scheduled_sampling.kind=linear",
        "--set train.scheduled_sampling.decay_steps=5 --set train.scheduled_sampling.least=0.1",
        RECURRENT,
        ENCODER,
        DECODER,
        TIED,
    ],
    &[
        "--set model.family=seq2seq --set model.recurrent.attention=none --set model.recurrent.cell=rnn",
        RECURRENT,
        ENCODER,
        DECODER,
        TIED,
    ],
    &[
        "--set model.family=seq2seq --set model.recurrent.attention=general --set model.recurrent.cell=gru",
        RECURRENT,
        ENCODER,
        DECODER,
        TIED,
    ],
    &["--set model.family=transformer --set model.decoder_mixing=ssru", TRANSFORMER, ENCODER, DECODER, TIED],
    &[
        "--set model.family=transformer --set model.decoder=recurrent",
        TRANSFORMER,
        RECURRENT,
        ENCODER,
        DECODER,
        TIED,
    ],
    &["--set model.family=decoder_only", TRANSFORMER, DECODER],
    &[STREAM],
    &["--set model.family=encoder_only", TRANSFORMER, ENCODER],
    &["--set model.family=tagger --set model.recurrent.cell=coupled_lstm", RECURRENT, ENCODER],
    &["--set model.family=tagger --set model.encoder=transformer", TRANSFORMER, ENCODER],
    &["--set model.family=classifier", SHORT, TRANSFORMER, ENCODER],
    &[
        "--set model.family=classifier --set model.encoder=recurrent --set model.pooling=last",
        SHORT,
        RECURRENT,
        ENCODER,
    ],
];

const STREAM: &str = "--set model.family=decoder_only --set model.d_ff=128 --set model.n_heads=2 \
    --set model.n_decoder_layers=2 --set data.units=stream --set data.train={text='text'} \
    --set data.hold_out=0.2 --set tokenizer.kind=char --set data.valid=";

fn folder(settings: &str) -> (Folder, String) {
    let folder = Folder::new();
    let text = "a b c ab bc, abc\nc b a\n".repeat(400);
    // A stream has no validation corpus except for the part that it holds out.
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

/// The weights of the best checkpoint, and weights and optimizer state after the last update.
fn results(folder: &Folder, run: &str) -> [Vec<u8>; 3] {
    [
        "model.safetensors",
        "checkpoints/step-00000005/model.safetensors",
        "checkpoints/step-00000005/optimizer.safetensors",
    ]
    .map(|file| fs::read(folder.path(run).join(file)).unwrap())
}

/// The position of a checkpoint: complete passes over the corpus, and batches of the current one.
fn position(folder: &Folder, checkpoint: &str) -> (u64, u64) {
    let state = fs::read_to_string(folder.path(checkpoint).join("state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let number = |name: &str| state["position"][name].as_u64().unwrap();
    (number("epoch"), number("batch"))
}

#[test]
fn every_family_resumes_to_identical_files_with_any_number_of_threads() {
    for settings in FAMILIES {
        let (folder, settings) = folder(&settings.join(" "));
        let train = |arguments: &str| {
            let outcome = folder.run(&format!("train c.toml {settings} {arguments}"));
            assert_eq!(outcome.code, Some(0), "{settings}: {outcome:?}");
        };
        train("--output whole --threads 1");
        train("--output parts --threads 2 --set train.max_steps=3");
        let (epoch, batch) = position(&folder, "parts/checkpoints/step-00000003");
        assert!(epoch >= 1 && batch >= 1, "{settings}: {epoch}, {batch}");
        let start = fs::read(folder.path("parts/model.safetensors")).unwrap();
        train("--output parts --threads 2 --resume");
        let (epoch, _) = position(&folder, "parts/checkpoints/step-00000005");
        assert!(epoch >= 2, "{settings}: {epoch}");
        let [parts, whole] = ["parts", "whole"].map(|run| results(&folder, run));
        assert!(parts == whole, "{settings}");
        assert!(start != whole[1], "{settings}: nothing is learned");
        let log = fs::read_to_string(folder.path("whole/metrics.jsonl")).unwrap();
        assert!(log.contains("\"validation\""), "{settings}: {log}");
    }
}

#[test]
fn a_nan_loss_of_a_stream_names_no_lines() {
    let (folder, settings) = folder(STREAM);
    let settings = format!("{settings} --set train.optimizer.learning_rate=1e30");
    let outcome = folder.run(&format!("train c.toml --output r {settings}"));
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let stderr = outcome.stderr;
    assert!(stderr.contains("NaN or infinite at update 2"), "{stderr}");
    assert!(!stderr.contains("training lines"), "{stderr}");
}

#[test]
fn unsupported_settings_of_a_family_are_refused() {
    let (folder, _) = folder("");
    let refused = |settings: &str, complaint: &[&str]| {
        folder.fails(&format!("train c.toml --output r {settings}"), 2, complaint);
    };
    refused(
        "--set model.family=decoder_only --set data.units=stream --set train.batch_tokens=20",
        &["train.batch_tokens", "48"],
    );
    refused("--set data.units=stream", &["data.units", "decoder_only"]);
    refused("--set model.family=tagger --set tokenizer.kind=bpe", &["tokenizer.kind", "word"]);
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
