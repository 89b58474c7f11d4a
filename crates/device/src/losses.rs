//! Sums of losses, which a device may not have computed yet.

use std::sync::Arc;

use attentive_kernels::cross_entropy::LossSums;

use crate::{Buffer, current};

/// The sums of [`Device::cross_entropy`](crate::Device::cross_entropy).
#[derive(Clone, Debug)]
pub enum Losses {
    /// They are known.
    Known(LossSums),
    /// The device has yet to compute them; reading them waits for it.
    Pending(Arc<RowLosses>),
}

/// The numbers from which the sums are computed, for the rows with targets.
#[derive(Debug)]
pub struct RowLosses {
    /// `[_, NUMBERS]`: for each row, the logit of the target and the sum of all logits, both less the largest
    /// logit, the sum of the exponentials of all logits less the largest, and 1 if the first of the largest
    /// logits is that of the target.
    pub rows: Vec<Buffer>,
    /// The number of classes.
    pub vocab: usize,
    pub label_smoothing: f32,
    /// The factors of the losses, for the rows with targets; `None` for 1.
    pub weights: Option<Vec<f32>>,
}

impl Losses {
    /// Returns the number of targets, for which nothing waits.
    pub fn n_tokens(&self) -> usize {
        match self {
            Self::Known(sums) => sums.n_tokens,
            Self::Pending(pending) => pending.n_tokens(),
        }
    }

    /// Returns the sums, for which the host waits.
    pub fn sums(&self) -> LossSums {
        let [sums] = Self::all([self])[..] else { unreachable!("as many sums as losses") };
        sums
    }

    /// Returns the sums of each, for which the host waits once.
    pub fn all<'a>(losses: impl IntoIterator<Item = &'a Self>) -> Vec<LossSums> {
        let losses = Vec::from_iter(losses);
        let buffers: Vec<&Buffer> = losses.iter().flat_map(|losses| losses.buffers()).collect();
        let mut found =
            if buffers.is_empty() { Vec::new() } else { current().download_all(&buffers) }.into_iter();
        let sums = |losses: &&Self| losses.finished(&mut found);
        losses.iter().map(sums).collect()
    }

    /// What the host has to read for [`Losses::finished`].
    pub fn buffers(&self) -> &[Buffer] {
        match self {
            Self::Known(_) => &[],
            Self::Pending(pending) => &pending.rows,
        }
    }

    /// Returns the sums, given the elements of each of [`Losses::buffers`], which are taken from `found`.
    ///
    /// # Panics
    /// If there are too few.
    pub fn finished(&self, found: &mut impl Iterator<Item = Vec<f32>>) -> LossSums {
        match self {
            Self::Known(sums) => *sums,
            Self::Pending(pending) => {
                let found: Vec<Vec<f32>> = found.take(pending.rows.len()).collect();
                assert_eq!(found.len(), pending.rows.len(), "the losses of all rows");
                pending.sums(&found.concat())
            }
        }
    }
}

impl RowLosses {
    /// Returns the number of rows whose logits a device holds at a time: as many as fill 64 MiB, at least
    /// one. `vocab` is the number of classes.
    pub fn rows_at_once(vocab: usize) -> usize {
        ((1 << 24) / vocab.max(1)).max(1)
    }

    /// The numbers of each row.
    pub const NUMBERS: usize = 4;

    /// Returns the number of rows.
    pub fn n_tokens(&self) -> usize {
        self.rows.iter().map(|rows| rows.len() / Self::NUMBERS).sum()
    }

    /// Returns −log P(target) without smoothing for each row, for which the host waits. NaN or infinite where
    /// the target is impossible or logits are NaN.
    pub fn nll(&self) -> Vec<f64> {
        let buffers: Vec<&Buffer> = self.rows.iter().collect();
        let found = current().download_all(&buffers).concat();
        let rows = found.chunks_exact(Self::NUMBERS).map(RowLoss::of);
        rows.map(|row| row.nll()).collect()
    }

    /// The sums over all rows, in double precision.
    fn sums(&self, found: &[f32]) -> LossSums {
        let share = f64::from(self.label_smoothing / self.vocab as f32);
        let keep = 1.0 - f64::from(self.label_smoothing);
        let mut sums = LossSums::default();
        for (number, row) in found.chunks_exact(Self::NUMBERS).map(RowLoss::of).enumerate() {
            let mut loss = row.log_sum - keep * row.at_target;
            if self.label_smoothing != 0.0 {
                loss -= share * row.total;
            }
            sums.loss += self.weights.as_ref().map_or(1.0, |weights| weights[number].into()) * loss;
            sums.nll += row.nll();
            sums.n_tokens += 1;
            sums.n_correct += usize::from(row.is_correct);
        }
        sums
    }
}

/// A row in double precision.
struct RowLoss {
    at_target: f64,
    total: f64,
    log_sum: f64,
    is_correct: bool,
}

impl RowLoss {
    fn of(numbers: &[f32]) -> Self {
        let [at_target, total, exponentials, is_correct] = [0, 1, 2, 3].map(|i| numbers[i]);
        Self {
            at_target: at_target.into(),
            total: total.into(),
            log_sum: f64::from(exponentials).ln(),
            is_correct: is_correct == 1.0,
        }
    }

    fn nll(&self) -> f64 {
        self.log_sum - self.at_target
    }
}
