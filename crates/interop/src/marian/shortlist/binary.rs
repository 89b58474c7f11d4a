//! Shortlists in Marian's binary format, such as `lex.*.s2t.bin` of Firefox.
//!
//! It consists of numbers of 64 bits: a magic number, a checksum of everything after it, the number of the
//! most frequent tokens, which are candidates of every sentence, the maximum number of candidates of a token,
//! the number of offsets, the number of candidates, and the offsets. The candidates follow, in 32 bits.

use std::path::Path;

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_base::regular_file;
use attentive_model::shortlist::Shortlist;

use crate::keys::not_understood;

pub(super) const MARK: u64 = 0xF11A_48D5_0134_17F5;
/// The number of numbers before the offsets.
const HEADER: usize = 6;
/// The number of those that the checksum does not cover.
const UNCHECKED: usize = 2;

/// See [`super::read`].
pub(super) fn read(path: &Path, sizes: [usize; 2], shared: bool, eos: TokenId) -> Result<Shortlist> {
    let file = regular_file::read(path, regular_file::DESCRIPTION)?;
    let list = parse(&file, sizes, shared, eos);
    list.map_err(|problem| not_understood(path, problem))
}

fn parse(
    file: &[u8],
    [src_vocab, tgt_vocab]: [usize; 2],
    shared: bool,
    eos: TokenId,
) -> Result<Shortlist, String> {
    let (words, _) = file.as_chunks();
    let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
    let Some(&[MARK, checksum, first, _, n_offsets, n_candidates]) = words.first_chunk() else {
        return Err("it is not a shortlist in Marian's binary format, or it is truncated".into());
    };
    if n_offsets != src_vocab as u64 {
        return Err(format!(
            "it is for {} source tokens, but the model has {}",
            n_offsets.saturating_sub(1),
            src_vocab - 1
        ));
    }
    let start = (HEADER + src_vocab) * size_of::<u64>();
    let candidates = file.get(start..);
    let expected = n_candidates.checked_mul(size_of::<TokenId>() as u64);
    let Some(candidates) = candidates.filter(|bytes| expected == Some(bytes.len() as u64)) else {
        return Err("its length differs from the length that its header declares".into());
    };
    if checksum != sum(&words[UNCHECKED..]) {
        return Err("damaged: it differs from its checksum".into());
    }
    let (candidates, _) = candidates.as_chunks();
    let candidates: Vec<TokenId> = candidates.iter().map(|&id| TokenId::from_le_bytes(id)).collect();
    let (mut ends, mut all) = (Vec::with_capacity(src_vocab), Vec::new());
    let offsets = &words[HEADER..HEADER + src_vocab];
    for (token, pair) in (0..).zip(offsets.windows(2)) {
        let [from, to] = [pair[0], pair[1]].map(|offset| usize::try_from(offset).ok());
        let own = from.zip(to).and_then(|(from, to)| candidates.get(from..to));
        all.extend(own.ok_or("its offsets are not those of its candidates")?);
        all.extend(shared.then_some(token));
        if all.len() > candidates.len() + src_vocab {
            return Err("its offsets overlap".into());
        }
        ends.push(all.len() as u32);
    }
    // The added token has no candidates.
    ends.push(all.len() as u32);
    let frequent = first.min(tgt_vocab as u64 - 1) as TokenId;
    let always = (0..frequent).chain((eos >= frequent).then_some(eos));
    // All but the added token.
    Shortlist::new(ends, all, always.collect(), tgt_vocab)?.padded(frequent..tgt_vocab as TokenId - 1)
}

/// The checksum of `words`.
pub(super) fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, &word| {
        let term = word.wrapping_add(0x9e37_79b9).wrapping_add(sum << 6).wrapping_add(sum >> 2);
        sum ^ term
    })
}
