//! Times training steps of an encoder-decoder Transformer on random tokens without padding:
//! `cargo run --release --example training_step -- --d-model 256 --d-ff 1024 --n-heads 4 --n-layers 3`

use std::time::Instant;

use attentive::batch::{Batch, Padded, TokenId};
use attentive::config::{Config, Matmul, ModelConfig, TieEmbeddings};
use attentive::device;
use attentive::model::Transformer;
use attentive::random::Random;
use attentive::train::{Gathered, Learner, UpdateScale};
use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Times training steps of an encoder-decoder Transformer on random tokens without padding.
#[derive(Parser)]
struct Arguments {
    #[arg(long, default_value_t = 256)]
    d_model: usize,
    #[arg(long, default_value_t = 1024)]
    d_ff: usize,
    #[arg(long, default_value_t = 4)]
    n_heads: usize,
    /// Of the encoder, and of the decoder.
    #[arg(long, default_value_t = 3)]
    n_layers: usize,
    #[arg(long, default_value_t = 8000)]
    vocab: usize,
    /// Sentences of a batch.
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// Tokens of a sentence, on both sides.
    #[arg(long, default_value_t = 32)]
    length: usize,
    /// Of every kind: residual, attention, activation.
    #[arg(long, default_value_t = 0.1)]
    dropout: f64,
    #[arg(long, default_value_t = 6)]
    steps: u64,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Products from operands rounded to bfloat16.
    #[arg(long)]
    bf16: bool,
}

fn main() {
    let arguments = Arguments::parse();
    rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads)
        .build_global()
        .expect("the pool is built once");
    let config = config(&arguments);
    let device = device::cpu().autodiff();
    let vocab = arguments.vocab;
    let model = Transformer::new(&config.model, vocab, vocab, config.seed, &device);
    let mut learner = Learner::new(model, &config, device);
    let batch = batch(&arguments);
    let mut seconds: Vec<f64> = (1..=arguments.steps)
        .map(|step| time_step(&mut learner, &batch, step))
        .collect();
    seconds.sort_by(f64::total_cmp);
    let tokens = (arguments.batch * arguments.length) as f64;
    let median = seconds[seconds.len() / 2];
    println!("median {:.0} target tokens/s", tokens / median);
}

/// The seconds of a forward pass, a backward pass and an update.
fn time_step(learner: &mut Learner, batch: &Batch, step: u64) -> f64 {
    let start = Instant::now();
    let mut gathered = Gathered::default();
    let loss = learner.loss(batch, step);
    let forward = start.elapsed().as_secs_f64();
    learner.gather(loss, &mut gathered);
    let backward = start.elapsed().as_secs_f64() - forward;
    let per_token = gathered.sums.loss / gathered.n_tokens();
    let scale = UpdateScale {
        step,
        learning_rate: 1e-4,
        gradient_scale: 1.0 / gathered.n_tokens(),
    };
    learner.update(gathered, scale);
    let total = start.elapsed().as_secs_f64();
    println!(
        "step {step}: loss {per_token:.3}, forward {forward:.3} s, backward {backward:.3} s, \
         optimiser {:.3} s, in all {total:.3} s",
        total - forward - backward
    );
    total
}

fn config(arguments: &Arguments) -> Config {
    let mut config = Config::default();
    config.model = ModelConfig {
        d_model: arguments.d_model,
        d_ff: arguments.d_ff,
        n_heads: arguments.n_heads,
        n_encoder_layers: arguments.n_layers,
        n_decoder_layers: arguments.n_layers,
        dropout: arguments.dropout,
        attention_dropout: arguments.dropout,
        activation_dropout: arguments.dropout,
        tie_embeddings: TieEmbeddings::None,
        output_bias: true,
        ..config.model
    };
    config.train.matmul = if arguments.bf16 {
        Matmul::Bf16
    } else {
        Matmul::F32
    };
    config
}

/// Random sentences of one length.
fn batch(arguments: &Arguments) -> Batch {
    let mut random = Random::new(1, 1);
    let mut side = || {
        let mut token = || (random.uniform() * arguments.vocab as f64) as TokenId;
        let mut sentence = || (0..arguments.length).map(|_| token()).collect();
        let sentences: Vec<Vec<TokenId>> = (0..arguments.batch).map(|_| sentence()).collect();
        Padded::new(&sentences, 0)
    };
    Batch {
        src: side(),
        tgt_in: side(),
        tgt_out: side(),
        lines: (1..=arguments.batch).collect(),
    }
}
