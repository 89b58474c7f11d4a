//! Published models by name.

/// A published model, as settings of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Preset {
    /// The base model of *Attention Is All You Need*, as Marian's task of this name trains and runs it.
    TransformerBase,
    /// The big model.
    TransformerBig,
    /// The base model with norms before sublayers.
    TransformerBasePrenorm,
    /// The big model with norms before sublayers.
    TransformerBigPrenorm,
    /// The smallest student of Mozilla's pipeline, for Firefox: 6 + 2 layers of a width of 256.
    StudentTiny,
    /// Its middle student: 6 + 4 layers of a width of 384.
    StudentBaseMemory,
    /// Its largest student: 6 + 2 layers of a width of 512.
    StudentBase,
}

/// What all presets have in common.
const COMMON: [&str; 10] = [
    "tokenizer.vocab_size=32000",
    "model.n_encoder_layers=6",
    "model.n_heads=8",
    "model.dropout=0.1",
    "train.max_steps=300000",
    "train.batch_tokens=4096",
    "train.micro_batches_per_update=8",
    "train.validate_every=5000",
    "train.optimizer.beta1=0.9",
    "decode.length_penalty=1",
];
/// A teacher of Marian, besides its sizes.
const TEACHER: [&str; 3] = ["model.n_decoder_layers=6", "data.max_len=100", "decode.beam_width=8"];
/// What Marian's Transformers are beside their sizes, so that it can run them.
const MARIAN: [&str; 4] = [
    "model.positions=sinusoidal_tensor2tensor",
    "model.norm_epsilon=1e-6",
    "model.output_bias=true",
    "model.zero_start_embedding=true",
];
const BASE: [&str; 5] = [
    "model.d_model=512",
    "model.d_ff=2048",
    "train.optimizer.learning_rate=0.0003",
    "train.optimizer.beta2=0.98",
    "train.schedule.warmup_steps=16000",
];
const BIG: [&str; 6] = [
    "model.d_model=1024",
    "model.d_ff=4096",
    "model.n_heads=16",
    "train.optimizer.learning_rate=0.0002",
    "train.optimizer.beta2=0.998",
    "train.schedule.warmup_steps=8000",
];
const POST: [&str; 1] = ["model.norm_position=post"];
const PRE: [&str; 1] = ["model.norm_position=pre"];
/// What Firefox's engine runs, and how its students are trained.
const STUDENT: [&str; 10] = [
    "tokenizer.kind=unigram",
    "data.max_len=200",
    "model.decoder_mixing=ssru",
    "model.norm_position=post",
    "train.optimizer.learning_rate=0.0003",
    "train.optimizer.beta2=0.98",
    "train.schedule.warmup_steps=16000",
    "decode.beam_width=1",
    "decode.max_new_factor=2.0",
    "decode.max_new_extra=0",
];
const TINY: [&str; 3] = ["model.n_decoder_layers=2", "model.d_model=256", "model.d_ff=1536"];
const BASE_MEMORY: [&str; 3] = ["model.n_decoder_layers=4", "model.d_model=384", "model.d_ff=1536"];
const STUDENT_BASE: [&str; 3] = ["model.n_decoder_layers=2", "model.d_model=512", "model.d_ff=2048"];

impl Preset {
    /// Returns its settings, in the form `key=value`.
    pub(super) fn settings(self) -> Vec<String> {
        let parts: [&[&str]; 3] = match self {
            Self::TransformerBase => [&TEACHER, &BASE, &POST],
            Self::TransformerBig => [&TEACHER, &BIG, &POST],
            Self::TransformerBasePrenorm => [&TEACHER, &BASE, &PRE],
            Self::TransformerBigPrenorm => [&TEACHER, &BIG, &PRE],
            Self::StudentTiny => [&STUDENT, &TINY, &[]],
            Self::StudentBaseMemory => [&STUDENT, &BASE_MEMORY, &[]],
            Self::StudentBase => [&STUDENT, &STUDENT_BASE, &[]],
        };
        COMMON
            .iter()
            .chain(&MARIAN)
            .chain(parts.into_iter().flatten())
            .map(|&setting| setting.to_owned())
            .collect()
    }
}
