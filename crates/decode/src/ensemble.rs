//! Several models that predict together.

use attentive_base::batch::{Padded, TokenId};
use attentive_kernels::threads::Threads;

use crate::{Logits, NextToken, Stepper, likeliest, total};

/// Several models with the same vocabularies, used as one: the probability of a token is the average of the probabilities that
/// the models give it. They may have different architectures.
#[derive(Clone, Debug)]
pub struct Ensemble<'a, S>(Vec<&'a S>);

impl<'a, S> Ensemble<'a, S> {
    /// Creates the ensemble of `members`.
    ///
    /// # Panics
    /// Panics if there are no members.
    pub fn new(members: Vec<&'a S>) -> Self {
        assert!(!members.is_empty(), "an ensemble has members");
        Self(members)
    }
}

impl<S: Stepper> Stepper for Ensemble<'_, S> {
    type State = Vec<S::State>;
    type Last = Vec<S::Last>;

    fn start(&self) -> Self::State {
        self.0.iter().map(|member| member.start()).collect()
    }

    fn start_watched(&self) -> Option<Self::State> {
        let members = self.0.iter();
        members.map(|member| member.start_watched()).collect()
    }

    fn admit(&self, src: &Padded, state: &mut Self::State) {
        for (member, state) in self.0.iter().zip(state) {
            member.admit(src, state);
        }
    }

    fn step(&self, next: &[TokenId], state: &mut Self::State) -> Self::Last {
        let members = self.0.iter().zip(state);
        members
            .map(|(member, state)| member.step(next, state))
            .collect()
    }

    fn read(&self, tokens: &Padded, state: &mut Self::State) -> Self::Last {
        let members = self.0.iter().zip(state);
        members
            .map(|(member, state)| member.read(tokens, state))
            .collect()
    }

    fn select(&self, rows: &[usize], state: &mut Self::State) {
        for (member, state) in self.0.iter().zip(state) {
            member.select(rows, state);
        }
    }

    fn likeliest(&self, last: Self::Last, count: usize, never: &[TokenId]) -> Vec<Vec<NextToken>> {
        likeliest(self.logits(last), count, never)
    }

    /// Returns the logarithms of the average probabilities.
    fn logits(&self, last: Self::Last) -> Logits {
        let members = self.0.iter().zip(last);
        let logits: Vec<Logits> = members.map(|(member, last)| member.logits(last)).collect();
        mean(&logits)
    }

    /// Returns the average of the members' attention weights.
    fn cross_attention(&self, state: &Self::State) -> Vec<Vec<f32>> {
        let members = self.0.iter().zip(state);
        let each = members.map(|(member, state)| member.cross_attention(state));
        let count = self.0.len() as f32;
        let add = |mut sums: Vec<Vec<f32>>, rows: Vec<Vec<f32>>| {
            let pairs = sums.iter_mut().flatten().zip(rows.iter().flatten());
            pairs.for_each(|(sum, weight)| *sum += weight);
            sums
        };
        let mut sums = each.reduce(add).unwrap_or_default();
        sums.iter_mut().flatten().for_each(|sum| *sum /= count);
        sums
    }

    fn max_len(&self) -> usize {
        let lens = self.0.iter().map(|member| member.max_len());
        lens.min().expect("an ensemble has members")
    }
}

/// Returns the logarithms of the average of the members' probabilities; NaN in rows where a member's logits are all NaN.
fn mean(members: &[Logits]) -> Logits {
    let vocab = members[0].vocab();
    let mut values = vec![0.0; members[0].values().len()];
    let rows = values.chunks_mut(vocab).enumerate();
    Threads::current().for_each(rows, |(number, row)| {
        let rows = (members.iter()).map(|member| &member.values()[number * vocab..][..vocab]);
        let all = rows.map(|logits| Some((logits, total(logits)?)));
        let Some(all) = all.collect::<Option<Vec<_>>>() else {
            row.fill(f32::NAN);
            return;
        };
        for (token, value) in row.iter_mut().enumerate() {
            let probabilities = all.iter().map(|(logits, total)| {
                let log_prob = f64::from(logits[token]) - total;
                log_prob.min(0.0).exp()
            });
            let mean = probabilities.sum::<f64>() / members.len() as f64;
            *value = mean.ln() as f32;
        }
    });
    Logits::new(values, vocab)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_averaged() {
        // Probabilities 1/4, 3/4 and 1/2, 1/2; the second row of one member is NaN.
        let one = Logits::new(vec![5.0, 5.0 + 3f32.ln(), f32::NAN, f32::NAN], 2);
        let two = Logits::new(vec![-1.0, -1.0, 0.0, 0.0], 2);
        let mean = mean(&[one, two]);
        let expected = [0.375f32, 0.625];
        for (value, expected) in mean.values().iter().zip(expected) {
            assert!((value.exp() - expected).abs() < 1e-6, "{mean:?}");
        }
        assert!(mean.values()[2..].iter().all(|value| value.is_nan()));
    }
}
