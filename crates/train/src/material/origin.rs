//! The origin of a run's data, and checks that all processes and a resumed run read the same data.

use std::path::Path;

use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_checkpoint::{DataFile, Provenance};
use attentive_config::{Config, CorpusSource};
use attentive_data::{Corpus, SourceFile};
use attentive_processes::Processes;

use super::RunContext;

/// The provenance of a model that is trained on these data.
pub(super) fn provenance(
    config: &Config,
    context: RunContext<'_>,
    train: &[SourceFile],
    valid: Option<&Corpus>,
) -> Provenance {
    let files_of = |role: &str, files: &[SourceFile], source: &CorpusSource| -> Vec<DataFile> {
        let parts = source.parts().into_iter();
        let builtin = parts.filter_map(|(part, _)| match part {
            CorpusSource::Builtin { task, .. } => Some(DataFile {
                role: role.into(),
                path: format!("builtin:{task:?}").to_lowercase(),
                sha256: String::new(),
                bytes: 0,
            }),
            _ => None,
        });
        let read = files.iter().map(|file| DataFile {
            role: role.into(),
            path: file.path.display().to_string(),
            sha256: file.sha256.clone(),
            bytes: file.bytes,
        });
        builtin.chain(read).collect()
    };
    let corpora = [
        ("train", Some(train), &config.data.train),
        ("valid", valid.map(Corpus::sources), &config.data.valid),
    ];
    let data = corpora
        .into_iter()
        .filter_map(|(role, files, source)| Some(files_of(role, files?, source.as_ref()?)))
        .flatten()
        .collect();
    Provenance {
        program: Provenance::this_program(),
        seed: config.seed,
        from: context.origin(),
        numbers: context.numbers(),
        data,
        ..Provenance::default()
    }
}

/// Requires that all processes read the same data as the first one.
pub(super) fn check_same_everywhere(processes: &Processes, ours: &Provenance) -> Result<()> {
    let said = serde_json::to_vec(&ours.data).unwrap_or_default();
    let said = processes.gather("the training data were compared", &said);
    let first: Vec<DataFile> = serde_json::from_slice(&said[0]).unwrap_or_default();
    if first.len() != ours.data.len() {
        return Err(Error::data(
            format!("there are {} of data, and {} in process 0", count(ours.data.len(), "file"), first.len()),
            "copy the data of process 0 to all machines",
        ));
    }
    let differs = |(first, ours): &(&DataFile, &DataFile)| first.sha256 != ours.sha256;
    match first.iter().zip(&ours.data).find(differs) {
        Some((first, ours)) => Err(Error::data(
            format!(
                "`{}` differs from `{}` in process 0: {} and {} bytes, with other SHA-256 sums",
                ours.path, first.path, ours.bytes, first.bytes
            ),
            "copy the data of process 0 to all machines",
        )),
        None => Ok(()),
    }
}

fn restore(what: &str, dir: &Path) -> String {
    format!(
        "restore {what}; to train the model further with other data, start a new run with `model.from=\"{}\"` and \
         another `RunOptions::out`",
        dir.display()
    )
}

/// Requires that a resumed run reads the same data as before.
pub(super) fn check_same_data(dir: &Path, before: &Provenance, now: &Provenance) -> Result<()> {
    let trained_on = |provenance: &Provenance| -> Vec<(String, String)> {
        let train = provenance.data.iter().filter(|file| file.role == "train");
        train.map(|file| (file.sha256.clone(), file.path.clone())).collect()
    };
    let (before, now) = (trained_on(before), trained_on(now));
    if before.len() != now.len() {
        return Err(Error::data(
            format!(
                "the run in `{}` started with {} of training data, and now there are {}",
                dir.display(),
                count(before.len(), "file"),
                now.len()
            ),
            restore("them", dir),
        ));
    }
    match before.iter().zip(&now).find(|(before, now)| before.0 != now.0) {
        Some((_, (_, path))) => Err(Error::data(
            format!("`{path}` has changed since the run in `{}` started", dir.display()),
            restore("the file", dir),
        )),
        None => Ok(()),
    }
}
