//! Tests that damaged files of every format are refused or read, but cause neither a panic nor much use of
//! RAM.
//!
//! `ATTENTIVE_MUTATIONS` sets the number of mutated files of each format, and turns on the check of RAM.
//! Other tests in the same process use RAM, too, so the test must then run alone. The default number is
//! small. `ATTENTIVE_MUTATIONS_OF` limits the formats to those whose name contains this text.

mod damage;
mod models;
mod pieces;
pub(super) mod writers;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attentive_base::platform::peak_ram;
use attentive_base::random::Random;

use self::damage::mutated;
use self::models::{MODELS, Model};
use super::*;

/// The number of mutated files of each format.
const EACH: usize = 40;
/// The longest time that one import may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The RAM that all imports together may need, in bytes.
const MEMORY: u64 = 200 << 20;
/// The number of formats that are tried at the same time.
const THREADS: usize = 2;

#[test]
fn damaged_files_cause_neither_panics_nor_much_memory() {
    let wanted = std::env::var("ATTENTIVE_MUTATIONS").ok();
    let wanted = wanted.and_then(|wanted| wanted.parse::<usize>().ok());
    let each = wanted.unwrap_or(EACH);
    let before = peak_ram(None).unwrap_or(0);
    let part = std::env::var("ATTENTIVE_MUTATIONS_OF").unwrap_or_default();
    let mut formats: Vec<(&Model, &str)> =
        MODELS.iter().flat_map(|model| model.files.iter().map(move |&file| (model, file))).collect();
    formats.retain(|(model, file)| format!("{}, `{file}`", model.name).contains(&part));
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let formats = numbers.map_while(|number| Some((number, *formats.get(number)?)));
        for (number, (model, file)) in formats {
            let start = Instant::now();
            let read = damage_many(model, file, each, number);
            let format = format!("{}, `{file}`", model.name);
            let used = peak_ram(None).unwrap_or(0).saturating_sub(before);
            assert!(wanted.is_none() || used < MEMORY, "{format}: {used} bytes");
            println!("{format}: {read} of {each} read, {:.0?}, {} MB", start.elapsed(), used >> 20);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        }
    });
}

/// Imports `model` with `each` versions of `file`, the format `number`, and returns how many of them were
/// read.
fn damage_many(model: &Model, file: &str, each: usize, number: usize) -> usize {
    let format = format!("{}, `{file}`", model.name);
    let folder = tempfile::tempdir().unwrap();
    (model.make)(model.name, folder.path());
    let out = folder.path().join("out");
    let import = || -> Result<()> {
        open(folder.path())?.write(&out)?;
        fs::remove_dir_all(&out).unwrap();
        Ok(())
    };
    import().unwrap_or_else(|error| panic!("{format}: the undamaged model: {error}"));
    let path = folder.path().join(file);
    let original = fs::read(&path).unwrap();
    let mut random = Random::new(20_261_122, number as u64);
    let mut read = 0;
    for mutation in 0..each {
        fs::write(&path, mutated(file, &original, &mut random)).unwrap();
        let start = Instant::now();
        let Ok(found) = panic::catch_unwind(AssertUnwindSafe(import)) else {
            panic!("{format}: panic for mutation {mutation}");
        };
        read += usize::from(found.is_ok());
        let time = start.elapsed();
        assert!(time < PATIENCE, "{format}: {time:?} for mutation {mutation}");
    }
    read
}
