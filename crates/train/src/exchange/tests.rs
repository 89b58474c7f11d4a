//! Runs that several processes share, compared with runs of one process.

use std::fs;
use std::path::Path;

use attentive_base::error::Error;
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::{Run, files};
use attentive_config::{Config, CorpusFormat, CorpusSource, OptimizerKind, StoreKind, Units, WeightedSource};
use attentive_processes::{Processes, in_threads};

use crate::report::Silent;
use crate::{Existing, RunOptions, Summary, train};

const TRANSFORMER: &str = "
[model]
d_model = 16
d_ff = 32
n_heads = 2
n_encoder_layers = 1
n_decoder_layers = 1
";
const RECURRENT: &str = "
[model]
family = 'seq2seq'
recurrent = { cell = 'lstm', attention = 'additive', d_hidden = 16 }
d_model = 16
n_encoder_layers = 1
n_decoder_layers = 1
";
const LANGUAGE_MODEL: &str = "
[model]
family = 'decoder_only'
d_model = 16
d_ff = 32
n_heads = 2
n_decoder_layers = 1
";

/// A configuration with `accumulate` micro-batches per update.
fn config(folder: &Path, model: &str, accumulate: usize) -> Config {
    let text = format!(
        "{model}
max_len = 16
dropout = 0.1
[data]
max_len = 16
train = {{ builtin = 'grammar', pairs = 300 }}
valid = {{ builtin = 'grammar', pairs = 20 }}
[tokenizer]
kind = 'word'
[train]
max_steps = 8
micro_batches_per_update = {accumulate}
batch_tokens = 128
validate_every = 4
validate_sentences = 5
save_every = 3
schedule = {{ warmup_steps = 2 }}
"
    );
    let text = if model.contains("decoder_only") {
        let lines: String =
            (0..300).map(|line| format!("a{} b{} c{} d\n", line % 7, line % 5, line % 3)).collect();
        fs::write(folder.join("text"), lines).unwrap();
        let text = text.replace("{ builtin = 'grammar', pairs = 300 }", "{ text = 'text' }");
        text.replace("valid = { builtin = 'grammar', pairs = 20 }", "hold_out = 0.1")
            .replace("validate_sentences = 5\n", "")
    } else {
        text
    };
    let mut config = Config::parse(&text, &folder.join("c.toml"), &[]).unwrap();
    config.data.dir = Some(folder.into());
    config
}

fn options(dir: &Path, processes: Processes) -> RunOptions {
    RunOptions { out: dir.into(), existing: Existing::Resume, interrupt: Interrupt::none(), processes }
}

/// Trains in `n` threads for `steps` updates in all.
fn run(config: &Config, dir: &Path, n: usize, steps: u64) -> Vec<Summary> {
    let mut config = config.clone();
    config.train.max_steps = steps;
    in_threads(n, |processes| train(&config, &options(dir, processes), &mut Silent).unwrap())
}

/// The weights and the optimizer's state, and the log without times, after 8 updates.
fn results(dir: &Path) -> (Vec<u8>, Vec<u8>, String) {
    results_after(8, dir)
}

fn results_after(steps: u64, dir: &Path) -> (Vec<u8>, Vec<u8>, String) {
    let last = Run::new(dir).folder(steps);
    let read = |path: &Path| fs::read(path).unwrap();
    let log = fs::read_to_string(dir.join(files::METRICS)).unwrap();
    let timeless = log.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        fields.retain(|name, _| name != "tokens_per_second" && name != "seconds");
        line.to_string() + "\n"
    });
    (read(&last.join(files::WEIGHTS)), read(&last.join("optimizer.safetensors")), timeless.collect())
}

