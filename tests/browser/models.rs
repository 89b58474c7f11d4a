//! Small models, trained for a moment.

use crate::run::{Folder, for_family};
use crate::toy;

const CONFIG: &str = "
[data]
train = { builtin = 'reverse', pairs = 200 }
valid = { builtin = 'reverse', pairs = 10 }

[tokenizer]
kind = 'word'
vocab_size = 14

[model]
d_model = 32
d_ff = 64
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 2
max_len = 256

[train]
max_steps = 30
batch_tokens = 512
validate_every = 30
save_every = 30
schedule = { warmup_steps = 5 }

[decode]
beam_width = 4
";

const TAGGER: &str = "
encoder = 'transformer'
";

/// Trains a model of `family` in `folder`, or the model of the tiny language if that is `toy`, or imports
/// one if it is `imported KIND`; it is `runs/NAME`.
pub(crate) fn train(folder: &Folder, name: &str, family: &str) {
    if let Some(kind) = family.strip_prefix("imported ") {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hf");
        folder.succeeds(&format!("import {fixture}/{kind} --output runs/{name}"));
        return;
    }
    if family == "toy" {
        toy::train(folder, &format!("runs/{name}"));
        return;
    }
    let mut model = format!("[model]\nfamily = '{family}'\n");
    let mut config = for_family(CONFIG, family);
    if family == "tagger" {
        model += TAGGER;
        config = CONFIG.replace("n_decoder_layers = 2\n", "");
    }
    if family == "decoder_only" {
        config = config.replace("[data]\n", "[data]\nunits = 'stream'\n");
    }
    folder.write(&format!("{name}.toml"), config.replace("[model]\n", &model));
    folder.succeeds(&format!("train {name}.toml"));
}
