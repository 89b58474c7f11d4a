//! Event files of TensorBoard (`train.tensorboard`).
//!
//! A file is a sequence of records: length, checksum of the length, content, checksum of the content. The
//! content of each is a protocol buffer of the type `Event` (`tensorboard/compat/proto/event.proto`).

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use attentive_base::error::{Error, Result};
use attentive_checkpoint::{atomic, files};

use super::report::{StepReport, ValidationReport};

/// The prefix of the names of event files, before the time at which they were created, in seconds.
const NAME: &str = "events.out.tfevents.";
/// The version of the file format. As of this version, the beginning of a session drops later steps of
/// earlier sessions.
const VERSION: &str = "brain.Event:2";

/// An open event file.
#[derive(Debug)]
pub(super) struct EventFile {
    path: PathBuf,
    file: File,
}

impl EventFile {
    /// Creates a file of the run in the directory `dir`, which continues after update `step`, or starts.
    /// TensorBoard drops the later updates of the files before it.
    pub(super) fn create(dir: &Path, step: Option<u64>) -> Result<Self> {
        let folder = dir.join(files::TENSORBOARD);
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let before = latest(&folder).map_err(Error::io("read", &folder))?;
        // Files are read in the order of their names.
        let created = (now() as u64).max(before.map_or(0, |before| before + 1));
        let path = folder.join(format!("{NAME}{created:010}.attentive"));
        let options = OpenOptions::new().create_new(true).append(true).open(&path);
        let file = options.map_err(Error::io("write", &path))?;
        let mut events = Self { path, file };
        events.write(0, &What::Version)?;
        events.write(step.map_or(0, |step| step + 1), &What::Start)?;
        atomic::sync_folder(&folder).map_err(Error::io("write", &events.path))?;
        Ok(events)
    }

    /// Waits until all events are on disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(Error::io("write", &self.path))
    }

    /// Appends updates.
    pub(super) fn step(&mut self, report: &StepReport) -> Result<()> {
        let of_group = |(name, norm): &(String, f64)| (format!("train/gradient_norm/{name}"), *norm);
        let groups: Vec<(String, f64)> = report.gradient_norms.iter().map(of_group).collect();
        let mut values = vec![
            ("train/loss", report.loss),
            ("train/nll", report.nll),
            ("train/perplexity", report.perplexity),
            ("train/accuracy", report.accuracy),
            ("train/learning_rate", report.learning_rate),
            ("train/gradient_norm", report.gradient_norm),
            ("train/tokens_per_second", report.tokens_per_second),
        ];
        values.extend(report.reference_probability.map(|share| ("train/reference_probability", share)));
        values.extend(groups.iter().map(|(name, norm)| (name.as_str(), *norm)));
        self.write(report.step, &What::Scalars(&values))
    }

    /// Appends a validation.
    pub(super) fn validation(&mut self, report: &ValidationReport) -> Result<()> {
        let mut values = vec![
            ("validation/loss", report.loss),
            ("validation/nll", report.nll),
            ("validation/perplexity", report.perplexity),
            ("validation/accuracy", report.accuracy),
        ];
        for (name, score) in [("validation/bleu", &report.bleu), ("validation/chrf", &report.chrf)] {
            values.extend(score.iter().map(|score| (name, score.value)));
        }
        values.extend(report.script.map(|score| ("validation/script", score)));
        values.extend(report.exact_match.map(|share| ("validation/exact_match", share)));
        self.write(report.step, &What::Scalars(&values))
    }

    /// Appends an event, in one piece.
    fn write(&mut self, step: u64, what: &What<'_>) -> Result<()> {
        let record = record(&event(now(), step, what));
        self.file.write_all(&record).map_err(Error::io("write", &self.path))
    }
}

/// The seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// The time in the name of the latest event file in `folder`.
fn latest(folder: &Path) -> std::io::Result<Option<u64>> {
    let time = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let (time, _) = name.to_str()?.strip_prefix(NAME)?.split_once('.')?;
        time.parse::<u64>().ok()
    };
    Ok(fs::read_dir(folder)?.flatten().filter_map(time).max())
}

/// The content of an event.
enum What<'a> {
    /// The version of the file format.
    Version,
    /// A session starts, or continues after an interruption.
    Start,
    /// Values with their names.
    Scalars(&'a [(&'a str, f64)]),
}

/// Encodes a message `Event`.
fn event(wall_time: f64, step: u64, what: &What<'_>) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    if step > 0 {
        event.varint(2, step);
    }
    match what {
        What::Version => event.bytes(3, VERSION.as_bytes()),
        What::Start => {
            let mut session = Message::default();
            session.varint(1, 1);
            event.bytes(7, &session.0);
        }
        What::Scalars(values) => {
            let mut summary = Message::default();
            for (name, value) in *values {
                let mut one = Message::default();
                one.bytes(1, name.as_bytes());
                one.float(2, *value as f32);
                summary.bytes(1, &one.0);
            }
            event.bytes(5, &summary.0);
        }
    }
    event.0
}

/// A protocol buffer. Each field is a key, made of its number and the type of its value, and the value.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, field: u64, value: u64) {
        self.number(field << 3);
        self.number(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.number(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.number(field << 3 | 2);
        self.number(value.len() as u64);
        self.0.extend(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.number(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    /// Encodes a number as a varint: seven bits per byte, the lowest first; the eighth bit tells that more
    /// bytes follow.
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A record with this content.
fn record(content: &[u8]) -> Vec<u8> {
    let len = (content.len() as u64).to_le_bytes();
    let sum = |bytes: &[u8]| masked(crc32c(bytes)).to_le_bytes();
    [&len[..], &sum(&len), content, &sum(content)].concat()
}

/// A checksum, masked as in records.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The CRC-32 with Castagnoli's polynomial, bit by bit: events are small and rare.
fn crc32c(bytes: &[u8]) -> u32 {
    const REVERSED: u32 = 0x82f6_3b78;
    let divide = |crc: u32| (crc >> 1) ^ if crc & 1 == 1 { REVERSED } else { 0 };
    let crc =
        bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| divide(crc)));
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fixture is written by TensorBoard's own classes: `scripts/fixtures/event_files.py`.
    #[test]
    fn events_have_the_bytes_that_tensorboard_writes() {
        let scalars =
            [("train/loss", 2.5), ("validation/bleu", 0.0), ("größe", -1e-30), ("infinite", f64::INFINITY)];
        let events = [
            (0, What::Version),
            (0, What::Start),
            (1, What::Scalars(&scalars[..1])),
            (300, What::Start),
            (1 << 40, What::Scalars(&scalars)),
        ];
        let events = events.iter().flat_map(|(step, what)| record(&event(1_700_000_000.25, *step, what)));
        let expected = include_bytes!("../../../tests/fixtures/tensorboard.events");
        assert!(events.eq(expected.iter().copied()));
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The check value of CRC-32C (Koopman 2002), and the checksum of no bytes.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn files_of_one_run_are_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for step in [None, Some(10), Some(20)] {
            EventFile::create(folder.path(), step).unwrap();
        }
        let dir = folder.path().join(files::TENSORBOARD);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 3);
        let later = now() as u64 + 1000;
        fs::write(dir.join(format!("{NAME}{later}.other")), "").unwrap();
        let last = EventFile::create(folder.path(), Some(30)).unwrap().path;
        let name = format!("{NAME}{}.attentive", later + 1);
        assert_eq!(last.file_name().unwrap(), name.as_str());
    }
}
