//! `metrics.jsonl`: updates and validations, one JSON object per line.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_checkpoint::{atomic, files};
use serde::{Deserialize, Serialize};

use super::report::{StepReport, ValidationReport};

/// The open log file.
#[derive(Debug)]
pub(super) struct MetricsLog {
    path: PathBuf,
    file: File,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Step(&'a StepReport),
    Validation(&'a ValidationReport),
}

#[derive(Deserialize)]
struct Numbered {
    step: u64,
}

impl MetricsLog {
    /// Opens the log of the run directory `dir` to continue after the checkpoint of update `step`, or from
    /// the beginning without one. Later entries of an interrupted run are dropped, since those updates will
    /// be repeated.
    pub(super) fn open(dir: &Path, step: Option<u64>) -> Result<Self> {
        let path = dir.join(files::METRICS);
        if path.exists() {
            // A killed run may have left an incomplete line, even an incomplete character.
            let text = regular_file::read_whole(&path).map_err(Error::io("read", &path))?;
            let text = String::from_utf8_lossy(&text);
            let is_kept = |line: &&str| {
                line.ends_with('\n')
                    && serde_json::from_str::<Numbered>(line).is_ok_and(|line| Some(line.step) <= step)
            };
            let kept: String = text.split_inclusive('\n').filter(is_kept).collect();
            if kept != text {
                atomic::write_file(&path, kept.as_bytes())?;
            }
        }
        let file =
            OpenOptions::new().create(true).append(true).open(&path).map_err(Error::io("write", &path))?;
        atomic::sync_folder(dir).map_err(Error::io("write", &path))?;
        Ok(Self { path, file })
    }

    /// Waits until all lines are on disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(Error::io("write", &self.path))
    }

    /// Appends an update.
    pub(super) fn step(&mut self, report: &StepReport) -> Result<()> {
        self.write(&Line::Step(report))
    }

    /// Appends a validation.
    pub(super) fn validation(&mut self, report: &ValidationReport) -> Result<()> {
        self.write(&Line::Validation(report))
    }

    fn write(&mut self, line: &Line<'_>) -> Result<()> {
        let text = serde_json::to_string(line).map_err(|error| Error::Data {
            problem: format!("a metric cannot be written as JSON: {error}"),
            hint: None,
        })?;
        let line = text + "\n";
        self.file.write_all(line.as_bytes()).map_err(Error::io("write", &self.path))
    }
}
