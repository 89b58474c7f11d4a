//! Translation with a model in RAM, without text.

use std::time::Instant;

use attentive_architecture::TokenContract;
use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_config::{Config, EarlyStopping, TrainDevice};
use attentive_decode::{Capacity, SearchOptions, SourceSentence, Strategy, search};
use attentive_device::current;
use attentive_kernels::ceiling::{self, MeasurementThreads};
use attentive_kernels::gemm::Float;
use attentive_kernels::threads::Threads;
use attentive_model::any_engine::AnyEngine;
use attentive_model::device_engine::DeviceEngine;
use attentive_model::engine::{Dense, Engine, Precision, Weight};
use attentive_model::model::Model as Trained;
use attentive_model::profile::{Profile, ProfileSection, profiled};
use attentive_pipeline::device::caught;
use attentive_pipeline::share;
use attentive_processes::Processes;
use attentive_train::on_device;
use serde::Serialize;

use super::workload::Workload;
use super::{percent, row, threads};

/// A batch and the width of a beam.
#[derive(Clone, Copy)]
pub(super) struct BenchmarkSetting {
    /// Sentences that each thread decodes together; with one, all threads work on it.
    batch: usize,
    beam: usize,
    /// Sentences of each thread.
    sentences: usize,
}

/// The settings that are measured on a device: on a GPU also a batch that is large enough for it.
pub(super) fn settings(device: TrainDevice, quick: bool) -> Vec<BenchmarkSetting> {
    let batches: &[[usize; 2]] = match (quick, device) {
        (true, _) => &[[4, 4], [1, 2]],
        (false, TrainDevice::Cpu) => &[[32, 32], [1, 16]],
        (false, TrainDevice::Gpu(_)) => &[[256, 256], [32, 32], [1, 16]],
    };
    let with_beam = |batch, sentences, beam| BenchmarkSetting { batch, beam, sentences };
    batches
        .iter()
        .flat_map(|&[batch, sentences]| [1, 5].map(|beam| with_beam(batch, sentences, beam)))
        .collect()
}

/// A model with random weights.
pub(super) struct BenchmarkModel<'a> {
    workload: &'a Workload,
    config: Config,
    engine: AnyEngine,
    precision: Precision,
    /// On the CPU.
    weights: Option<Weights>,
}

/// What bounds the products with weights.
struct Weights {
    encoder: Matrices,
    /// Includes the output projection.
    decoder: Matrices,
    /// Bytes of the decoder that all threads together read per second, again and again.
    reading: f64,
}

/// The weights that each token of one side is multiplied with.
#[derive(Clone, Copy, Default)]
struct Matrices {
    /// Elements: multiply-adds for a token.
    elements: usize,
    bytes: usize,
}

impl Matrices {
    fn add(&mut self, matrix: &attentive_model::engine::Matrix) {
        let elements = matrix.d_out() * matrix.d_in();
        self.elements += elements;
        self.bytes += elements
            * match matrix.precision() {
                Precision::F32 => 4,
                Precision::Bf16 => 2,
                Precision::Int8 => 1,
            };
    }
}

/// A translation of random sentences.
#[derive(Serialize)]
#[serde(tag = "kind", rename = "translation")]
pub(super) struct TranslationBenchmark {
    model: String,
    /// The GPU, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    precision: Precision,
    batch: usize,
    beam: usize,
    sentences: usize,
    tokens: usize,
    seconds: f64,
    /// The least time for the products with weights, on the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<f64>,
    /// On a GPU, the times are those of the host.
    parts: Vec<(&'static str, f64)>,
}

impl<'a> BenchmarkModel<'a> {
    /// The model on `device`.
    ///
    /// # Errors
    /// Those of the device.
    pub(super) fn new(workload: &'a Workload, precision: Precision, device: TrainDevice) -> Result<Self> {
        let config = workload.config();
        let architecture = config.model.architecture(workload.vocab, workload.vocab);
        let trained = || Trained::new(&architecture, config.model.init, config.seed);
        let (engine, weights) = match device {
            TrainDevice::Cpu => {
                let mut weights = Dense::new(precision, trained().copied());
                let engine = Engine::new(&architecture, &mut weights);
                let weights = Weights::of(&engine);
                (AnyEngine::Cpu(engine), Some(weights))
            }
            TrainDevice::Gpu(_) => {
                let numbers = match precision {
                    Precision::Bf16 => Float::Bf16,
                    Precision::F32 | Precision::Int8 => Float::F32,
                };
                // Drawn on the CPU.
                let weights = trained().copied();
                let engine = || Ok(DeviceEngine::with_weights(current(), &architecture, weights, numbers));
                let engine = on_device(device, &Processes::alone(), engine)?;
                (AnyEngine::Device(engine), None)
            }
        };
        Ok(Self { workload, config, engine, precision, weights })
    }

    /// Measures translation; the `ceilings` are those of the CPU.
    ///
    /// # Errors
    /// Those of the device.
    pub(super) fn measure(
        &self,
        setting: BenchmarkSetting,
        ceilings: impl FnOnce() -> f64,
    ) -> Result<TranslationBenchmark> {
        caught(|| Ok(self.measured(setting, ceilings)))
    }

