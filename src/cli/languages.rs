//! Options for models of many languages, shared by `import` and `translate`.

use attentive::text::Languages;

/// The languages to translate between.
#[derive(clap::Args, Clone)]
pub(super) struct LanguageArgs {
    /// Language of the text, for a model of many languages, as its tokenizer spells it: `deu_Latn`, `de_DE`, `de` [default: the
    /// model's].
    #[arg(long, value_name = "LANGUAGE")]
    source_lang: Option<String>,
    /// Language of the translation [default: the model's].
    #[arg(long, value_name = "LANGUAGE")]
    target_lang: Option<String>,
}

impl LanguageArgs {
    pub(super) fn languages(&self) -> Languages {
        Languages {
            source: self.source_lang.clone(),
            target: self.target_lang.clone(),
        }
    }
}
