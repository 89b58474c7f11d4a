//! How likely the sides of a pair are as translations of each other.

use std::path::Path;
use std::str::FromStr;

use attentive_base::error::Result;
use attentive_config::Task;
use attentive_data::cleaning::SentencePair;
use attentive_pipeline::Pipeline;

/// Scores pairs by a model that translates their sources, one of the opposite direction, or both.
#[derive(Debug)]
pub struct PairScorer {
    forward: Option<Pipeline>,
    backward: Option<Pipeline>,
}

/// Which pairs have too low a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreLimit {
    /// Those below this score.
    Least(f64),
    /// This share of all pairs, those with the lowest scores.
    Worst(f64),
}

impl PairScorer {
    /// Loads the models in these directories; `None` if there are none.
    ///
    /// # Errors
    /// Any error of loading; [`attentive_base::error::Error::Usage`] for a model that does not translate.
    pub fn load(forward: Option<&Path>, backward: Option<&Path>) -> Result<Option<Self>> {
        let load = |dir: &Path| {
            let pipeline = Pipeline::load(dir)?;
            pipeline.require(Task::Translate)?;
            Ok(pipeline)
        };
        let [forward, backward] = [forward, backward].map(|dir| dir.map(load).transpose());
        let scorer = Self { forward: forward?, backward: backward? };
        Ok((scorer.forward.is_some() || scorer.backward.is_some()).then_some(scorer))
    }

    /// Whether the models find most of the pairs far likelier with their sides exchanged.
    ///
    /// # Errors
    /// Those of [`PairScorer::scores`].
    pub fn expects_exchanged(&self, pairs: &[SentencePair]) -> Result<bool> {
        /// A difference of the average log-probability of a token that is no chance.
        const FAR: f64 = 1.0;
        let exchanged = |pair: &SentencePair| SentencePair { src: pair.tgt.clone(), tgt: pair.src.clone() };
        let exchanged: Vec<SentencePair> = pairs.iter().map(exchanged).collect();
        let is_dual = self.forward.is_some() && self.backward.is_some();
        let log = |score: f64| if is_dual { score.ln() } else { score };
        let scores = self.scores(pairs)?.into_iter().zip(self.scores(&exchanged)?);
        Ok(scores.filter(|&(given, other)| log(other) > log(given) + FAR).count() * 2 > pairs.len())
    }

    /// Returns the score of each pair, the higher the better. By one model, it is the average natural
    /// log-probability of a token, `</s>` included. By both, it is exp(−(|Hₐ − Hᵦ| + ½(Hₐ + Hᵦ))), from 0 to
    /// 1, where the H are the negated averages (dual conditional cross-entropy: Junczys-Dowmunt 2018,
    /// equation 2). A pair that a model cannot score has −∞.
    ///
    /// # Errors
    /// Those of [`Pipeline::rescore`].
    pub fn scores(&self, pairs: &[SentencePair]) -> Result<Vec<f64>> {
        let (src, tgt): (Vec<&str>, Vec<&str>) = pairs.iter().map(|pair| (&*pair.src, &*pair.tgt)).unzip();
        let forward = self.forward.as_ref().map(|model| per_token(model, &src, &tgt)).transpose()?;
        let backward = self.backward.as_ref().map(|model| per_token(model, &tgt, &src)).transpose()?;
        let scores = match (forward, backward) {
            (Some(forward), Some(backward)) => {
                forward.into_iter().zip(backward).map(|(a, b)| dual(-a, -b)).collect()
            }
            (forward, backward) => forward.or(backward).unwrap_or_default(),
        };
        Ok(scores
            .into_iter()
            .map(|score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score })
            .collect())
    }
}

/// The average log-probability of a token of each translation.
fn per_token(model: &Pipeline, src: &[&str], tgt: &[&str]) -> Result<Vec<f64>> {
    let scored = model.rescore(1, src, tgt)?.into_iter();
    Ok(scored.map(|one| one.log_prob / one.tokens.len().max(1) as f64).collect())
}

fn dual(a: f64, b: f64) -> f64 {
    (-((a - b).abs() + 0.5 * (a + b))).exp()
}

impl ScoreLimit {
    /// Returns the least score that is kept among `scores`; `None` if all are.
    pub fn least(self, scores: &[f64]) -> Option<f64> {
        match self {
            Self::Least(least) => Some(least),
            Self::Worst(share) => {
                let dropped = (scores.len() as f64 * share) as usize;
                let mut scores = scores.to_vec();
                let is_any = (1..scores.len()).contains(&dropped);
                is_any.then(|| *scores.select_nth_unstable_by(dropped, f64::total_cmp).1)
            }
        }
    }
}

impl FromStr for ScoreLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("expected a score such as -2.5, or a share below 100%, such as 5%, found `{text}`");
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match text.strip_suffix('%') {
            Some(share) => match number(share) {
                Some(share) if (0.0..100.0).contains(&share) => Ok(Self::Worst(share / 100.0)),
                _ => Err(expected()),
            },
            None => number(text).map(Self::Least).ok_or_else(expected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_scores_or_shares() {
        let scores: Vec<f64> = (0..100).map(|n| f64::from(n * 37 % 100)).collect();
        let least = |text: &str| text.parse::<ScoreLimit>().unwrap().least(&scores);
        assert_eq!(least("12.5"), Some(12.5));
        assert_eq!(least("-3"), Some(-3.0));
        assert_eq!(least("5%"), Some(5.0));
        assert_eq!(least("0%"), None);
        assert_eq!(ScoreLimit::Worst(0.5).least(&[f64::NEG_INFINITY, 1.0]), Some(1.0));
        for wrong in ["", "a", "100%", "-1%", "nan", "5 percent"] {
            assert!(wrong.parse::<ScoreLimit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_that_both_models_find_likely_are_best() {
        assert!((dual(0.0, 0.0) - 1.0).abs() < 1e-12);
        assert!((dual(1.0, 3.0) - (-4.0_f64).exp()).abs() < 1e-12);
        assert!(dual(1.0, 1.0) > dual(0.5, 1.5));
    }
}
