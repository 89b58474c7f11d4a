//! Runs that start from a model.

use std::collections::BTreeMap;
use std::fs;

use attentive_base::interrupt::Interrupt;
use attentive_checkpoint::{LoadedWeights, Run, load};
use attentive_pipeline::Pipeline;
use attentive_processes::{Processes, in_threads};

use super::*;
use crate::report::Silent;
use crate::{Event, Existing, Observer, RunOptions, train};

const DATA: &str = "
train = { builtin = 'grammar', pairs = 300 }
valid = { builtin = 'grammar', pairs = 20 }
max_len = 16
";

const TRAIN: &str = "
[train]
max_steps = 8
micro_batches_per_update = 4
batch_tokens = 128
validate_every = 4
validate_sentences = 0
save_every = 3
keep_last = 9
schedule = { warmup_steps = 2 }
";

/// A folder with the model `source`, as `model` describes it.
fn with_source(model: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[model]
        {model}
        d_model = 16
        d_ff = 32
        n_heads = 2
        n_encoder_layers = 1
        max_len = 16
        dropout = 0.1
        [tokenizer]
        kind = 'word'
        [data]
        {DATA}
        {TRAIN}"
    );
    let config = Config::parse(&text, Path::new("s.toml"), &[]).unwrap();
    run(&config, &folder.path().join("source"), 1, 8);
    folder
}

/// A configuration that starts from `source`.
fn from_source(folder: &Path, model: &str) -> Config {
    let source = folder.join("source");
    let text = format!(
        "[model]
        from = '{}'
        {model}
        [data]
        {DATA}
        {TRAIN}
        clip_norm = 0.5
        optimizer = {{ kind = 'adamw', weight_decay = 0.1 }}",
        source.display()
    );
    Config::parse(&text, Path::new("t.toml"), &[]).unwrap()
}

fn options(dir: &Path, processes: Processes) -> RunOptions {
    RunOptions { out: dir.into(), existing: Existing::Resume, interrupt: Interrupt::none(), processes }
}

/// Trains in `n` threads for `steps` updates in all.
fn run(config: &Config, dir: &Path, n: usize, steps: u64) {
    let mut config = config.clone();
    config.train.max_steps = steps;
    in_threads(n, |processes| train(&config, &options(dir, processes), &mut Silent).unwrap());
}

/// The parameters in `dir` by name.
fn weights(dir: &Path) -> BTreeMap<String, Vec<f32>> {
    let LoadedWeights::Dense(weights) = load(dir).unwrap().weights else {
        panic!("not quantized");
    };
    let named = weights.into_iter();
    named.map(|one| (one.name, one.values)).collect()
}

/// The parameters of the checkpoint at `step`.
fn weights_at(dir: &Path, step: u64) -> BTreeMap<String, Vec<f32>> {
    let architecture = load(dir).unwrap().architecture;
    let stored = Run::new(dir).weights(step).unwrap();
    let weights = stored.parameters(&checkpoint::shapes(&architecture));
    let named = weights.unwrap().into_iter();
    named.map(|one| (one.name, one.values)).collect()
}

/// The validation losses in the log.
fn losses(dir: &Path) -> Vec<(u64, f64)> {
    let log = fs::read_to_string(dir.join(files::METRICS)).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &serde_json::Value| line["kind"] == "validation")
        .map(|line| (line["step"].as_u64().unwrap(), line["loss"].as_f64().unwrap()))
        .collect()
}