#[test]
fn the_number_of_processes_changes_no_bit() {
    let models = [(TRANSFORMER, 0.0), (TRANSFORMER, 0.01), (RECURRENT, 0.0), (LANGUAGE_MODEL, 0.0)];
    for (model, ema) in models {
        for accumulate in [4, 5] {
            let folder = tempfile::tempdir().unwrap();
            let mut config = config(folder.path(), model, accumulate);
            config.train.ema = ema;
            config.train.consistency = 100.0 * ema;
            let dir = |name: &str| folder.path().join(name);
            run(&config, &dir("1"), 1, 8);
            let alone = results(&dir("1"));
            for n in [2, 3, 4] {
                let dir = dir(&n.to_string());
                let summaries = run(&config, &dir, n, 8);
                assert_eq!(results(&dir), alone, "{n} processes, {accumulate}, {model}");
                for summary in summaries {
                    let exchange = summary.exchange.unwrap();
                    assert!(exchange.processes == n && exchange.bytes_sent > 0);
                }
            }
            // Stopped and resumed with another number of processes.
            let changed = dir("changed");
            for (n, steps) in [(2, 3), (4, 5), (1, 6), (3, 8)] {
                run(&config, &changed, n, steps);
            }
            let (weights, optimizer, _) = results(&changed);
            assert_eq!((weights, optimizer), (alone.0, alone.1), "{model}");
        }
    }
}

/// With one trained parameter, most of several processes update nothing.
#[test]
fn processes_without_a_part_wait_with_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path(), TRANSFORMER, 4);
    config.model.freeze = vec!["encoder.*".into(), "decoder.*".into()];
    for ema in [0.0, 0.01] {
        config.train.ema = ema;
        let dirs = [1, 4].map(|n| {
            let dir = folder.path().join(format!("{n}-{ema}"));
            run(&config, &dir, n, 8);
            dir
        });
        assert_eq!(results(&dirs[0]), results(&dirs[1]));
    }
}

/// One process defers the updates of tables that are only looked up; several update whole tables.
#[test]
fn a_thousand_updates_of_rows_when_they_are_read_have_the_bits_of_dense_ones() {
    for (model, kind, weight_decay) in
        [(TRANSFORMER, OptimizerKind::Adam, 0.0), (RECURRENT, OptimizerKind::Adamw, 0.01)]
    {
        let folder = tempfile::tempdir().unwrap();
        let model = format!("{model}tie_embeddings = 'none'");
        let mut config = config(folder.path(), &model, 2);
        let train = &mut config.train;
        train.optimizer.learning_rate = 0.003;
        (train.optimizer.kind, train.optimizer.weight_decay) = (kind, weight_decay);
        // Few tokens per update, so that most rows miss it.
        train.batch_tokens = 32;
        (train.validate_every, train.save_every) = (300, 250);
        let dir = |name: &str| folder.path().join(name);
        run(&config, &dir("dense"), 2, 1000);
        let dense = results_after(1000, &dir("dense"));
        run(&config, &dir("deferred"), 1, 1000);
        assert!(results_after(1000, &dir("deferred")) == dense, "{model}");
        let stopped = dir("stopped");
        for (n, steps) in [(1, 437), (2, 470), (1, 1000)] {
            run(&config, &stopped, n, steps);
        }
        let (weights, state, _) = results_after(1000, &stopped);
        assert!((weights, state) == (dense.0, dense.1), "{model}");
    }
}

#[test]
fn bf16_halves_what_is_sent_of_the_gradients() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path(), TRANSFORMER, 2);
    config.train.validate_every = 0;
    config.train.save_every = 100;
    let dir = |name: &str| folder.path().join(name);
    let sent = |config: &Config, name: &str, steps| {
        let summaries = run(config, &dir(name), 2, steps);
        summaries[1].exchange.unwrap().bytes_sent
    };
    // The difference of two runs is the amount that two updates send.
    let sent_by_two = |config: &Config, name: &str| {
        sent(config, &format!("{name}-long"), 4) - sent(config, &format!("{name}-short"), 2)
    };
    let whole = sent_by_two(&config, "f32");
    config.train.exchange_precision = attentive_config::Float::Bf16;
    let half = sent_by_two(&config, "bf16");
    let share = half as f64 / whole as f64;
    // The parameters are sent unchanged.
    assert!((0.5..0.8).contains(&share), "{half} of {whole} bytes");
}

