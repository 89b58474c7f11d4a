use std::path::Path;

use attentive_architecture::Body;
use attentive_base::batch::{Batch, Padded, Src};
use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::{self as checkpoint, Run};
use attentive_config::Config;
use attentive_device::{Cpu, Device, Failure};
use attentive_model::model::{Model, Parameter};
use attentive_oracle::PLAIN;
use attentive_processes::in_threads;
use tempfile::TempDir;

use super::*;
use crate::report::{Event, Observer, Silent};
use crate::{Existing, Learner, NoUpdateObserver, RunOptions, Summary, train};

/// What a run reports.
#[derive(Debug, Default)]
struct Seen {
    losses: Vec<f64>,
    validations: Vec<f64>,
    notes: Vec<String>,
    products: String,
}

impl Observer for Seen {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(report) => self.products = report.products.to_string(),
            Event::Step { report, .. } => self.losses.push(report.loss),
            Event::Validation(report) => {
                assert!(report.bleu.is_some() && report.samples.len() == 1);
                self.validations.push(report.loss);
            }
            Event::Note(note) => self.notes.push((*note).into()),
            _ => {}
        }
    }
}

/// A small run of `steps` updates with everything that reads parameters or moments: validations with
/// translations, checkpoints, their average, and scheduled sampling.
fn config(model: &str, steps: u64) -> Config {
    let text = format!(
        "[data]\ntrain = {{ builtin = 'reverse', pairs = 60 }}\nvalid = \
         {{ builtin = 'reverse', pairs = 6 }}\n[model]\n{model}\n\
         d_model = 16\nn_encoder_layers = 1\nn_decoder_layers = 1\nfreeze = ['*.bias']\n[train]\n\
         max_steps = {steps}\nprecision = 'f32'\nbatch_tokens = 96\nmicro_batches_per_update = 2\nclip_norm = \
         1.0\nvalidate_every = 2\n\
         validate_sentences = 2\nsamples = 1\nsave_every = 2\nkeep_last = 2\naverage_last = 2\n\
         scheduled_sampling = {{ kind = 'constant' }}\n"
    );
    Config::parse(&text, Path::new("device.toml"), &[]).unwrap()
}

const TRANSFORMER: &str = "n_heads = 2\nd_ff = 32\ndropout = 0.1";
const RECURRENT: &str = "family = 'seq2seq'\nrecurrent = { cell = 'gru', d_hidden = 16 }";

fn options(out: &Path, processes: &Processes) -> RunOptions {
    RunOptions {
        out: out.to_path_buf(),
        existing: Existing::Resume,
        interrupt: Interrupt::none(),
        processes: processes.clone(),
    }
}

fn run(device: &'static dyn Device, config: &Config, out: &Path) -> (Summary, Seen) {
    let (mut seen, options) = (Seen::default(), options(out, &Processes::alone()));
    let summary = on(device, || train(config, &options, &mut seen)).unwrap();
    (summary, seen)
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-3, "{found}, not {expected}");
    }
}

/// On [`PLAIN`], whose buffers the host cannot read, everything that wrongly reads them panics.
#[test]
fn a_run_on_another_device_learns_what_it_learns_on_the_cpu() {
    for (model, ema) in [(TRANSFORMER, 0.0), (RECURRENT, 0.1)] {
        let config = |model: &str, steps| {
            let mut config = config(model, steps);
            config.train.ema = ema;
            config
        };
        let folder = TempDir::new().unwrap();
        let (cpu, plain) = (folder.path().join("cpu"), folder.path().join("plain"));
        let (expected_summary, expected) = run(&Cpu, &config(model, 4), &cpu);
        let (_, first) = run(&PLAIN, &config(model, 2), &plain);
        let (summary, rest) = run(&PLAIN, &config(model, 4), &plain);
        assert_close(&[first.losses, rest.losses].concat(), &expected.losses);
        let validations = [first.validations, rest.validations].concat();
        assert_close(&validations, &expected.validations);
        assert_eq!((summary.resumed_at, summary.step), (Some(2), 4));
        assert_eq!(first.products, "f32 products with double precision");
        let differs = |notes: &[String]| notes.iter().any(|note| note.contains("last bits"));
        assert!(!differs(&rest.notes), "{:?}", rest.notes);

        let [found, expected] = [&plain, &cpu].map(|dir| weights(dir));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((&found.name, &found.shape), (&expected.name, &expected.shape));
            let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-3;
            let mut pairs = found.values.iter().zip(&expected.values);
            assert!(pairs.all(close), "{}", found.name);
        }

        // A run on one device goes on on the other.
        assert_eq!(expected_summary.step, 4);
        let (summary, seen) = run(&Cpu, &config(model, 5), &plain);
        assert_eq!((summary.resumed_at, summary.step), (Some(4), 5));
        assert!(differs(&seen.notes), "{:?}", seen.notes);
    }
}