#[test]
fn training_starts_where_the_model_is_and_leaves_frozen_parameters_alone() {
    let folder = with_source("n_decoder_layers = 1");
    let dir = folder.path().join("tuned");
    let config = from_source(folder.path(), "freeze = ['encoder.*', '*.norm*', 'src.embedding.weight']");
    run(&config, &dir, 1, 8);
    let (theirs, began, ended) =
        (weights(&folder.path().join("source")), weights_at(&dir, 0), weights_at(&dir, 8));
    assert_eq!(theirs, began);
    for (name, values) in &ended {
        let is_frozen =
            name.starts_with("encoder.") || name.contains(".norm") || name == "src.embedding.weight";
        assert_eq!(*values == theirs[name], is_frozen, "{name}");
    }
    // The same loss on the same sentences.
    let source = losses(&folder.path().join("source"));
    let best = source.iter().map(|(_, loss)| *loss).fold(f64::MAX, f64::min);
    assert_eq!(losses(&dir)[0], (0, best));
    let state = fs::read(Run::new(&dir).folder(8).join("optimizer.safetensors")).unwrap();
    let state = safetensors::SafeTensors::deserialize(&state).unwrap();
    let kept = |name: &&String| state.names().contains(&format!("mean.{name}").as_str());
    let kept: Vec<&String> = ended.keys().filter(kept).collect();
    assert!(kept.iter().all(|name| ended[*name] != theirs[*name]));
    assert_eq!(2 * kept.len(), state.len());
    let provenance = load(&dir).unwrap().provenance;
    let origin = provenance.from.unwrap();
    assert!(origin.path.ends_with("source") && origin.sha256.is_some());
}

/// Weights and optimizer after update 8, and the validation losses.
fn results(dir: &Path) -> (Vec<u8>, Vec<u8>, Vec<(u64, f64)>) {
    let last = Run::new(dir).folder(8);
    let read = |name: &str| fs::read(last.join(name)).unwrap();
    (read(files::WEIGHTS), read("optimizer.safetensors"), losses(dir))
}

#[test]
fn neither_stops_nor_processes_change_a_bit_and_the_source_is_not_needed_again() {
    let folder = with_source("n_decoder_layers = 1");
    let config = from_source(folder.path(), "freeze = ['encoder.*', '*.bias']\ndropout = 0.2");
    let dir = |name: &str| folder.path().join(name);
    run(&config, &dir("whole"), 1, 8);
    run(&config, &dir("shared"), 3, 8);
    let whole = results(&dir("whole"));
    assert!(results(&dir("shared")) == whole);
    let mut mean = config.clone();
    mean.train.average_last = 2;
    run(&mean, &dir("mean"), 1, 8);
    // Stopped before the first update, too.
    struct StopAtOnce(Interrupt);
    impl Observer for StopAtOnce {
        fn on(&mut self, event: &Event<'_>) {
            if let Event::Saved { .. } = event {
                self.0.request(15);
            }
        }
    }
    let stopped = options(&dir("stopped"), Processes::alone());
    let stop = &mut StopAtOnce(stopped.interrupt.clone());
    train(&config, &stopped, stop).unwrap_err();
    fs::remove_dir_all(dir("source")).unwrap();
    for (n, steps) in [(1, 1), (2, 4), (1, 8)] {
        run(&config, &dir("stopped"), n, steps);
    }
    assert!(results(&dir("stopped")).0 == whole.0);
    assert!(results(&dir("stopped")).1 == whole.1);
    run(&mean, &dir("mean"), 1, 8);
    let (mean, ended) = (weights(&dir("mean")), weights_at(&dir("whole"), 8));
    for (name, values) in mean {
        let is_frozen = name.starts_with("encoder.") || name.ends_with(".bias");
        assert_eq!(values == ended[&name], is_frozen, "{name}");
    }
}

#[test]
fn a_masked_language_model_gets_a_head_for_labels() {
    let folder = with_source("family = 'encoder_only'");
    let theirs = weights(&folder.path().join("source"));
    for family in ["classifier", "tagger"] {
        let model = format!("family = '{family}'\nfreeze = ['encoder.*', 'src.*']");
        let config = from_source(folder.path(), &model);
        let dir = folder.path().join(family);
        run(&config, &dir, 1, 4);
        run(&config, &dir, 1, 8);
        let ours = weights_at(&dir, 8);
        let (old, new): (Vec<_>, Vec<_>) =
            ours.iter().partition(|(name, _)| name.starts_with("encoder.") || name.starts_with("src."));
        assert!(!old.is_empty() && old.iter().all(|(name, values)| **values == theirs[*name]));
        assert!(!new.is_empty() && new.iter().all(|(name, _)| name.starts_with("head.")));
        let pipeline = Pipeline::load(&dir).unwrap();
        assert!(pipeline.tokenizers().tgt().vocab_size() < 30);
        assert!(losses(&dir)[0].0 == 0);
    }
}

