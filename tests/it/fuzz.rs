//! Files of a model directory, damaged at random: each is either read or refused, in bounded RAM and time,
//! without a panic.
//!
//! Every target runs in its own process with a limited address space, so that a huge allocation requested by
//! a damaged file fails the test. Cases are reproducible from their numbers: a failure names the first and
//! the last case of the process, and `ATTENTIVE_FUZZ_FIRST` starts there.

pub(crate) mod mutation;

use std::fs;
use std::path::Path;
use std::process::Command;

use attentive::checkpoint::{self, Choice, Run, SafetensorsFile, TrainingState};
use attentive::checkpoint::{History, Metric};
use attentive::config::Config;
use attentive::pipeline::Pipeline;
use serde_json::Value;

use self::mutation::mutated;
use crate::cli_quantize::quantized;

/// The number of cases of each target.
const CASES: &str = "ATTENTIVE_FUZZ_CASES";
/// The first case.
const FIRST: &str = "ATTENTIVE_FUZZ_FIRST";
/// Set in the child process to the target and the model directory.
const TARGET: &str = "ATTENTIVE_FUZZ_TARGET";
const MODEL: &str = "ATTENTIVE_FUZZ_MODEL";

const USUAL_CASES: u64 = 150;
const MAX_KILOBYTES: u64 = 1_500_000;
const MAX_SECONDS: u64 = 600;

/// Reads a file of a model directory.
type Target = dyn Fn(&Path);

/// The damaged files and their readers. A result and an error are equally correct.
const TARGETS: [(&str, &Target); 10] = [
    ("config.toml", &|dir| {
        let text = fs::read(dir.join("config.toml")).unwrap();
        let text = String::from_utf8_lossy(&text);
        if let Ok(config) = Config::parse(&text, Path::new("config.toml"), &[]) {
            let again = Config::parse(&config.to_toml(), Path::new("again"), &[]);
            assert_eq!(again.unwrap(), config);
        }
        let _ = checkpoint::describe(dir);
        let _ = checkpoint::load(dir);
    }),
    ("tokenizer.json", &|dir| {
        if let Ok((_, tokenizers)) = checkpoint::load_recipe(dir) {
            let _ = tokenizers.src().encode("1 2 3 \u{0} x");
        }
    }),
    ("model.safetensors", &|dir| {
        let _ = checkpoint::load(dir);
    }),
    ("small/packed.safetensors", &|dir| {
        let dir = dir.join("small");
        decode(&dir);
        // A wrong checksum refuses most cases before any other check.
        let path = dir.join("packed.safetensors");
        let mut bytes = fs::read(&path).unwrap();
        if with_right_checksum(&mut bytes) {
            fs::write(&path, bytes).unwrap();
            decode(&dir);
        }
    }),
    ("provenance.json", &|dir| {
        let _ = checkpoint::load(dir);
    }),
    ("metrics.jsonl", &|dir| {
        if let Ok(history) = History::read(dir) {
            let _ = history.training(history.last_step());
            let _ = history.updates(Metric::Loss);
            let _ = history.validations(Metric::Bleu);
        }
    }),
    ("checkpoints/last", &|dir| {
        let run = Run::new(dir);
        let _ = (run.resume_point(), run.steps());
    }),
    ("checkpoints/step-00000006/state.json", &|dir| {
        let run = Run::new(dir);
        let _ = run.state::<Value>(6).map(|_: TrainingState<Value>| ());
        run.resume_point().unwrap();
    }),
    ("checkpoints/step-00000006/optimizer.safetensors", &|dir| {
        let run = Run::new(dir);
        let _ = run.optimizer(6, &[("moment".into(), vec![3, 5])]);
        run.resume_point().unwrap();
    }),
    ("checkpoints/step-00000006/provenance.json", &|dir| {
        let run = Run::new(dir);
        run.resume_point().unwrap();
        let _ = run.mend(&[(Choice::Best, 6)].into(), 6);
    }),
];

/// Loads a model directory and translates a sentence.
fn decode(dir: &Path) {
    if let Ok(pipeline) = Pipeline::load(dir) {
        let _ = pipeline.translate(&["1 2 3"]);
    }
}

/// Corrects the checksum in the header of a packed file; false if it has none.
fn with_right_checksum(bytes: &mut [u8]) -> bool {
    const FORMAT: &[u8] = b"attentive packed 1 ";
    const DIGITS: usize = 8;
    let Some((length, rest)) = bytes.split_at_mut_checked(8) else {
        return false;
    };
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let Some((header, numbers)) = rest.split_at_mut_checked(length) else {
        return false;
    };
    let found = header.windows(FORMAT.len()).position(|part| part == FORMAT);
    let digits = found.and_then(|place| header.get_mut(place + FORMAT.len()..)?.get_mut(..DIGITS));
    let checksum = format!("{:08x}", crc32fast::hash(numbers));
    digits.map(|digits| digits.copy_from_slice(checksum.as_bytes())).is_some()
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |number| number.parse().unwrap())
}

#[test]
fn damaged_files_are_read_or_refused() {
    let folder = quantized();
    let dir = folder.path("runs/c");
    fs::rename(folder.path("small"), dir.join("small")).unwrap();
    // Checksums would refuse nearly all cases before any other check.
    for provenance in ["", "checkpoints/step-00000006"] {
        let path = dir.join(provenance).join("provenance.json");
        let mut value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        value.as_object_mut().unwrap().remove("sha256");
        fs::write(&path, value.to_string()).unwrap();
    }
    let program = std::env::current_exe().unwrap();
    for (target, _) in TARGETS {
        let limits = format!("ulimit -v {MAX_KILOBYTES} -t {MAX_SECONDS}");
        let script = format!("{limits}; exec '{}' --exact fuzz::one_target", program.display());
        let output = Command::new("bash")
            .args(["-c", &script])
            .env(TARGET, target)
            .env(MODEL, &dir)
            .env("RAYON_NUM_THREADS", "2")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{target}: {output:?}");
        assert!(text.contains("1 passed"), "{target}: {text}");
    }
}

/// Does nothing unless [`damaged_files_are_read_or_refused`] started this process.
#[test]
fn one_target() {
    let Ok(target) = std::env::var(TARGET) else {
        return;
    };
    let dir = std::path::PathBuf::from(std::env::var_os(MODEL).unwrap());
    let (file, read) = TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let path = dir.join(file);
    let whole = fs::read(&path).unwrap();
    read(&dir);
    let first = number(FIRST, 0);
    for case in first..first + number(CASES, USUAL_CASES) {
        // The last line of a process that dies silently.
        eprintln!("{target}: case {case}");
        fs::write(&path, mutated(&whole, case)).unwrap();
        read(&dir);
    }
    fs::write(&path, whole).unwrap();
}

#[test]
fn headers_that_exceed_the_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let length = |n: u64| n.to_le_bytes().to_vec();
    let huge = br#"{"a":{"dtype":"F32","shape":[250000000000],"data_offsets":[0,1000000000000]}}"#;
    for bytes in [
        length(u64::MAX),
        length(1 << 40),
        length(90_000_000),
        [length(huge.len() as u64), huge.to_vec()].concat(),
        [length(2), b"{}surplus".to_vec()].concat(),
    ] {
        fs::write(&path, bytes).unwrap();
        let error = SafetensorsFile::open(&path, None).unwrap_err().to_string();
        assert!(error.contains("not a complete safetensors file"), "{error}");
    }
}
