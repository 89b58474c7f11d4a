//! How the outputs of a sentence are chosen.

use attentive_base::error::{Error, Result};
use attentive_config::{EarlyStopping, MAX_BEAM_WIDTH};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::Sampling;

/// The choice of the outputs of a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// The likeliest token at each step, until the first `</s>`: one output.
    Greedy {
        /// True if the probabilities of tokens are computed. Otherwise all scores are 0, unless an option of
        /// the search needs the probabilities anyway.
        scored: bool,
    },
    /// Beam search for the best outputs.
    Beam {
        /// The number of hypotheses that are kept at each step, at least 2.
        width: usize,
        /// The number of hypotheses to return, at most `width`.
        n_best: usize,
        /// The condition under which the search ends.
        early_stopping: EarlyStopping,
    },
    /// Independent random outputs.
    Sample {
        /// The distribution from which tokens are drawn.
        sampling: Sampling,
        /// The number of outputs.
        count: usize,
    },
}

impl Strategy {
    /// Greedy search with scores.
    pub const GREEDY: Self = Self::Greedy { scored: true };

    /// Returns a search with a beam of `width` hypotheses for the `n_best` best ones. A beam of width 1 is
    /// greedy search.
    pub const fn beam(width: usize, n_best: usize, early_stopping: EarlyStopping) -> Self {
        match (width, n_best) {
            (1, 1) => Self::GREEDY,
            _ => Self::Beam { width, n_best, early_stopping },
        }
    }

    /// Returns the number of rows that a sentence may take: the hypotheses that are kept at each step.
    pub const fn rows(self) -> usize {
        match self {
            Self::Greedy { .. } => 1,
            Self::Beam { width, .. } => width,
            Self::Sample { count, .. } => count,
        }
    }

    /// Returns the number of outputs.
    pub const fn n_best(self) -> usize {
        match self {
            Self::Greedy { .. } => 1,
            Self::Beam { n_best, .. } => n_best,
            Self::Sample { count, .. } => count,
        }
    }

    /// True if outputs are random.
    pub const fn samples(self) -> bool {
        matches!(self, Self::Sample { .. })
    }

    /// Returns this strategy without scores that only a reader of the outputs needs.
    #[must_use]
    pub const fn unscored(self) -> Self {
        match self {
            Self::Greedy { .. } => Self::Greedy { scored: false },
            _ => self,
        }
    }

    /// Returns this strategy for all hypotheses that a search for more than one keeps. Further hypotheses
    /// replace those that spell the same text as a better one.
    #[must_use]
    pub const fn all_candidates(self) -> Self {
        match self {
            Self::Beam { width, n_best, early_stopping } if n_best > 1 => {
                Self::Beam { width, n_best: width, early_stopping }
            }
            _ => self,
        }
    }

    /// True if a search goes on until no unfinished hypothesis can overtake the best finished ones. Finished
    /// hypotheses then come before those that were cut off, whatever their scores.
    pub(super) const fn is_exact(self) -> bool {
        !matches!(self, Self::Beam { early_stopping: EarlyStopping::Heuristic | EarlyStopping::Always, .. })
    }

    /// Number of finished hypotheses that a search keeps.
    pub(super) const fn n_finished(self) -> usize {
        if self.is_exact() { self.n_best() } else { self.rows() }
    }

    /// Refuses invalid values.
    ///
    /// # Errors
    /// [`Error::Usage`] for a beam width or a number of outputs out of range; any error of
    /// [`Sampling::check`].
    pub fn check(self) -> Result<()> {
        match self {
            Self::Greedy { .. } => Ok(()),
            Self::Beam { width, n_best, .. } => check_beam(width, n_best),
            Self::Sample { sampling, count } => {
                sampling.check()?;
                if (1..=MAX_BEAM_WIDTH).contains(&count) {
                    return Ok(());
                }
                Err(Error::usage(
                    format!("cannot draw {count} samples of a sentence"),
                    format!("`Strategy::Sample::count` is between 1 and {MAX_BEAM_WIDTH}"),
                ))
            }
        }
    }
}

fn check_beam(width: usize, n_best: usize) -> Result<()> {
    if width == 0 {
        return Err(Error::usage("the beam width is 0", "use at least 1, which is greedy search"));
    }
    if width > MAX_BEAM_WIDTH {
        return Err(Error::usage(
            format!("a beam width of {width} is too large"),
            format!("the maximum is {MAX_BEAM_WIDTH}; widths above 10 rarely help"),
        ));
    }
    if n_best == 0 || n_best > width {
        return Err(Error::usage(
            format!("cannot return the {n_best} best hypotheses of a beam of width {width}"),
            "`Strategy::Beam::n_best` is between 1 and the beam width: widen the beam with \
             `Strategy::Beam::width`",
        ));
    }
    if width == 1 {
        return Err(Error::usage(
            "a beam of width 1 is greedy search",
            "use `Strategy::Greedy`, or make the strategy with `Strategy::beam`",
        ));
    }
    Ok(())
}

/// A strategy is written with the keys of the configuration, among the other options of its search.
impl Serialize for Strategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_struct("Strategy", 3)?;
        match self {
            Self::Greedy { .. } => keys.serialize_field("beam_width", &1)?,
            Self::Beam { width, .. } => keys.serialize_field("beam_width", width)?,
            Self::Sample { sampling, .. } => keys.serialize_field("sampling", sampling)?,
        }
        keys.serialize_field("n_best", &self.n_best())?;
        if let Self::Beam { early_stopping, .. } = self
            && *early_stopping != EarlyStopping::Never
        {
            keys.serialize_field("early_stopping", early_stopping)?;
        }
        keys.end()
    }
}