#[test]
fn models_that_do_not_fit_are_refused() {
    let folder = with_source("n_decoder_layers = 1");
    let mut config = from_source(folder.path(), "");
    config.model.d_ff = 64;
    let out = folder.path().join("tuned");
    let refused = |config: &Config| {
        let error = train(config, &options(&out, Processes::alone()), &mut Silent).unwrap_err();
        assert!(!out.exists());
        error.to_string()
    };
    let other = refused(&config);
    assert!(other.contains("`model.d_ff`: expected 32, as in the model"), "{other}");
    let mut config = from_source(folder.path(), "");
    config.model.freeze = vec!["encode.*".into()];
    assert!(refused(&config).contains("`encode.*`, which matches none"));
}

/// The tensors in a file.
fn names(path: &Path) -> Vec<String> {
    let file = fs::read(path).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&file).unwrap();
    tensors.names().into_iter().map(str::to_owned).collect()
}

#[test]
fn frozen_weights_are_stored_once() {
    let folder = with_source("n_decoder_layers = 1");
    let config = from_source(folder.path(), "freeze = ['encoder.*', 'src.embedding.weight']");
    let dir = folder.path().join("tuned");
    run(&config, &dir, 1, 8);
    let is_frozen = |name: &String| name.starts_with("encoder.") || name == "src.embedding.weight";
    let folders = Run::new(&dir).steps().unwrap().into_iter().map(|step| Run::new(&dir).folder(step));
    let folders: Vec<PathBuf> = folders.chain([dir.clone()]).collect();
    assert!(folders.len() > 2);
    let [all, last] = [weights(&dir), weights_at(&dir, 8)];
    for folder in &folders {
        let [trained, frozen] = [files::WEIGHTS, files::FROZEN].map(|name| names(&folder.join(name)));
        assert!(!trained.iter().any(is_frozen) && frozen.iter().all(is_frozen));
        assert_eq!(trained.len() + frozen.len(), all.len());
        assert_eq!(weights(folder).len(), all.len());
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let inode = |dir: &Path| fs::metadata(dir.join(files::FROZEN)).unwrap().ino();
            assert_eq!(inode(folder), inode(&dir));
        }
    }
    // All ways of reading find both parts.
    let mapped = checkpoint::MappedWeights::open(&dir).unwrap();
    assert_eq!(mapped.len(), all.len());
    for index in 0..mapped.len() {
        assert_eq!(*mapped.values(index), all[mapped.parameter(index).0]);
    }
    let packed = Pipeline::load(&dir).unwrap().parameters();
    assert_eq!(packed.into_iter().map(|one| (one.name, one.values)).collect::<BTreeMap<_, _>>(), all);
    let copy = folder.path().join("copy");
    checkpoint::copy(&dir, &copy).unwrap();
    assert_eq!(weights(&copy), all);
    let mean = folder.path().join("mean");
    let selection = checkpoint::AverageSelection::Last(2);
    checkpoint::average(&dir, &selection, &mean).unwrap();
    assert!(names(&mean.join(files::WEIGHTS)).len() == all.len() && !mean.join(files::FROZEN).exists());

    // What is lost in the run directory comes from the checkpoint; damage in it is found.
    fs::remove_file(dir.join(files::FROZEN)).unwrap();
    assert!(load(&dir).unwrap_err().to_string().contains(files::FROZEN));
    run(&config, &dir, 1, 8);
    assert_eq!(weights(&dir), all);
    let path = Run::new(&dir).folder(8).join(files::FROZEN);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    assert!(load(&Run::new(&dir).folder(8)).unwrap_err().to_string().contains("damaged"));
    let point = Run::new(&dir).resume_point().unwrap().unwrap();
    assert!(point.step < 8 && point.warning.unwrap().contains("damaged"));
    run(&config, &dir, 1, 8);
    assert_eq!(weights_at(&dir, 8), last);
}
