//! Products of 8-bit integers whose inputs have one scale for each matrix, measured beforehand on a text, as
//! in Firefox's engine. They are computed here by rounding numbers in single precision.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::sync::Arc;

use attentive_base::error::{Error, Result};
use attentive_decode::{SearchOptions, Strategy};
use attentive_kernels::threads::Threads;
use attentive_metrics::{Bleu, Segments};
use attentive_model::engine::InputProbe;
use attentive_model::model::Parameter;
use attentive_model::nn::{Blueprint, ParameterKind};
use attentive_pipeline::{Pipeline, TranslateOptions};
use serde::{Deserialize, Serialize};

use crate::check;

/// The number of sentences that are translated together, as in Mozilla's calibration.
const BATCH: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// The number of standard deviations above the mean of the largest inputs, as there.
const DEVIATIONS: f64 = 1.1;
/// The largest 8-bit integer that is used.
const LARGEST: f64 = 127.0;

/// What a model loses by static 8-bit products.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Int8Cost {
    /// The number of lines of the test set.
    pub lines: usize,
    /// The number of lines that are translated differently.
    pub changed_lines: usize,
    /// BLEU of the original model and of the 8-bit model, with references.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bleu: Option<[f64; 2]>,
}

/// Returns the factor by which the inputs of each matrix, by name, become integers of −127..=127: 127 / (the
/// mean of the largest magnitudes of the inputs of all calls + 1.1 standard deviations), in greedy search
/// over `text` by one thread, since each call has the rows of a batch. Matrices that no product uses have none.
///
/// # Errors
/// [`Error::Data`] for a text without tokens; any error of translation.
pub fn input_factors(pipeline: &Pipeline, text: &[String]) -> Result<BTreeMap<String, f32>> {
    let probes: HashMap<String, Arc<InputProbe>> =
        matrices(pipeline).into_iter().map(|name| (name, Arc::new(InputProbe::measures()))).collect();
    let measured = pipeline.probed(pipeline.parameters(), probes.clone());
    Threads::alone(|| measured.best_translations(text, &greedy(pipeline)))?;
    let factors = probes.into_iter().filter_map(|(name, probe)| Some((name, factor(&probe.measured())?)));
    let factors: BTreeMap<String, f32> = factors.collect();
    if factors.is_empty() {
        return Err(Error::data(
            "the text for the calibration has no sentence",
            "give a few hundred sentences of the source language, one per line",
        ));
    }
    Ok(factors)
}

/// Compares the greedy translations of `text` by the model and by the same model with `weights` whose inputs
/// are rounded by `factors`. There may be no `references`.
///
/// # Errors
/// [`Error::Data`] for references with another number of lines; any error of translation.
pub fn cost(
    pipeline: &Pipeline,
    weights: Vec<Parameter>,
    factors: &BTreeMap<String, f32>,
    text: &[String],
    references: &[Vec<String>],
) -> Result<Int8Cost> {
    if !references.is_empty() {
        check(text, references)?;
    }
    let rounds = |(name, &factor): (&String, &f32)| (name.clone(), Arc::new(InputProbe::Rounds(factor)));
    let rounded = pipeline.probed(weights, factors.iter().map(rounds).collect());
    let options = greedy(pipeline);
    let before = pipeline.best_translations(text, &options)?;
    let after = rounded.best_translations(text, &options)?;
    let bleu = |lines: &[String]| Segments::new(Bleu::default(), lines, references).score().value;
    Ok(Int8Cost {
        lines: text.len(),
        changed_lines: before.iter().zip(&after).filter(|(before, after)| before != after).count(),
        bleu: (!references.is_empty()).then(|| [bleu(&before), bleu(&after)]),
    })
}

/// The names of all matrices.
fn matrices(pipeline: &Pipeline) -> Vec<String> {
    let parameters = Blueprint::new(pipeline.architecture()).into_parameters().into_iter();
    let matrices = parameters.filter(|parameter| parameter.kind == ParameterKind::Matrix);
    matrices.map(|parameter| parameter.name).collect()
}

fn greedy(pipeline: &Pipeline) -> TranslateOptions {
    let own = SearchOptions::from(&pipeline.config().decode);
    let search = SearchOptions { strategy: Strategy::Greedy { scored: false }, ..own };
    TranslateOptions { search, batch_size: Some(BATCH), mbr: None }
}

/// The factor for inputs whose largest magnitudes were these; `None` if all of them are zero.
fn factor(largest: &[f32]) -> Option<f32> {
    let n = largest.len() as f64;
    let mean = largest.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
    let variance = largest.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
    let most = mean + DEVIATIONS * variance.sqrt();
    (most > 0.0).then(|| (LARGEST / most) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::untrained;

    #[test]
    fn factors_do_not_depend_on_the_number_of_threads() {
        let text: Vec<String> =
            (0..40).map(|n| ["a b c", "d", "e f g a b", "b a"][n % 4].to_owned()).collect();
        let factors = input_factors(untrained(), &text).unwrap();
        assert!(factors.len() > 5, "{factors:?}");
        assert_eq!(Threads::alone(|| input_factors(untrained(), &text)).unwrap(), factors);
        assert!(factors.values().all(|&factor| factor > 0.0));
    }
}
