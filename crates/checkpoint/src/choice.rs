//! The checkpoint of a run that a user chooses.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use attentive_base::error::{Error, Result};
use attentive_config::{BestBy, Config};
use serde::Serialize;

use super::Run;

/// A checkpoint of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// The checkpoint of this update.
    Step(u64),
    /// The latest one.
    Last,
    /// The checkpoint with the best validation score, by `train.best_by`.
    Best,
    /// The checkpoint with the best validation score, by this one of `train.keep_best_by`.
    BestBy(BestBy),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(step) => write!(f, "{step}"),
            Self::Last => f.write_str("last"),
            Self::Best => f.write_str("best"),
            Self::BestBy(criterion) => write!(f, "best-{}", criterion.name()),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "last" => Ok(Self::Last),
            "best" => Ok(Self::Best),
            text => {
                let criterion = text.strip_prefix("best-");
                let criterion =
                    criterion.and_then(|name| BestBy::ALL.into_iter().find(|one| one.name() == name));
                criterion.map(Self::BestBy).or_else(|| text.parse().map(Self::Step).ok()).ok_or_else(|| {
                    "expected the number of an update, `last`, `best`, or `best-` and a metric, such as \
                     `best-chrf`"
                        .to_owned()
                })
            }
        }
    }
}

/// The checkpoints of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checkpoints {
    /// The updates of the checkpoints, in order.
    pub steps: Vec<u64>,
    /// The update of the latest checkpoint.
    pub last: Option<u64>,
    /// The update of the checkpoint with the best validation score.
    pub best: Option<u64>,
    /// The same by each of `train.keep_best_by`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub best_by: BTreeMap<BestBy, u64>,
}

impl Checkpoints {
    /// The update of the checkpoint `choice`.
    fn step(&self, choice: Choice) -> Option<u64> {
        match choice {
            Choice::Step(step) => self.steps.contains(&step).then_some(step),
            Choice::Last => self.last,
            Choice::Best => self.best,
            Choice::BestBy(criterion) => self.best_by.get(&criterion).copied(),
        }
    }

    /// The roles of the checkpoint of update `step`.
    fn roles(&self, step: u64) -> Vec<String> {
        let others = self.best_by.keys().copied().map(Choice::BestBy);
        let roles = [Choice::Best].into_iter().chain(others).chain([Choice::Last]);
        roles.filter(|role| self.step(*role) == Some(step)).map(|role| role.to_string()).collect()
    }
}

impl fmt::Display for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &step) in self.steps.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{step}")?;
            let roles = self.roles(step);
            if !roles.is_empty() {
                write!(f, " ({})", roles.join(", "))?;
            }
        }
        Ok(())
    }
}

impl Run {
    /// Lists the checkpoints of the run.
    ///
    /// # Errors
    /// Fails if a folder or pointer cannot be read.
    pub fn checkpoints(&self) -> Result<Checkpoints> {
        let steps = self.steps()?;
        let there = |step: &u64| steps.contains(step);
        Ok(Checkpoints {
            last: self.last()?.filter(there).or(steps.last().copied()),
            best: self.best()?.filter(there),
            best_by: self.best_by()?.into_iter().filter(|(_, step)| there(step)).collect(),
            steps,
        })
    }

    /// Returns the update of the checkpoint `choice`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the run does not have it; the message lists the run's checkpoints. [`Error::Io`]
    /// for a missing directory.
    pub fn step_of(&self, choice: Choice) -> Result<u64> {
        fs::metadata(self.dir()).map_err(Error::io("open model directory", self.dir()))?;
        let dir = self.dir().display();
        let found = self.checkpoints()?;
        if found.steps.is_empty() {
            let is_one = Config::home(self.dir()) != *self.dir();
            return Err(if is_one {
                Error::usage(
                    format!("`{dir}` is a checkpoint itself"),
                    "name the directory of its run, or this folder without choosing a checkpoint",
                )
            } else {
                Error::usage(
                    format!("`{dir}` has no checkpoints"),
                    "name a run that `attentive train` wrote; averaged, quantized and imported models have \
                     none",
                )
            });
        }
        found.step(choice).ok_or_else(|| {
            let asked = match choice {
                Choice::Step(step) => format!("no checkpoint of update {step}"),
                Choice::Last => "no last checkpoint".to_owned(),
                Choice::Best => "no best checkpoint, since nothing was validated".to_owned(),
                Choice::BestBy(by) => {
                    format!("no best checkpoint by `{0}`: `train.keep_best_by` did not name it", by.name())
                }
            };
            Error::usage(
                format!("`{dir}` has {asked}: it has checkpoints of updates {found}"),
                "choose one of these; a run keeps the best one and the last `train.keep_last`",
            )
        })
    }

    /// Returns the folder of the checkpoint `choice`, which can be read like any model directory.
    ///
    /// # Errors
    /// Any error of [`Run::step_of`].
    pub fn choose(&self, choice: Choice) -> Result<PathBuf> {
        self.step_of(choice).map(|step| self.folder(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_named_by_number_or_role() {
        assert_eq!("500".parse(), Ok(Choice::Step(500)));
        assert_eq!("last".parse(), Ok(Choice::Last));
        assert_eq!("best".parse(), Ok(Choice::Best));
        assert_eq!("best-chrf".parse(), Ok(Choice::BestBy(BestBy::Chrf)));
        for text in ["", "Best", "-1", "step-500", "1.5", "best-ter", "best-"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_list_marks_the_best_and_the_last() {
        let mut found =
            Checkpoints { steps: vec![1, 2, 3], last: Some(3), best: Some(2), best_by: BTreeMap::new() };
        assert_eq!(found.to_string(), "1, 2 (best), 3 (last)");
        found.best = Some(3);
        assert_eq!(found.to_string(), "1, 2, 3 (best, last)");
        found.best_by = [(BestBy::Bleu, 1), (BestBy::Chrf, 3)].into();
        assert_eq!(found.to_string(), "1 (best-bleu), 2, 3 (best, best-chrf, last)");
    }
}