    fn measured(&self, setting: BenchmarkSetting, ceilings: impl FnOnce() -> f64) -> TranslationBenchmark {
        let BenchmarkSetting { batch, beam, sentences } = setting;
        let workers = match (&self.engine, batch) {
            (AnyEngine::Device(_), _) | (_, 1) => 1,
            (AnyEngine::Cpu(_), _) => Threads::current().count(),
        };
        let count = workers * sentences;
        self.translate(setting, workers, count.min(4 * workers));
        let start = Instant::now();
        let (tokens, profile) = profiled(|| self.translate(setting, workers, count));
        let seconds = start.elapsed().as_secs_f64();
        let time = |&part: &ProfileSection| profile.time(part).as_secs_f64();
        let parts = PARTS.iter().map(|(name, parts)| (*name, parts.iter().map(time).sum()));
        let bound = self.weights.as_ref().map(|weights| {
            let src_tokens = count * self.workload.length;
            weights.bound(&profile, src_tokens, ceilings())
        });
        let gpu = match &self.engine {
            AnyEngine::Cpu(_) => None,
            AnyEngine::Device(engine) => Some(engine.hardware()),
        };
        TranslationBenchmark {
            model: self.workload.name.clone(),
            gpu,
            precision: self.precision,
            batch,
            beam,
            sentences: count,
            tokens,
            seconds,
            bound,
            parts: parts.collect(),
        }
    }

    /// Translates `count` sentences and returns the number of tokens written.
    fn translate(&self, setting: BenchmarkSetting, workers: usize, count: usize) -> usize {
        let length = self.workload.length;
        let options = SearchOptions {
            strategy: Strategy::beam(setting.beam, 1, EarlyStopping::Never),
            max_new_factor: 0.0,
            max_new_extra: length,
            min_length: length,
            ..SearchOptions::from(&self.config.decode)
        };
        // No token ends a translation before the limit.
        let contract =
            TokenContract { start: 1, end: 2, pad: 0, never: vec![0], forced_first: None, forced_last: None };
        let with = attentive_decode::SearchContext {
            contract: &contract,
            options,
            capacity: Capacity { sentences: setting.batch, positions: usize::MAX },
        };
        let found = share((0..count).map(|number| self.sentence(number)), workers, |sentences| {
            search(&self.engine, sentences, with).collect()
        });
        found.iter().map(|found| found[0].tokens.len()).sum()
    }

    /// Tokens without a pattern, the same in every run, after the special ones.
    fn sentence(&self, number: usize) -> SourceSentence {
        let token = |place: usize| {
            let mixed = (number * self.workload.length + place).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (3 + (mixed >> 32) % (self.workload.vocab - 3)) as TokenId
        };
        SourceSentence::from((0..self.workload.length).map(token).collect::<Vec<_>>())
    }
}

impl Weights {
    fn of(engine: &Engine) -> Self {
        let (mut encoder, mut decoder) = (Matrices::default(), Matrices::default());
        for (name, weight) in engine.weights() {
            let Weight::Matrix(matrix) = weight else {
                continue;
            };
            let of_memory = ["cross_attention.key", "cross_attention.value"];
            match name.as_str() {
                name if name.contains("embedding") => {}
                name if name.starts_with("encoder.") => encoder.add(matrix),
                name if of_memory.iter().any(|part| name.contains(part)) => encoder.add(matrix),
                _ => decoder.add(matrix),
            }
        }
        Self { encoder, decoder, reading: ceiling::read(decoder.bytes, MeasurementThreads::All) }
    }

    /// The least time for the products, of which the CPU can do `most` operations per second.
    fn bound(&self, done: &Profile, src_tokens: usize, most: f64) -> f64 {
        let encoder = 2.0 * src_tokens as f64 * self.encoder.elements as f64 / most;
        let operations = 2.0 * done.counts.rows as f64 * self.decoder.elements as f64 / most;
        let bytes = (done.counts.steps * self.decoder.bytes) as f64;
        encoder + operations.max(bytes / self.reading)
    }
}

/// The parts of the work by name.
const PARTS: [(&str, &[ProfileSection]); 7] = [
    ("encoder", &[ProfileSection::Encoder]),
    ("decoder: linear maps", &[ProfileSection::Linear]),
    ("decoder: self-attention", &[ProfileSection::SelfAttention]),
    ("decoder: cross-attention", &[ProfileSection::CrossAttention]),
    ("decoder: norms, the rest", &[ProfileSection::DecoderRest]),
    ("output projection, top-k", &[ProfileSection::Projection]),
    ("search, waiting", &[ProfileSection::Search, ProfileSection::Waiting, ProfileSection::Rest]),
];

impl TranslationBenchmark {
    pub(super) fn title(&self) -> String {
        let Self { model, precision, batch, beam, .. } = self;
        let on = match &self.gpu {
            None => format!(", {}", threads()),
            Some(gpu) => format!(" on {gpu}"),
        };
        let rate = self.tokens as f64 / self.seconds;
        let share = self
            .bound
            .map_or(String::new(), |bound| format!(", {} of the bound", percent(bound, self.seconds)));
        format!(
            "Translation with {model} in {precision}, batch {batch}, beam {beam}{on}: {rate:.0} output \
             tokens/s{share}"
        )
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let ms = match self.gpu {
            None => "ms",
            Some(_) => "ms of the host",
        };
        let head = row(["part", ms, "share"]);
        let parts = self.parts.iter().map(|&(name, seconds)| {
            let ms = format!("{:.1}", 1e3 * seconds);
            row([name, &ms, &percent(seconds, self.seconds)])
        });
        std::iter::once(head).chain(parts).collect()
    }
}
