//! Updates of training.

use std::ops::Range;
use std::time::Instant;

use attentive_base::batch::Batch;
use attentive_base::error::Result;
use attentive_config::{TrainDevice, TrainPrecision};
use attentive_model::engine::Precision;
use attentive_model::model::Model;
use attentive_processes::Processes;
use attentive_tape::{OpTimings, profiled};
use attentive_train::{FinishedUpdates, Learner, NoUpdateObserver, Started, Update, on_device};
use serde::Serialize;

use super::workload::Workload;
use super::{billions, percent, row, threads};

/// Updates of a model.
#[derive(Serialize)]
#[serde(tag = "kind", rename = "training")]
pub(super) struct TrainingBenchmark {
    model: String,
    /// The GPU, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    precision: Precision,
    /// Tokens of a sentence.
    length: usize,
    /// Target tokens of an update.
    tokens: usize,
    /// Of each update, without the first; on a GPU, the mean.
    seconds: Vec<f64>,
    /// The loss per token, of each update.
    losses: Vec<f64>,
    operations: Vec<Operation>,
}

/// One kind of operation, in one update. On a GPU, the time is that of the host, which does not wait for most
/// operations.
#[derive(Serialize)]
struct Operation {
    name: &'static str,
    seconds: f64,
    /// Floating-point operations of its matrix products.
    flops: f64,
}

/// Measures `steps` updates on `device`, after one that is not measured.
///
/// # Errors
/// Those of the device.
pub(super) fn measure(
    workload: &Workload,
    precision: Precision,
    steps: u64,
    device: TrainDevice,
) -> Result<TrainingBenchmark> {
    let measured = || Ok(measure_here(workload, precision, steps, device));
    on_device(device, &Processes::alone(), measured)
}

/// [`measure`] on the device of this thread.
fn measure_here(
    workload: &Workload,
    precision: Precision,
    steps: u64,
    device: TrainDevice,
) -> TrainingBenchmark {
    let mut config = workload.config();
    config.train.device = device;
    config.train.precision = match precision {
        Precision::F32 => TrainPrecision::F32,
        Precision::Bf16 => TrainPrecision::Bf16,
        Precision::Int8 => unreachable!("training has no int8"),
    };
    let architecture = config.model.architecture(workload.vocab, workload.vocab);
    let model = Model::new(&architecture, config.model.init, config.seed);
    let mut learner = Learner::new(model, &config);
    let batches = vec![workload.batch(); learner.n_batches()];
    updates(&mut learner, &batches, 1..2);
    let measured = 2..2 + steps;
    // As in a run, the host reads the results of a GPU once for several updates.
    let together = if learner.waits() { 1 } else { steps as usize };
    let each = |first: u64| first..(first + together as u64).min(measured.end);
    let (found, spent) = profiled(|| {
        let groups = measured.clone().step_by(together).map(each);
        let groups = groups.flat_map(|steps| updates(&mut learner, &batches, steps));
        groups.collect::<Vec<_>>()
    });
    let (seconds, losses) = found.into_iter().unzip();
    let one = |(name, spent): (&'static str, OpTimings)| Operation {
        name,
        seconds: (spent.forward + spent.backward).as_secs_f64() / steps as f64,
        flops: spent.flops / steps as f64,
    };
    let mut operations: Vec<Operation> = spent.into_iter().map(one).collect();
    operations.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let gpu = device.is_gpu().then(|| learner.products().instructions);
    TrainingBenchmark {
        model: workload.name.clone(),
        gpu,
        precision,
        length: workload.length,
        tokens: workload.tokens() * batches.len(),
        seconds,
        losses,
        operations,
    }
}

/// Makes updates, and returns the seconds and the loss per token of each: the time of all is divided evenly.
fn updates(learner: &mut Learner, batches: &[Batch], steps: Range<u64>) -> Vec<(f64, f64)> {
    const FINITE: &str = "the loss on random tokens is finite";
    let start = Instant::now();
    let count = (steps.end - steps.start) as f64;
    let start_one = |step| learner.start(step, 1e-4, batches, &mut NoUpdateObserver);
    let started: Vec<Started> = steps.map(start_one).collect::<Result<_, _>>().expect(FINITE);
    let asked = started.iter().map(|started| (started, batches));
    let FinishedUpdates { updates, damage } = learner.finish(&Vec::from_iter(asked));
    assert!(damage.is_none(), "{FINITE}");
    let seconds = start.elapsed().as_secs_f64() / count;
    let loss = |update: Update| update.sums.loss / update.sums.n_tokens as f64;
    let updates = updates.into_iter();
    updates.map(|update| (seconds, loss(update))).collect()
}

impl TrainingBenchmark {
    /// Of the median update.
    fn seconds(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() / 2] + sorted[(sorted.len() - 1) / 2]) / 2.0
    }

    fn flops(&self) -> f64 {
        self.operations.iter().map(|operation| operation.flops).sum()
    }

    /// The title and the rows of a table. The `ceilings` are those of the CPU.
    pub(super) fn table(&self, ceilings: impl FnOnce() -> f64) -> (String, Vec<Vec<String>>) {
        let (tokens, ms) = (self.tokens as f64 / self.seconds(), 1e3 * self.seconds());
        let Self { model, precision, length, .. } = self;
        let title = |on: &str| {
            format!(
                "Training {model} in {precision}, {length} tokens a sentence{on}: {tokens:.0} target \
                 tokens/s, {ms:.1} ms an update"
            )
        };
        if let Some(gpu) = &self.gpu {
            let rate = billions(self.flops() / self.seconds());
            let title = format!("{}, {rate} GFLOP/s of products", title(&format!(" on {gpu}")));
            return (title, self.rows_of_host());
        }
        let most = ceilings();
        let share = percent(self.flops() / self.seconds(), most);
        let title = format!("{}, {share} of the ceiling", title(&format!(", {}", threads())));
        (title, self.rows(most))
    }

    /// The time in which the host records operations and waits for results.
    fn rows_of_host(&self) -> Vec<Vec<String>> {
        let head = row(["operation", "ms of the host"]);
        let operations = self.operations.iter();
        let operations = operations.map(|one| row([one.name, &format!("{:.1}", 1e3 * one.seconds)]));
        std::iter::once(head).chain(operations).collect()
    }

    /// The time of the operations, and their share of the ceiling `most`.
    fn rows(&self, most: f64) -> Vec<Vec<String>> {
        let all: f64 = self.seconds.iter().sum::<f64>() / self.seconds.len() as f64;
        let named: f64 = self.operations.iter().map(|operation| operation.seconds).sum();
        let line = |name: &str, seconds: f64, flops: f64| {
            let (rate, share) = if flops > 0.0 {
                (billions(flops / seconds), percent(flops / seconds, most))
            } else {
                (String::new(), String::new())
            };
            let ms = format!("{:.1}", 1e3 * seconds);
            row([name, &ms, &percent(seconds, all), &rate, &share])
        };
        let head = row(["operation", "ms", "share", "GFLOP/s", "of the ceiling"]);
        let operations = self.operations.iter();
        let operations = operations.map(|one| line(one.name, one.seconds, one.flops));
        let rest = line("optimizer, everything between", all - named, 0.0);
        std::iter::once(head).chain(operations).chain([rest]).collect()
    }
}