/// The weights of the last checkpoint.
fn weights(dir: &Path) -> Vec<Parameter> {
    let run = Run::new(dir);
    let weights = run.weights(run.last().unwrap().unwrap()).unwrap();
    let stored = attentive_config::Config::load_stored(&dir.join("config.toml")).unwrap();
    let pipeline = attentive_pipeline::Pipeline::load(dir).unwrap();
    let tokenizers = pipeline.tokenizers();
    let architecture = checkpoint::architecture(&stored, tokenizers);
    weights.parameters(&checkpoint::shapes(&architecture)).unwrap()
}

#[test]
#[cfg(not(feature = "gpu"))]
fn each_process_of_a_machine_has_a_device_of_its_own() {
    let chosen = |device: &'static str| {
        in_threads(2, move |processes| {
            let chosen = of_process(device.parse().unwrap(), &processes);
            chosen.unwrap().to_string()
        })
    };
    assert_eq!(chosen("gpu"), ["gpu:0", "gpu:1"]);
    assert_eq!(chosen("gpu:1"), ["gpu:1", "gpu:1"]);
    assert_eq!(chosen("cpu"), ["cpu", "cpu"]);
}

/// The losses that a run reports, and the bytes of its log without the times, with a log entry after every
/// `log_every` updates.
fn reported(device: &'static dyn Device, log_every: u64) -> (Vec<f64>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let mut config = config(TRANSFORMER, 7);
    config.train.log_every = log_every;
    config.train.validate_every = 5;
    config.train.save_every = 100;
    let out = folder.path().join("run");
    let (_, seen) = run(device, &config, &out);
    let log = std::fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let without_time = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        fields.remove("tokens_per_second");
        fields.remove("seconds");
        line.to_string()
    };
    (seen.losses, log.lines().map(without_time).collect())
}

#[test]
fn losses_that_are_read_later_are_the_same() {
    let (every, _) = reported(&PLAIN, 1);
    let (later, log) = reported(&PLAIN, 4);
    assert_eq!((every.len(), &every), (7, &later));
    let steps = |log: &[String]| -> Vec<String> {
        let fields = |line: &String| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            format!("{} {} {}", line["kind"], line["step"], line["updates"])
        };
        log.iter().map(fields).collect()
    };
    let (_, on_cpu) = reported(&Cpu, 4);
    assert_eq!(steps(&log), steps(&on_cpu));
    assert_eq!(log.len(), 4, "updates 1 and 4, validations after 5 and 7");
}

/// On each device, whether it waits for each update or not.
#[test]
fn a_damaged_update_and_those_after_it_change_nothing() {
    for device in [&Cpu as &'static dyn Device, &PLAIN] {
        on(device, || {
            let mut config = config(TRANSFORMER, 9);
            config.train.scheduled_sampling = Default::default();
            let architecture = config.model.architecture(20, 20);
            let model = Model::new(&architecture, config.model.init, config.seed);
            let mut learner = Learner::new(model, &config);
            let src = Src::Tokens(Padded::new(&[vec![4, 5, 3], vec![6, 3]], 0));
            let tgt_in = Padded::new(&[vec![2, 5, 6], vec![2, 9]], 0);
            let batch = Batch {
                tgt_out: Padded::new(&[vec![5, 6, 3], vec![9, 3]], 0),
                lines: vec![1, 2],
                ..Batch::of(Body::EncoderDecoder(src, tgt_in))
            };
            let batches = vec![batch; learner.n_batches()];
            let start =
                |learner: &mut Learner, step| learner.start(step, 0.01, &batches, &mut NoUpdateObserver);
            let good = [1, 2].map(|step| start(&mut learner, step).unwrap());
            let parameter = learner.model().trained().nth(2).unwrap().clone();
            let before = parameter.to_vec();
            parameter.change(|values| values[0] = f32::INFINITY);
            let damaged = learner.model().copied();
            let name = parameter.name().to_owned();
            let damage = match start(&mut learner, 3) {
                Err(damage) => damage,
                Ok(third) => {
                    let fourth = start(&mut learner, 4).unwrap();
                    let started = good.iter().chain([&third, &fourth]);
                    let started = started.map(|started| (started, &*batches));
                    let finished = learner.finish(&Vec::from_iter(started));
                    assert_eq!(finished.updates.len(), 2);
                    finished.damage.unwrap()
                }
            };
            assert_eq!((damage.step, &*damage.layer), (3, &*format!("parameter {name}")));
            let bits = |parameters: Vec<Parameter>| -> Vec<Vec<u32>> {
                let bits = |parameter: Parameter| {
                    let values = parameter.values.into_iter();
                    values.map(f32::to_bits).collect()
                };
                parameters.into_iter().map(bits).collect()
            };
            assert!(bits(learner.model().copied()) == bits(damaged), "{device:?}");
            // It goes on once the damage is mended.
            parameter.change(|values| values.copy_from_slice(&before));
            let update = learner.learn(3, 0.01, &batches, &mut NoUpdateObserver).unwrap();
            assert!(update.sums.loss.is_finite() && parameter.to_vec() != before);
        });
    }
}

