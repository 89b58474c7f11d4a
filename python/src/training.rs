//! Training.

use std::path::{Path, PathBuf};

use attentive::Error;
use attentive::config::{Config, ConfigDraft};
use attentive::data::DataKind;
use attentive::error::Result;
use attentive::interrupt::Interrupt;
use attentive::processes::Processes;
use attentive::train::report::{Event, Observer};
use attentive::train::{Existing, InMemoryCorpora, RunOptions, train_on};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Serialize;

use crate::choice::unknown;
use crate::corpus::CorpusLines;
use crate::errors::{exception, in_python};
use crate::json::json;
use crate::threads::ThreadCount;
use crate::work::{SIGINT, stoppable};

/// Trains as the configuration file `path` says, or the defaults, with `overrides`. The methods `on_step` and
/// `on_event` of `watcher` are called for each update and for each event, as JSON; its first exception ends
/// the training, after a checkpoint was saved. Returns the summary as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the options of Python")]
pub(crate) fn train(
    py: Python<'_>,
    path: Option<PathBuf>,
    mut overrides: Vec<String>,
    train_data: Option<CorpusLines>,
    valid_data: Option<CorpusLines>,
    out: PathBuf,
    existing: &str,
    threads: Option<usize>,
    watcher: Py<PyAny>,
) -> PyResult<String> {
    for (name, lines) in [("train", &train_data), ("valid", &valid_data)] {
        if let Some(lines) = lines {
            overrides.push(format!("data.{name}={{ in_memory = {} }}", lines.len()));
        }
    }
    let prepared = || {
        let existing = policy(existing)?;
        let resumed = (existing == Existing::Resume).then_some(out.as_path());
        let config = config(path.as_deref(), &overrides, resumed)?;
        Ok((existing, config, ThreadCount::new(threads)?))
    };
    let (existing, config, threads) = prepared().map_err(|error| exception(py, &error))?;
    let interrupt = Interrupt::none();
    let mut observer = Watcher { watcher: &watcher, interrupt: &interrupt, failed: None };
    let (outcome, raised) = stoppable(py, threads, &interrupt, || {
        let items = |lines: Option<CorpusLines>| {
            let items = lines.map(|lines| lines.items(DataKind::of(&config)));
            items.transpose().map(Option::unwrap_or_default)
        };
        let given = InMemoryCorpora { train: items(train_data)?, valid: items(valid_data)? };
        let options =
            RunOptions { out, existing, interrupt: interrupt.clone(), processes: Processes::alone() };
        train_on(&config, given, &options, &mut observer)
    });
    match (outcome, observer.failed.or(raised)) {
        (Ok(summary), None) => Ok(json(&summary)),
        (Err(error), None) => Err(exception(py, &error)),
        (Err(saved @ Error::Interrupted { .. }), Some(raised))
            if raised.is_instance_of::<PyKeyboardInterrupt>(py) =>
        {
            let explained = PyKeyboardInterrupt::new_err(in_python(saved.to_string()));
            explained.set_cause(py, Some(raised));
            Err(explained)
        }
        (_, Some(raised)) => Err(raised),
    }
}

/// The policy for an existing run directory that is called `name`.
fn policy(name: &str) -> Result<Existing> {
    match name {
        "refuse" => Ok(Existing::Refuse),
        "resume" => Ok(Existing::Resume),
        "overwrite" => Ok(Existing::Force),
        _ => Err(unknown("existing", name, &["refuse", "resume", "overwrite"])),
    }
}

/// The configuration in the file `path`, or the defaults, with `overrides`, for a run that is `resumed` if
/// given.
fn config(path: Option<&Path>, overrides: &[String], resumed: Option<&Path>) -> Result<Config> {
    let draft = match path {
        Some(path) => ConfigDraft::load(path, overrides),
        None => ConfigDraft::parse("", Path::new("config"), overrides),
    }?;
    let known = draft.known(resumed)?;
    draft.resolve(&known)
}

/// Passes on the events of a run.
struct Watcher<'a> {
    watcher: &'a Py<PyAny>,
    interrupt: &'a Interrupt,
    /// The first exception of the watcher.
    failed: Option<PyErr>,
}

impl Watcher<'_> {
    /// Calls the method `name` of the watcher, unless it has failed before.
    fn call(&mut self, call: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<Py<PyAny>>) {
        if self.failed.is_some() {
            return;
        }
        if let Err(failed) = Python::attach(|py| call(py, self.watcher).map(drop)) {
            self.failed = Some(failed);
            self.interrupt.request(SIGINT);
        }
    }

    fn tell(&mut self, kind: &str, report: &impl Serialize) {
        let report = json(report);
        self.call(|py, watcher| watcher.call_method1(py, "on_event", (kind, report)));
    }
}

impl Observer for Watcher<'_> {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(note) => self.tell("note", &in_python((*note).to_owned())),
            Event::Warning(warning) => self.tell("warning", &in_python((*warning).to_owned())),
            Event::Preparing(_) => {}
            Event::Start(report) => self.tell("start", report),
            Event::Step { logged, .. } => {
                self.call(|py, watcher| watcher.call_method0(py, "on_step"));
                if let Some(report) = logged {
                    self.tell("log", report);
                }
            }
            Event::Validation(report) => self.tell("validation", report),
            Event::Saved { path, step } => self.tell("checkpoint", &Checkpoint { path, step: *step }),
            Event::Averaged { steps, validation } => {
                self.tell("average", &Average { steps, validation: *validation });
            }
        }
    }
}

/// A checkpoint that was written.
#[derive(Serialize)]
struct Checkpoint<'a> {
    path: &'a Path,
    step: u64,
}

/// The final average of checkpoints.
#[derive(Serialize)]
struct Average<'a> {
    steps: &'a [u64],
    validation: Option<&'a attentive::train::report::ValidationReport>,
}
