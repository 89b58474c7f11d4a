//! Encoding of texts word by word.

use attentive_base::batch::TokenId;
use attentive_base::error::Result;

use super::Tokenizer;

impl Tokenizer {
    /// Returns one id per word of `text`; words are separated by white space. A word that is not a single
    /// token becomes `<unk>`.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn encode_words(&self, text: &str) -> Result<Vec<TokenId>> {
        text.split_whitespace().map(|word| self.encode_word(word)).collect()
    }

    /// Returns the id of a word; `<unk>` if it is not a single token.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn encode_word(&self, word: &str) -> Result<TokenId> {
        match self.encode(word)?[..] {
            [id] => Ok(id),
            _ => Ok(self.special.unk),
        }
    }

    /// Returns the token ids of each of `words`, which are encoded as one text with spaces between them. A
    /// word that the tokenizer drops becomes `<unk>`.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn encode_pieces<W: AsRef<str>>(&self, words: &[W]) -> Result<Vec<Vec<TokenId>>> {
        let (mut text, mut starts) = (String::new(), Vec::with_capacity(words.len()));
        for word in words {
            if !text.is_empty() {
                text.push(' ');
            }
            starts.push(text.len());
            text.push_str(word.as_ref());
        }
        let mut pieces = vec![Vec::new(); words.len()];
        let places = self.words_at(&text, &starts)?;
        for (id, word) in self.encode(&text)?.into_iter().zip(places) {
            if let Some(pieces) = pieces.get_mut(word) {
                pieces.push(id);
            }
        }
        for pieces in pieces.iter_mut().filter(|pieces| pieces.is_empty()) {
            pieces.push(self.special.unk);
        }
        Ok(pieces)
    }

    /// Returns the number of the word, counted from 0, of each of the tokens of [`Tokenizer::encode`]. Words
    /// are separated by white space; a token between words belongs to the next one.
    ///
    /// # Errors
    /// See [`Tokenizer::encode`].
    pub fn words(&self, text: &str) -> Result<Vec<usize>> {
        let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        let starts: Vec<usize> = text.split_whitespace().map(place).collect();
        self.words_at(text, &starts)
    }

    /// [`Tokenizer::words`] for words that begin at the byte positions `starts`.
    fn words_at(&self, text: &str, starts: &[usize]) -> Result<Vec<usize>> {
        let encoding = self.encoding(text)?;
        let word = |&(start, end): &(usize, usize)| {
            let token = text.get(start..end).unwrap_or_default().trim_end();
            let last = start + token.len().saturating_sub(1);
            let begun = starts.partition_point(|&start| start <= last);
            let is_blank = token.is_empty();
            let word = begun.saturating_sub(usize::from(!is_blank));
            word.min(starts.len().saturating_sub(1))
        };
        Ok(encoding.get_offsets().iter().map(word).collect())
    }
}
