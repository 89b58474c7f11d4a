//! Word alignments of parallel text, learned from the text alone.
//!
//! Each direction is a hidden Markov model (Vogel et al. 1996; Och and Ney 2003, section 2.1), whose
//! translation probabilities begin with those of IBM Model 1 (Brown et al. 1993). Both directions learn to
//! agree (Liang et al. 2006), and their alignments are combined (Koehn et al. 2003).

mod bidirectional;
mod directed;
mod links;
mod markov;
mod symmetrization;
mod translation_table;
mod vocabulary;

use attentive_base::error::{Error, Result};
use rayon::prelude::*;

use self::bidirectional::BidirectionalAligner;
pub use self::links::{AlignmentScore, GoldLinks, WordLinks, write_pharaoh};
pub use self::symmetrization::Symmetrization;
use self::vocabulary::IndexedText;

/// A pair with more words on a side gets no links, since the time grows with the square of the length.
pub const LONGEST_SENTENCE: usize = 300;

/// Aligns the words of each pair of lines, which white space separates; upper and lower case are not told
/// apart, nor are rare words that begin alike. The result does not depend on the number of threads.
///
/// # Errors
/// [`Error::Data`] if the numbers of lines differ.
pub fn align_words(src: &[String], tgt: &[String], symmetrization: Symmetrization) -> Result<Vec<WordLinks>> {
    if src.len() != tgt.len() {
        return Err(Error::data(
            format!("{} source lines, but {} target lines", src.len(), tgt.len()),
            "line n of one side belongs to line n of the other",
        ));
    }
    let (src, tgt) = (IndexedText::new(src), IndexedText::new(tgt));
    let aligner = BidirectionalAligner::trained(&src, &tgt);
    let links = |pair: usize| {
        let [forward, backward] = aligner.links(pair);
        symmetrization.combined(&forward, &backward)
    };
    Ok((0..src.len()).into_par_iter().map(links).collect())
}

#[cfg(test)]
mod tests;
