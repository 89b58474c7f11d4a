//! Evaluation metrics on strings.
//!
//! BLEU, chrF and TER give the same numbers as sacreBLEU 2.x for the same strings. Each score carries a
//! signature with sacreBLEU's fields in the same order, so that it can be reproduced; only the last field
//! differs: `version` names this program, as in `version:attentive-0.2.0`.
//!
//! ```
//! use attentive_metrics::Bleu;
//!
//! let score = Bleu::default().corpus(&["the cat sat on the mat"], &[vec!["the cat sat on a mat"]]);
//! assert!(score.to_string().starts_with("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"));
//! assert!((score.value - 53.7284965911771).abs() < 1e-9);
//! ```
//!
//! [`Bootstrap`] and [`Randomization`] test whether a difference is statistically significant. They resample
//! the statistics of the lines, gathered once as [`Segments`], and draw the same samples as sacreBLEU for the
//! same seed:
//!
//! ```
//! use attentive_metrics::{Bleu, Bootstrap, Segments};
//!
//! let references = [vec!["the cat sat on a mat", "it rains"]];
//! let old = Segments::new(Bleu::default(), &["the cat sat on the mat", "rain"], &references);
//! let new = Segments::new(Bleu::default(), &["the cat sat on a mat", "it rained"], &references);
//! let paired = Bootstrap::default().paired(&old, &new);
//! assert!(paired.system.value > paired.baseline.value);
//! assert!(paired.difference.interval.upper > 0.0 && paired.difference.p_value <= 1.0);
//! ```

mod accuracy;
mod bleu;
mod bootstrap;
mod chrf;
mod confusion;
mod edit_distance;
mod interval;
mod measure;
mod ngrams;
mod numpy_random;
mod paired;
mod randomization;
mod score;
mod segments;
mod ter;
mod text;
mod tokenize;
mod utility;

#[cfg(test)]
mod tests;

pub use accuracy::{Accuracy, ExactMatch, exact_match, perplexity};
pub use bleu::{Bleu, BleuStatistics, MAX_NGRAM_ORDER, Smoothing, SmoothingMethod};
pub use bootstrap::{Bootstrap, DEFAULT_SEED};
pub use chrf::Chrf;
pub use confusion::{Confusion, LabelScores};
pub use interval::{Estimate, Interval};
pub use measure::Measure;
pub use paired::{Difference, Paired, SIGNIFICANCE_LEVEL};
pub use randomization::Randomization;
pub use score::{Case, Score};
pub use segments::{CorpusMetric, Segments};
pub use ter::Ter;
pub use tokenize::BleuTokenizer;
pub use utility::Utility;

use rayon::prelude::*;

/// Applies `measure` to every hypothesis and its references in parallel; results are in the order of the
/// lines.
fn per_segment<H, R, S>(
    hypotheses: &[H],
    references: &[Vec<R>],
    measure: impl Fn(&str, &[&str]) -> S + Sync,
) -> Vec<S>
where
    H: AsRef<str> + Sync,
    R: AsRef<str> + Sync,
    S: Send,
{
    assert!(!references.is_empty(), "at least one stream of references is required");
    for (stream, lines) in references.iter().enumerate() {
        assert!(
            lines.len() == hypotheses.len(),
            "{} hypotheses but {} references in stream {stream}",
            hypotheses.len(),
            lines.len()
        );
    }
    (0..hypotheses.len())
        .into_par_iter()
        .map(|line| {
            let references: Vec<&str> = references.iter().map(|stream| stream[line].as_ref()).collect();
            measure(hypotheses[line].as_ref(), &references)
        })
        .collect()
}
