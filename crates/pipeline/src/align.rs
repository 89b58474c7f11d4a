//! Word alignments from attention.

use std::fmt;

use attentive_base::batch::{Batch, TokenId};
use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_config::Task;
use attentive_data::Example;
use attentive_data::word_alignment::write_pharaoh;
use attentive_kernels::elementwise;
use attentive_model::model::{AlignmentHead, Model};
use attentive_model::nn::Pass;
use attentive_model::profile::{self, ProfileSection};
use attentive_tape::AttentionWeights;
use attentive_text::{Detokenizer, Tokenizer};
use serde::Serialize;

use super::Pipeline;
use super::batches::batches_within;
use super::tokenized_line::TokenizedLine;

/// The number of positions in a batch. It is small, since the weights of all heads and layers are kept at
/// once.
const POSITIONS: usize = 1 << 10;

/// A word alignment between a source and its translation: pairs of word numbers, counted from 0, in ascending
/// order. Displayed in the format of the Pharaoh decoder, such as `0-0 1-2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment(pub Vec<(usize, usize)>);

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pharaoh(&self.0, f)
    }
}

/// How much each token of a translation attends to each source token, a row for each token of the
/// translation. Displayed as by Marian: weights with commas between them, and rows with blanks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SoftAlignment(pub Vec<Vec<f32>>);

impl fmt::Display for SoftAlignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, row) in self.0.iter().enumerate() {
            let blank = if place == 0 { "" } else { " " };
            let row: Vec<String> = row.iter().map(|weight| format!("{weight:.4}")).collect();
            write!(f, "{blank}{}", row.join(","))?;
        }
        Ok(())
    }
}

/// The word of each token on both sides of a pair.
struct Words {
    src: Vec<usize>,
    tgt: Vec<usize>,
}

impl Pipeline {
    /// Returns the alignment of each line with its translation, given as tokens without `<s>` and `</s>`.
    ///
    /// A target token is aligned with the source token to which its prediction attends most, in the layer and
    /// the head of `model.alignment_layer` and `model.alignment_head`; a token that attends most to `</s>` is
    /// not aligned. Two words are aligned if any of their tokens are.
    ///
    /// # Errors
    /// [`attentive_base::Error::Usage`] for a model that does not translate or has no attention to the
    /// source.
    pub fn align<L: AsRef<str>>(&self, pairs: &[(L, &[TokenId])]) -> Result<Vec<Alignment>> {
        self.require(Task::Translate)?;
        self.require_cross_attention("an alignment")?;
        profile::time(ProfileSection::Alignment, || self.align_pairs(pairs))
    }

    fn align_pairs<L: AsRef<str>>(&self, pairs: &[(L, &[TokenId])]) -> Result<Vec<Alignment>> {
        let (src, tgt) = (self.tokenizers.src(), self.tokenizers.tgt());
        let (mut examples, mut lines) = (Vec::new(), Vec::new());
        let mut words = Vec::with_capacity(pairs.len());
        for (number, (line, tokens)) in pairs.iter().enumerate() {
            let source = TokenizedLine::read(line.as_ref(), self)?;
            words.push(Words { src: src_words(line.as_ref(), src)?, tgt: tgt_words(tokens, tgt)? });
            if source.ids.is_empty() || tokens.is_empty() {
                continue;
            }
            // The last token is predicted, but not read.
            let read = &tokens[..tokens.len() - 1];
            examples.push(Example {
                tgt_out: tokens.to_vec(),
                ..Example::pair(source.ids, read, tgt.special(), examples.len())
            });
            lines.push(number);
        }
        let mut alignments = vec![Alignment::default(); pairs.len()];
        for (number, most) in lines.into_iter().zip(self.attended_by(examples)?) {
            alignments[number] = words[number].linked(&most, src.special().n_first());
        }
        Ok(alignments)
    }

    /// The attention that aligns words.
    fn alignment_head(&self) -> AlignmentHead {
        let translator = self.config.model.family.translator();
        translator.map_or_else(AlignmentHead::default, |keys| AlignmentHead {
            layer: keys.alignment_layer,
            head: keys.alignment_head,
        })
    }

    /// Returns for each line and its translation, given as tokens with `</s>`, how much the prediction of
    /// each token attends to each source token, `</s>` and others around the text included: a row for each
    /// token of the translation, which sums to 1. The weights are those of [`Pipeline::align`]; a blank line
    /// has none.
    ///
    /// # Errors
    /// Those of [`Pipeline::align`].
    pub fn soft_alignments<L: AsRef<str>>(&self, pairs: &[(L, &[TokenId])]) -> Result<Vec<SoftAlignment>> {
        self.require(Task::Translate)?;
        self.require_cross_attention("an alignment")?;
        let (special, n_models) = (self.tokenizers.tgt().special(), self.members().count() as f32);
        let (mut examples, mut lines) = (Vec::new(), Vec::new());
        for (number, (line, tokens)) in pairs.iter().enumerate() {
            let source = TokenizedLine::read(line.as_ref(), self)?;
            if let Some((_, read)) = tokens.split_last().filter(|_| !source.ids.is_empty()) {
                let pair = Example::pair(source.ids, read, special, examples.len());
                examples.push(Example { tgt_out: tokens.to_vec(), ..pair });
                lines.push(number);
            }
        }
        let mut all = vec![SoftAlignment::default(); pairs.len()];
        let mean = |row: &[f32]| row.iter().map(|weight| weight / n_models).collect::<Vec<f32>>();
        for (number, rows) in lines.into_iter().zip(self.rows_of(examples, mean)?) {
            all[number] = SoftAlignment(rows);
        }
        Ok(all)
    }