#[test]
fn a_signal_to_one_process_stops_all_after_the_update() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), TRANSFORMER, 3);
    let dir = folder.path().join("run");
    let errors = in_threads(3, |processes| {
        let mut options = options(&dir, processes);
        options.interrupt = Interrupt::none();
        if options.processes.number() == 2 {
            let interrupt = options.interrupt.clone();
            struct StopAfter(Interrupt);
            impl crate::Observer for StopAfter {
                fn on(&mut self, event: &crate::Event<'_>) {
                    if let crate::Event::Step { report, .. } = event
                        && report.step == 2
                    {
                        self.0.request(15);
                    }
                }
            }
            return train(&config, &options, &mut StopAfter(interrupt)).unwrap_err();
        }
        train(&config, &options, &mut Silent).unwrap_err()
    });
    for error in errors {
        assert!(matches!(error, Error::Interrupted { signal: 15, .. }), "{error}");
    }
    assert_eq!(Run::new(&dir).last().unwrap(), Some(2));
}

#[test]
fn differences_between_processes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = config(folder.path(), LANGUAGE_MODEL, 2);
    let refused = |change: &(dyn Fn(&mut Config) + Sync)| {
        let errors = in_threads(2, |processes| {
            let mut config = base.clone();
            if processes.number() == 1 {
                change(&mut config);
            }
            let options = options(&folder.path().join("run"), processes);
            train(&config, &options, &mut Silent).unwrap_err().to_string()
        });
        assert_eq!(errors[0], errors[1]);
        errors[0].clone()
    };
    let other = refused(&|config| config.train.batch_tokens = 64);
    assert!(other.starts_with("process 1 (PID "), "{other}");
    assert!(other.contains("`train.batch_tokens`: expected 128"), "{other}");
    let few = refused(&|config| config.train.label_smoothing = -1.0);
    assert!(few.contains("process 1") && few.contains("label_smoothing"), "{few}");
}

#[test]
fn an_update_needs_a_micro_batch_for_each_process() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), TRANSFORMER, 2);
    let dir = folder.path().join("run");
    let errors = in_threads(3, |processes| {
        let error = train(&config, &options(&dir, processes), &mut Silent).unwrap_err();
        error.to_string()
    });
    for error in errors {
        let expected = "config key `train.micro_batches_per_update`: expected at least 3, a micro-batch for \
                        each process, found 2";
        assert_eq!(error, expected);
    }
    assert!(!dir.exists());
}

#[test]
fn other_kinds_of_runs_are_shared_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut runs = Vec::new();
    let text = config(folder.path(), LANGUAGE_MODEL, 4);
    let part =
        |weight: f64| WeightedSource { source: CorpusSource::file(CorpusFormat::Text, "text"), weight };
    for store in [StoreKind::Memory, StoreKind::Disk] {
        let mut mixed = text.clone();
        mixed.data.hold_out = 0.0;
        mixed.train.validate_every = 0;
        mixed.data.train = Some(CorpusSource::Mixed(vec![part(0.5), part(2.0)]));
        mixed.data.store = store;
        runs.push(mixed);
    }
    let mut stream = text;
    stream.data.units = Units::Stream;
    runs.push(stream);
    let mut mean = config(folder.path(), TRANSFORMER, 4);
    mean.train.average_last = 2;
    runs.push(mean);
    let mut weights = Vec::new();
    for (number, config) in runs.iter().enumerate() {
        let served = [1, 3].map(|n| {
            let dir = folder.path().join(format!("{number}-{n}"));
            run(config, &dir, n, 8);
            fs::read(dir.join(files::WEIGHTS)).unwrap()
        });
        assert!(served[0] == served[1], "run {number}");
        weights.push(served[0].clone());
    }
    assert!(weights[0] == weights[1], "from memory and from disk");
}

#[test]
fn an_infinite_loss_in_one_process_stops_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path(), TRANSFORMER, 4);
    config.train.optimizer.learning_rate = 1e30;
    config.train.clip_norm = 0.0;
    let dir = folder.path().join("run");
    let errors =
        in_threads(2, |processes| train(&config, &options(&dir, processes), &mut Silent).unwrap_err());
    let texts = errors.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(matches!(errors[0], Error::NotFinite(_)), "{texts:?}");
    assert_eq!(texts[0], texts[1]);
}