#[test]
fn several_processes_share_a_run_on_another_device() {
    let folder = TempDir::new().unwrap();
    let [alone, shared] = ["alone", "shared"].map(|name| folder.path().join(name));
    let config = config(TRANSFORMER, 2);
    run(&PLAIN, &config, &alone);
    let steps = in_threads(2, |processes| {
        let options = options(&shared, &processes);
        let summary = on(&PLAIN, || train(&config, &options, &mut Silent));
        summary.unwrap().step
    });
    assert_eq!(steps, [2, 2]);
    let pairs = weights(&alone).into_iter().zip(weights(&shared));
    for (alone, shared) in pairs {
        assert_eq!(alone.name, shared.name);
        let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-4;
        assert!(alone.values.iter().zip(&shared.values).all(close), "{}", alone.name);
    }
}

#[test]
#[cfg(not(feature = "gpu"))]
fn a_program_without_gpus_says_so() {
    let mut config = config(TRANSFORMER, 2);
    config.train.device = "gpu".parse().unwrap();
    let folder = TempDir::new().unwrap();
    let options = options(&folder.path().join("run"), &Processes::alone());
    let error = train(&config, &options, &mut Silent).unwrap_err();
    assert!(error.to_string().contains("without support for GPUs"), "{error}");
    assert_eq!((error.exit_code(), options.out.exists()), (2, false));
}

#[test]
fn a_device_that_fails_is_an_error() {
    let lost =
        || Failure { problem: "the GPU was lost".into(), hint: "continue from the last checkpoint".into() };
    let alone = Processes::alone();
    let result: Result<()> = on_device(TrainDevice::Cpu, &alone, || lost().raise());
    let error = result.expect_err("a failure");
    assert_eq!((error.to_string(), error.exit_code()), (lost().problem, 1));
    assert_eq!(error.hint(), Some(lost().hint));
}

/// Says that a test is skipped, or fails if `ATTENTIVE_GPU_TESTS` is `required`.
#[cfg(feature = "gpu")]
fn skip() {
    let required = std::env::var("ATTENTIVE_GPU_TESTS").is_ok_and(|it| it == "required");
    assert!(!required, "there is no GPU");
    eprintln!("skipped: there is no GPU, and no driver that stands in for one");
}

#[test]
#[cfg(feature = "gpu")]
fn processes_of_a_machine_have_a_gpu_each_or_share_one() {
    let n = attentive_gpu::adapters().len();
    if n == 0 {
        return skip();
    }
    let used = |n, device: &'static str| {
        in_threads(n, move |processes| {
            let device = device.parse().unwrap();
            let number = || Ok(current().hardware().map(|hardware| hardware.name));
            on_device(device, &processes, number)
        })
    };
    for error in used(n + 1, "gpu") {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("need a GPU each, and it has"), "{error}");
    }
    let name = |result: Result<Option<String>>| result.unwrap().unwrap();
    let shared: Vec<String> = used(2, "gpu:0").into_iter().map(name).collect();
    assert_eq!(shared[0], shared[1]);
    assert_eq!(name(used(1, "gpu").remove(0)), shared[0]);
}

#[test]
#[cfg(feature = "gpu")]
fn processes_that_share_a_gpu_write_the_bits_of_one() {
    if attentive_gpu::adapters().is_empty() {
        return skip();
    }
    let folder = TempDir::new().unwrap();
    let [alone, shared] = ["alone", "shared"].map(|name| folder.path().join(name));
    let mut config = config(TRANSFORMER, 2);
    config.train.device = "gpu:0".parse().unwrap();
    run(&Cpu, &config, &alone);
    in_threads(2, |processes| {
        train(&config, &options(&shared, &processes), &mut Silent).unwrap();
    });
    assert!(weights(&alone) == weights(&shared), "the bits differ");
}