    /// For each of `examples`, numbered from 0, the source position that each target attends to most.
    pub(super) fn attended_by(&self, examples: Vec<Example>) -> Result<Vec<Vec<usize>>> {
        self.rows_of(examples, largest)
    }

    /// For each of `examples`, numbered from 0, what `of_row` makes of the attention of each target to the
    /// source, summed over all models.
    fn rows_of<T: Clone>(&self, examples: Vec<Example>, of_row: impl Fn(&[f32]) -> T) -> Result<Vec<Vec<T>>> {
        let mut all = vec![Vec::new(); examples.len()];
        for batch in batches_within(POSITIONS, examples, self.tokenizers.sides(), None)? {
            Interrupt::check()?;
            for (&number, rows) in batch.lines.iter().zip(self.rows_of_batch(&batch, &of_row)?) {
                all[number] = rows;
            }
        }
        Ok(all)
    }

    /// See [`Pipeline::rows_of`].
    fn rows_of_batch<T>(&self, batch: &Batch, of_row: impl Fn(&[f32]) -> T) -> Result<Vec<Vec<T>>> {
        let maps = self.members().map(|member| {
            let chosen = member.alignment_head();
            member.with_model(|model: &Model| Ok(model.cross_attention(batch, chosen, &Pass::inference())))
        });
        let maps: Vec<Option<AttentionWeights>> = maps.collect::<Result<_>>()?;
        let sum = maps.into_iter().flatten().reduce(|mut sum, map| {
            elementwise::add(&mut sum.values, &map.values);
            sum
        });
        let Some(AttentionWeights { shape, values }) = sum else {
            return Ok(Vec::new());
        };
        let [.., tgt_len, src_len] = shape;
        let lens = batch.src().map_or(&[][..], |src| src.lengths().lens());
        let lens = lens.iter().zip(batch.tgt_out.lens());
        let all = |(rows, (&src, &tgt)): (&[f32], (&usize, &usize))| {
            let rows = rows.chunks(src_len).take(tgt);
            rows.map(|row| of_row(&row[..src])).collect()
        };
        Ok(values.chunks(tgt_len * src_len).zip(lens).map(all).collect())
    }
}

/// Returns the index of the largest weight; ties go to the lowest index.
fn largest(weights: &[f32]) -> usize {
    let better = |best: usize, i: usize| if weights[i] > weights[best] { i } else { best };
    (0..weights.len()).reduce(better).unwrap_or(0)
}

impl Words {
    /// The pairs of words whose tokens are linked; `most[j]` is the source position of target token j, and
    /// the source begins with `n_first` tokens without a word.
    fn linked(&self, most: &[usize], n_first: usize) -> Alignment {
        let links = self.tgt.iter().zip(most);
        // `</s>` has no word.
        let word = |place: usize| self.src.get(place.checked_sub(n_first)?);
        let mut pairs: Vec<(usize, usize)> =
            links.filter_map(|(&tgt, &place)| Some((*word(place)?, tgt))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Alignment(pairs)
    }
}

/// The number of the word of each token of the source `line`.
fn src_words(line: &str, tokenizer: &Tokenizer) -> Result<Vec<usize>> {
    let mut words = Vec::new();
    TokenizedLine::with(line, usize::MAX, |text| {
        words = tokenizer.words(text)?;
        Ok(Vec::new())
    })?;
    Ok(words)
}

/// The number of the word of each token in the text of `ids`.
fn tgt_words(ids: &[TokenId], tokenizer: &Tokenizer) -> Result<Vec<usize>> {
    let mut text = Detokenizer::after(tokenizer, &[])?;
    let (mut begun, mut inside) = (0, false);
    let mut word = |piece: String| {
        for c in piece.chars() {
            let is_blank = c.is_whitespace();
            begun += usize::from(!is_blank && !inside);
            inside = !is_blank;
        }
        // Between words, the token belongs to the next one.
        if inside { begun - 1 } else { begun }
    };
    let words = ids.iter().map(|&id| text.push(id).map(&mut word));
    let words = words.collect::<Result<Vec<usize>>>()?;
    word(text.finish()?);
    let last = begun.saturating_sub(1);
    Ok(words.into_iter().map(|word| word.min(last)).collect())
}

#[cfg(test)]
mod tests {
    use attentive_config::TokenizerKind;
    use attentive_config::Units;

    use super::*;
    use crate::tests::untrained_language_model;

    #[test]
    fn words_are_those_between_blanks() {
        for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram, TokenizerKind::Char] {
            let pipeline = untrained_language_model(kind, Units::Lines);
            let tokenizer = pipeline.tokenizers().tgt();
            let text = "Ein  Hund rennt über das grüne Feld und Katzen an.";
            let ids = tokenizer.encode(text).unwrap();
            let by_text = tokenizer.words(text).unwrap();
            assert_eq!(by_text.len(), ids.len());
            let by_ids = tgt_words(&ids, tokenizer).unwrap();
            for words in [&by_text, &by_ids] {
                assert!(words.is_sorted());
                for (number, word) in text.split_whitespace().enumerate() {
                    let of_word = ids.iter().zip(words).filter(|(_, of)| **of == number);
                    let ids: Vec<TokenId> = of_word.map(|(&id, _)| id).collect();
                    assert_eq!(tokenizer.decode(&ids).unwrap().trim(), word, "{kind:?}");
                }
            }
        }
    }

    #[test]
    fn links_become_pairs_of_words() {
        let words = Words { src: vec![0, 0, 1], tgt: vec![0, 1, 1, 2] };
        let alignment = words.linked(&[2, 0, 1, 3], 0);
        assert_eq!(words.linked(&[3, 1, 2, 4], 1), alignment);
        assert_eq!(alignment.to_string(), "0-1 1-0");
        assert_eq!(Alignment::default().to_string(), "");
    }
}
