//! Writes shortlists in Marian's binary format; see [`super::binary`].

use attentive_base::batch::TokenId;
use attentive_base::error::{Error, Result};
use attentive_model::shortlist::Shortlist;

use super::binary::{MARK, sum};

/// A shortlist as a file, and what its name tells.
pub(in super::super) struct BinaryShortlist {
    pub(in super::super) bytes: Vec<u8>,
    /// The number of the first tokens of the vocabulary, which are candidates of every sentence.
    pub(in super::super) frequent: usize,
    /// The limit of the candidates of a source token.
    pub(in super::super) best: usize,
}

/// The number of the first tokens of a vocabulary that are always candidates, and the usual limit of the
/// candidates of a source token, as in Mozilla's shortlists.
const FIRST: usize = 50;
const BEST: usize = 50;
/// The most candidates of every sentence that are repeated for each source token.
const MAX_REPEATED: usize = 8;

/// Returns the file of `list`, whose vocabularies (source and target) have so many tokens there. The source
/// has `padded` tokens with those that no text has.
///
/// In Marian, the candidates of every sentence are the first tokens of the vocabulary. Those of ours that are
/// others become candidates of each source token.
///
/// # Errors
/// [`Error::Usage`] for a list with many of those.
pub(in super::super) fn binary(
    list: &Shortlist,
    [src, tgt]: [usize; 2],
    padded: usize,
) -> Result<BinaryShortlist> {
    let [_, _, always] = list.parts();
    let n_first = always.iter().zip(0..).take_while(|&(&id, place)| id == place).count();
    let frequent = n_first.max(FIRST).min(tgt);
    let rest: Vec<TokenId> = always.iter().copied().filter(|&id| id as usize >= frequent).collect();
    if rest.len() > MAX_REPEATED {
        return Err(Error::usage(
            "the shortlist of the model has candidates of every sentence that are not the first tokens of the \
             vocabulary, as they are in Marian",
            "learn one for the exported model from parallel text",
        ));
    }
    let (mut offsets, mut candidates, mut best) = (vec![0u64], Vec::new(), BEST);
    for token in 0..padded as TokenId {
        let own = if (token as usize) < src { list.of(token) } else { &[] };
        let mut own: Vec<TokenId> =
            own.iter().chain(&rest).copied().filter(|&id| (id as usize) < tgt).collect();
        own.sort_unstable();
        own.dedup();
        if own.is_empty() && token + 1 == padded as TokenId {
            // Marian refuses a list that ends with a token without candidates; the first one always is one.
            own.push(0);
        }
        best = best.max(own.len());
        candidates.extend(own);
        offsets.push(candidates.len() as u64);
    }
    let mut checked: Vec<u64> =
        vec![frequent as u64, best as u64, offsets.len() as u64, candidates.len() as u64];
    checked.extend(offsets);
    // Candidates have 32 bits; the checksum covers whole pairs of them.
    let pairs = candidates
        .as_chunks()
        .0
        .iter()
        .map(|&[low, high]: &[TokenId; 2]| u64::from(low) | u64::from(high) << 32);
    let checksum = sum(&checked.iter().copied().chain(pairs).collect::<Vec<u64>>());
    let head = [MARK, checksum].into_iter().chain(checked).flat_map(u64::to_le_bytes);
    let bytes = head.chain(candidates.iter().flat_map(|id| id.to_le_bytes())).collect();
    Ok(BinaryShortlist { bytes, frequent, best })
}
