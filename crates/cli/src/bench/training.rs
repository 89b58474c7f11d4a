//! Updates of training.

use std::time::Instant;

use attentive_config::TrainPrecision;
use attentive_model::engine::Precision;
use attentive_model::model::Model;
use attentive_tape::{Spent, profiled};
use attentive_train::{Learner, Unwatched};
use serde::Serialize;

use super::ceilings::Ceilings;
use super::workload::Workload;
use super::{billions, percent, row, threads};

/// Updates of a model.
#[derive(Serialize)]
#[serde(tag = "kind", rename = "training")]
pub(super) struct Training {
    model: String,
    precision: Precision,
    /// Tokens of a sentence.
    length: usize,
    /// Target tokens of an update.
    tokens: usize,
    /// Of each update, without the first.
    seconds: Vec<f64>,
    /// The loss per token, of each update.
    losses: Vec<f64>,
    operations: Vec<Operation>,
}

/// One kind of operation, in one update.
#[derive(Serialize)]
struct Operation {
    name: &'static str,
    seconds: f64,
    /// Floating-point operations of its matrix products.
    flops: f64,
}

pub(super) fn measure(workload: &Workload, precision: Precision, steps: u64) -> Training {
    let mut config = workload.config();
    config.train.precision = match precision {
        Precision::F32 => TrainPrecision::F32,
        Precision::Bf16 => TrainPrecision::Bf16,
        Precision::Int8 => unreachable!("training has no int8"),
    };
    let architecture = config.model.architecture(workload.vocab, workload.vocab);
    let model = Model::new(&architecture, config.model.init, config.seed);
    let mut learner = Learner::new(model, &config);
    let batches = vec![workload.batch(); learner.n_batches()];
    let mut update = |step| {
        let start = Instant::now();
        let update = learner.learn(step, 1e-4, &batches, &mut Unwatched);
        let sums = update.expect("the loss on random tokens is finite").sums;
        let loss = sums.loss / sums.n_tokens as f64;
        (start.elapsed().as_secs_f64(), loss)
    };
    update(1);
    let (found, spent) = profiled(|| (2..2 + steps).map(update).collect::<Vec<_>>());
    let (seconds, losses) = found.into_iter().unzip();
    let one = |(name, spent): (&'static str, Spent)| Operation {
        name,
        seconds: (spent.forward + spent.backward).as_secs_f64() / steps as f64,
        flops: spent.flops / steps as f64,
    };
    let mut operations: Vec<Operation> = spent.into_iter().map(one).collect();
    operations.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    Training {
        model: workload.name.clone(),
        precision,
        length: workload.length,
        tokens: workload.tokens() * batches.len(),
        seconds,
        losses,
        operations,
    }
}

impl Training {
    /// Of the median update.
    fn seconds(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() / 2] + sorted[(sorted.len() - 1) / 2]) / 2.0
    }

    fn flops(&self) -> f64 {
        self.operations
            .iter()
            .map(|operation| operation.flops)
            .sum()
    }

    pub(super) fn title(&self, ceilings: &Ceilings) -> String {
        let (seconds, most) = (self.seconds(), ceilings.operations(self.precision));
        format!(
            "Training {} in {}, {} tokens a sentence, {}: {:.0} target tokens/s, {:.1} ms an update, {} of the ceiling",
            self.model,
            self.precision,
            self.length,
            threads(),
            self.tokens as f64 / seconds,
            1e3 * seconds,
            percent(self.flops() / seconds, most),
        )
    }

    pub(super) fn rows(&self, ceilings: &Ceilings) -> Vec<Vec<String>> {
        let most = ceilings.operations(self.precision);
        let all: f64 = self.seconds.iter().sum::<f64>() / self.seconds.len() as f64;
        let named: f64 = self
            .operations
            .iter()
            .map(|operation| operation.seconds)
            .sum();
        let line = |name: &str, seconds: f64, flops: f64| {
            let (rate, share) = match flops > 0.0 {
                true => (billions(flops / seconds), percent(flops / seconds, most)),
                false => (String::new(), String::new()),
            };
            let ms = format!("{:.1}", 1e3 * seconds);
            row([name, &ms, &percent(seconds, all), &rate, &share])
        };
        let head = row(["operation", "ms", "share", "GFLOP/s", "of the ceiling"]);
        let operations = self.operations.iter();
        let operations = operations.map(|one| line(one.name, one.seconds, one.flops));
        let rest = line("optimizer, everything between", all - named, 0.0);
        std::iter::once(head)
            .chain(operations)
            .chain([rest])
            .collect()
    }
}
