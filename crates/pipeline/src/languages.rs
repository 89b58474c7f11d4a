//! The languages between which a model of several translates.

use attentive_base::batch::TokenId;
use attentive_base::error::Result;
use attentive_text::Languages;

use super::{Pipeline, Warning};

impl Pipeline {
    /// Returns the tokens of the languages with these codes, for [`Pipeline::with_languages`]; see
    /// [`Languages::matching`].
    ///
    /// # Errors
    /// [`Error::Usage`](attentive_base::Error::Usage) for a language that the model does not have.
    pub fn languages_between(&self, pair: [&str; 2]) -> Result<Languages> {
        Languages::matching(pair, &self.tokenizers, &self.config.model.family)
    }

    /// True for a model that is told in tokens between which languages to translate.
    pub fn is_multilingual(&self) -> bool {
        let sides = [self.tokenizers.src(), self.tokenizers.tgt()];
        sides.iter().any(|side| !side.languages().is_empty())
    }

    /// Returns a pipeline that translates between these languages with the same weights. A missing language
    /// is that of the model's files.
    ///
    /// # Errors
    /// [`Error::Usage`](attentive_base::Error::Usage) for a language that the model does not have.
    pub fn in_languages(&self, languages: &Languages) -> Result<Self> {
        let partners = self.partners.iter().map(|partner| partner.in_languages(languages));
        let (mut config, tokenizers) = (self.config.clone(), self.tokenizers.clone());
        config.model.family = (*self.stored).clone();
        let shared = Self {
            file: self.file.clone(),
            partners: partners.collect::<Result<_>>()?,
            ..Self::new(config, tokenizers, self.architecture.clone(), self.forms.clone())
        };
        shared.with_languages(languages)
    }

    /// The tokens of target languages, one of which must begin every source; none if the model has only one
    /// target language, or names languages in other ways.
    pub(crate) fn targets(&self) -> &[TokenId] {
        self.targets.get_or_init(|| {
            let source = self.tokenizers.src();
            let marks = match self.config.model.family.translator() {
                Some(model) => Languages::marks(&source.languages(), model),
                None => Vec::new(),
            };
            marks.iter().filter_map(|token| source.id(token)).collect()
        })
    }

    /// A warning if one of `texts` does not say into which of the model's languages it is to be translated,
    /// and nothing else does.
    ///
    /// # Errors
    /// Those of the tokenizer.
    pub fn warning_of_languages(&self, texts: &[impl AsRef<str>]) -> Result<Option<Warning>> {
        let (targets, tokenizer) = (self.targets(), self.tokenizers.src());
        if targets.is_empty() || tokenizer.special().first.is_some() {
            return Ok(None);
        }
        for text in texts {
            let first = tokenizer.encode(text.as_ref())?.first().copied();
            if first.is_some_and(|first| !targets.contains(&first)) {
                return Ok(Some(Warning::of_no_language(tokenizer, targets)));
            }
        }
        Ok(None)
    }

    /// Replaces the configured source and target languages.
    ///
    /// # Errors
    /// [`Error::Usage`](attentive_base::Error::Usage) for a language that the model does not have.
    pub fn with_languages(mut self, languages: &Languages) -> Result<Self> {
        languages.apply(&self.tokenizers, &mut self.config.model.family)?;
        self.tokenizers = self.tokenizers.for_model(&self.config.model)?;
        let partners = self.partners.into_iter();
        self.partners = partners.map(|partner| partner.with_languages(languages)).collect::<Result<_>>()?;
        Ok(self)
    }
}
