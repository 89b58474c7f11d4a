//! Labels for every position of a sequence.

use rayon::prelude::*;

use super::Pipeline;
use super::batches::batches;
use crate::batch::{Batch, TokenId};
use crate::config::Task;
use crate::data::Example;
use crate::decode::{NextToken, likeliest};
use crate::error::{Error, Result};
use crate::nn::Pass;

impl Pipeline {
    /// A tag for each token of each line; tokens stand between white space, and a blank line has none.
    ///
    /// A line of more tokens than `model.max_len` is read in pieces of that length.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not tag tokens; [`Error::Data`] for one whose numbers are not finite.
    pub fn tag<L: AsRef<str> + Sync>(&self, lines: &[L]) -> Result<Vec<Vec<String>>> {
        self.require(Task::Tag)?;
        let width = self.config.model.recurrent.d_input;
        if width > 0 {
            return Err(Error::usage(
                "this model labels vectors, not tokens",
                format!("give it vectors of {width} numbers"),
            ));
        }
        let tokenizer = self.tokenizers.src();
        let sequences: Vec<Vec<TokenId>> = lines
            .par_iter()
            .map(|line| tokenizer.encode_words(line.as_ref()))
            .collect::<Result<_>>()?;
        let example = |tokens: &[TokenId], line| Example::tokens(tokens.to_vec(), line);
        self.label(&sequences, self.config.model.max_len, example)
    }

    /// A tag for each vector of each sequence, whose vectors of `model.recurrent.d_input` numbers stand one behind the
    /// other.
    ///
    /// A sequence of more vectors than `model.max_len` is read in pieces of that length.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not tag vectors; [`Error::Data`] for a sequence that is not made of such
    /// vectors, and for a model whose numbers are not finite.
    pub fn tag_vectors(&self, sequences: &[Vec<f32>]) -> Result<Vec<Vec<String>>> {
        self.require(Task::Tag)?;
        let width = self.config.model.recurrent.d_input;
        if width == 0 {
            return Err(Error::usage(
                "this model labels tokens, not vectors",
                "give it tokens between blanks",
            ));
        }
        for (number, sequence) in (1..).zip(sequences) {
            if !sequence.len().is_multiple_of(width) || !sequence.iter().all(|x| x.is_finite()) {
                let problem =
                    format!("sequence {number} is not made of vectors of {width} finite numbers");
                return Err(Error::Data {
                    problem,
                    hint: None,
                });
            }
        }
        let special = self.tokenizers.src().special();
        let example =
            |vectors: &[f32], line| Example::vectors(vectors.to_vec(), width, special, line);
        self.label(sequences, self.config.model.max_len * width, example)
    }

    /// The tags of sequences that become examples in pieces of at most `piece_len` items.
    fn label<T>(
        &self,
        sequences: &[Vec<T>],
        piece_len: usize,
        example: impl Fn(&[T], usize) -> Example,
    ) -> Result<Vec<Vec<String>>> {
        let (mut pieces, mut owners) = (Vec::new(), Vec::new());
        for (owner, sequence) in sequences.iter().enumerate() {
            for piece in sequence.chunks(piece_len) {
                pieces.push(example(piece, pieces.len()));
                owners.push(owner);
            }
        }
        let mut found = vec![Vec::new(); pieces.len()];
        for batch in batches(pieces, self.tokenizers.src().special(), None)? {
            for (&piece, tags) in batch.lines.iter().zip(self.best_tags(&batch)?) {
                found[piece] = tags;
            }
        }
        let mut tags = vec![Vec::new(); sequences.len()];
        for (owner, piece) in owners.into_iter().zip(found) {
            tags[owner].extend(piece);
        }
        Ok(tags)
    }

    /// The likeliest tag of every position of each row.
    fn best_tags(&self, batch: &Batch) -> Result<Vec<Vec<String>>> {
        let tokenizer = self.tokenizers.tgt();
        let special = tokenizer.special();
        let no_tags = [special.pad, special.unk, special.bos, special.eos];
        let logits = self.model.forward(batch, &Pass::inference());
        let best = likeliest(logits, 1, &no_tags);
        let name = |place: &Vec<NextToken>| {
            let tag = place.first().and_then(|best| tokenizer.token(best.token));
            tag.ok_or_else(|| Error::damaged_model("the model gives no tag a probability"))
        };
        let rows = best.chunks(batch.src.width()).zip(batch.src.lens());
        rows.map(|(row, &len)| row[..len].iter().map(name).collect())
            .collect()
    }
}
