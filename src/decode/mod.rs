//! Search and sampling: the likeliest outputs of a model, or chance ones, found one token at a time.
//!
//! Written once against [`Stepper`]; neither knows which model it drives. Each sentence has a `Beam` of its own, and
//! the rows of a step are the unfinished hypotheses of all beams, so whatever is finished costs nothing any more and no
//! sentence influences another.

mod beam;
mod hypothesis;
mod next_token;
mod options;
mod sample;

#[cfg(test)]
mod tests;

pub use hypothesis::Hypothesis;
pub use next_token::{NextToken, likeliest};
pub use options::SearchOptions;
pub use sample::{Drawn, Ending, SampleOptions, sample};

use crate::batch::Padded;
use crate::model::Stepper;
use crate::text::SpecialTokens;
use beam::Beam;

/// Beam search, greedy where `options.beam_width` is 1: for each sentence of `src` up to `options.n_best` hypotheses,
/// the best first; at least one, unless a model's numbers are not finite, which no hypothesis outlives.
///
/// `<pad>` and `<s>` are never generated. An empty sentence is answered by an empty hypothesis.
///
/// # Panics
/// Where `options` ask for what [`SearchOptions::check`] refuses.
pub fn search<S: Stepper>(
    model: &S,
    src: &Padded,
    special: SpecialTokens,
    options: &SearchOptions,
) -> Vec<Vec<Hypothesis>> {
    let SearchOptions {
        beam_width, n_best, ..
    } = *options;
    assert!(
        (1..=beam_width).contains(&n_best),
        "{n_best} best of a beam of {beam_width}"
    );
    let mut beams: Vec<Beam<'_>> = src
        .lens
        .iter()
        .map(|&len| Beam::new(options, special.eos, len, model.max_len()))
        .collect();
    let mut rows: Vec<usize> = (0..src.rows())
        .filter(|&row| beams[row].width() > 0)
        .collect();
    if !rows.is_empty() {
        let mut state = model.start(src);
        while !rows.is_empty() {
            model.select(&mut state, &rows);
            let last: Vec<_> = beams
                .iter()
                .flat_map(|beam| beam.last_tokens(special.bos))
                .collect();
            let logits = model.step(&last, &mut state);
            // A row offers `</s>` at most once, so that these always hold `beam_width` others.
            let next = next_token::likeliest(logits, beam_width + 1, &[special.pad, special.bos]);
            rows.clear();
            let mut first = 0;
            for beam in &mut beams {
                let end = first + beam.width();
                let parents = beam.advance(&next[first..end]);
                rows.extend(parents.iter().map(|parent| first + parent));
                first = end;
            }
        }
    }
    beams.into_iter().map(Beam::into_hypotheses).collect()
}
