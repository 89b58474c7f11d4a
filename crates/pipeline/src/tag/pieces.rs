//! Tagging of words with models that read subwords.

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_data::Example;
use attentive_kernels::threads::Threads;

use super::Tagged;
use crate::tokenized_line::TokenizedLine;
use crate::{Pipeline, Warning};

/// The tokens of each of some words.
type Words = Vec<Vec<TokenId>>;

/// Words that are read together.
struct Part {
    line: usize,
    /// For each word, the position of its first token.
    firsts: Vec<usize>,
}

impl Pipeline {
    /// [`Pipeline::tag`] for a model that reads subwords. A line of more than `model.max_len` words is
    /// divided there, as by [`Pipeline::pieces_to_tag`]; a piece that still has too many tokens is read in
    /// parts.
    pub(super) fn tag_pieces<L: AsRef<str> + Sync>(
        &self,
        first_line: usize,
        lines: &[L],
    ) -> Result<Vec<Tagged>> {
        let read = |(line, text): (usize, &L)| self.read_pieces(line, text.as_ref());
        let results = Threads::current().map((first_line..).zip(lines), read).into_iter();
        let (mut tagged, lines): (Vec<Tagged>, Vec<Vec<Words>>) =
            results.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let special = self.tokenizers.src().special();
        let (mut parts, mut examples) = (Vec::new(), Vec::new());
        for (line, read) in lines.iter().enumerate() {
            for words in read {
                let example = Example::in_pieces(words, &[], special, parts.len());
                let firsts = firsts(words, special.n_first());
                examples.push(example);
                parts.push(Part { line, firsts });
            }
        }
        let found = self.tags_of(examples)?;
        for (Part { line, firsts }, tags) in parts.iter().zip(found) {
            let tags = firsts.iter().filter_map(|&first| tags.get(first).cloned());
            tagged[*line].tags.extend(tags);
        }
        Ok(tagged)
    }

    /// The maximum number of tokens that are read together, without the special tokens around them.
    fn room(&self) -> usize {
        let frame = self.tokenizers.src().special().n_frame();
        self.config.model.max_len.saturating_sub(frame).max(1)
    }

    /// The warning for a line that is read in parts.
    pub(super) fn in_parts(&self) -> Warning {
        let most = self.config.model.max_len;
        Warning::new(format!(
            "too long for the model, which reads {most} tokens at once, so it was read in parts"
        ))
    }

    /// Line number `line` before tagging, and the tokens of its words, in parts that are read together.
    fn read_pieces(&self, line: usize, text: &str) -> Result<(Tagged, Vec<Words>)> {
        let tokenizer = self.tokenizers.src();
        let (mut tokens, mut parts): (Vec<String>, Vec<Words>) = Default::default();
        let source = TokenizedLine::whole(text, |text| {
            tokens = text.split_whitespace().map(str::to_owned).collect();
            for words in tokens.chunks(self.config.model.max_len) {
                parts.extend(divided(&tokenizer.encode_pieces(words)?, self.room()));
            }
            Ok(parts.concat().concat())
        })?;
        let mut tagged = self.untagged(tokens, &source.on_line(line));
        if parts.len() > 1 {
            tagged.warnings.push(self.in_parts().on_line(line));
        }
        Ok((tagged, parts))
    }
}

/// Parts of at most `room` tokens; a word with more is cut.
fn divided(words: &[Vec<TokenId>], room: usize) -> Vec<Words> {
    let mut parts: Vec<Words> = Vec::new();
    let mut left = 0;
    for word in words {
        let word = &word[..word.len().min(room)];
        if word.len() > left {
            parts.push(Vec::new());
            left = room;
        }
        left -= word.len();
        if let Some(part) = parts.last_mut() {
            part.push(word.to_vec());
        }
    }
    parts
}

/// The position of the first token of each word, with `before` tokens before the first word.
fn firsts(words: &[Vec<TokenId>], before: usize) -> Vec<usize> {
    let start = |next: &mut usize, word: &Vec<TokenId>| {
        let start = *next;
        *next += word.len();
        Some(start)
    };
    words.iter().scan(before, start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_divided_between_words() {
        let words: Words = vec![vec![1], vec![2, 3], vec![4], vec![5, 6, 7, 8], vec![9]];
        let parts = divided(&words, 3);
        let expected: [Words; 4] =
            [vec![vec![1], vec![2, 3]], vec![vec![4]], vec![vec![5, 6, 7]], vec![vec![9]]];
        assert_eq!(parts, expected);
        assert_eq!(firsts(&parts[0], 1), [1, 2]);
        assert!(divided(&[], 3).is_empty());
    }
}
