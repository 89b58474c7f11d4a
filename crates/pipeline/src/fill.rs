//! Filling the gaps of a text.

use attentive_base::batch::{Padded, TokenId};
use attentive_base::error::{Error, Result};
use attentive_config::Task;
use attentive_decode::NextToken;
use attentive_text::{Joint, MASK};
use serde::{Serialize, Serializer};

use super::tokenized_line::TokenizedLine;
use super::{Pipeline, Warning};

/// A text with its gaps filled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Filled {
    /// The text with the most likely token in each gap.
    pub text: String,
    /// The candidates for each gap, in order, most likely first.
    pub gaps: Vec<Vec<Guess>>,
    /// Problems with the text.
    pub warnings: Vec<Warning>,
}

/// A candidate token for a gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guess {
    /// The id of the token.
    #[serde(skip)]
    pub token: TokenId,
    /// The text of the token.
    #[serde(rename = "token")]
    pub text: String,
    /// The way in which the token is joined to the preceding text. As JSON, it says whether the token
    /// continues the preceding word.
    #[serde(rename = "joined", serialize_with = "continues")]
    pub joint: Joint,
    /// The probability of the token, from 0 to 1.
    pub probability: f64,
}

// The signature is the one that serde requires.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn continues<S: Serializer>(joint: &Joint, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    (*joint == Joint::None).serialize(serializer)
}

impl Pipeline {
    /// Returns the `count` most likely tokens for every `<mask>` in `text`, each predicted from the whole
    /// text with all its masks. The model's own spelling of the mask, such as BERT's `[MASK]`, is accepted as
    /// well.
    ///
    /// A blank text has no gaps. Special tokens are not candidates; the probabilities of the other tokens are
    /// not renormalized.
    ///
    /// # Errors
    /// [`Error::Usage`] for a model that does not fill gaps, a text without a gap or with too many tokens for
    /// the model, and a `count` of 0; [`Error::Data`] if the model's outputs are NaN or infinite.
    pub fn fill(&self, text: &str, count: usize) -> Result<Filled> {
        self.require(Task::Fill)?;
        if count == 0 {
            let hint = "choose at least 1";
            return Err(Error::usage("the number of guesses for each gap is 0", hint));
        }
        if text.trim().is_empty() {
            return Ok(Filled::default());
        }
        let tokenizer = self.tokenizers.tgt();
        let mask = self.mask()?;
        // Imported models can spell the mask differently.
        let spelled = tokenizer.token(mask).unwrap_or_else(|| MASK.to_owned());
        let text = &*text.replace(&spelled, MASK);
        let TokenizedLine { ids, warnings, .. } = self.read_gaps(text, mask)?;
        let no_guesses: Vec<TokenId> = tokenizer.special().ids().collect();
        let text_ids = Padded::single(&ids);
        let likeliest = || Ok(self.encoder().likeliest(&text_ids, |id| id == mask, count, &no_guesses));
        let gaps = self.computing(likeliest)?.into_iter();
        let gaps: Vec<Vec<Guess>> =
            gaps.map(|best| best.into_iter().map(|next| self.guess(next)).collect()).collect();
        if gaps.iter().any(Vec::is_empty) {
            return Err(Error::damaged_model("the model gives no probability to any token"));
        }
        Ok(Filled { text: fill_in(text, &gaps), gaps, warnings })
    }

    /// Returns the number of gaps in `text`, in either spelling.
    pub fn gaps(&self, text: &str) -> usize {
        let mask = self.mask().ok();
        let spelled = mask.and_then(|mask| self.tokenizers.tgt().token(mask));
        let own = spelled.filter(|spelled| spelled != MASK);
        text.matches(MASK).count() + own.map_or(0, |own| text.matches(&*own).count())
    }

    /// The tokens of `text` followed by `</s>`, if they contain `mask` and fit into the model.
    fn read_gaps(&self, text: &str, mask: TokenId) -> Result<TokenizedLine> {
        if !text.contains(MASK) {
            return Err(Error::usage(
                format!("there is no `{MASK}` in the text"),
                format!("write `{MASK}` in place of a word, as in \"A {MASK} rides a bike.\""),
            ));
        }
        let tokenizer = self.tokenizers.tgt();
        let encode = |text: &str| tokenizer.encode_masked(text, mask);
        let mut source = TokenizedLine::with(text, usize::MAX, encode)?;
        let special = tokenizer.special();
        let unknown = source.ids.iter().filter(|&&id| id == special.unk);
        let unknown = Warning::of_unknown(unknown.count(), source.ids.len());
        source.warnings.extend(unknown);
        source.ids = special.framed(source.ids);
        let (found, most) = (source.ids.len(), self.config.model.max_len);
        if found > most {
            return Err(Error::usage(
                format!("the text has {found} tokens including `</s>`, but the model reads at most {most}"),
                "shorten it, or fill its sentences separately",
            ));
        }
        Ok(source)
    }

    /// The id of `<mask>`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the tokenizer has none.
    pub fn mask(&self) -> Result<TokenId> {
        let mask = self.tokenizers.tgt().special().mask;
        mask.ok_or_else(|| {
            let hint = "the model directory is damaged: copy the whole directory again";
            Error::usage(format!("the model's tokenizer has no `{MASK}`"), hint)
        })
    }

    fn guess(&self, next: NextToken) -> Guess {
        let (text, joint) = self.tokenizers.tgt().piece(next.token);
        Guess { token: next.token, text, joint, probability: next.log_prob.exp() }
    }
}

/// `text` with the first candidate in each gap.
fn fill_in(text: &str, gaps: &[Vec<Guess>]) -> String {
    let mut parts = text.split(MASK);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for (rest, gap) in parts.zip(gaps) {
        let Guess { text, joint, .. } = &gap[0];
        if *joint != Joint::Plain {
            filled.truncate(filled.trim_end().len());
        }
        if *joint == Joint::Blank && !filled.is_empty() {
            filled.push(' ');
        }
        filled.push_str(text);
        filled.push_str(rest);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_joined_to_the_text_like_its_token() {
        let guess = |text: &str, joint| vec![Guess { token: 9, text: text.into(), joint, probability: 0.5 }];
        let cases = [
            ("a <mask>.", "dog", Joint::Blank, "a dog."),
            ("a<mask>", "dog", Joint::Blank, "a dog"),
            ("<mask> barks", "Who", Joint::Blank, "Who barks"),
            ("a dog <mask> barks", "s", Joint::None, "a dogs barks"),
            ("a d<mask>g", "o", Joint::Plain, "a dog"),
            ("a <mask>og", "d", Joint::Plain, "a dog"),
        ];
        for (text, token, joint, expected) in cases {
            assert_eq!(fill_in(text, &[guess(token, joint)]), expected);
        }
        let both = [guess("two", Joint::Blank), guess("s", Joint::None)];
        assert_eq!(fill_in("<mask> dog<mask>!", &both), "two dogs!");
    }
}
