//! Options for models of many languages, shared by `import`, `translate` and `evaluate`.

use attentive_text::Languages;

/// The languages to translate between.
#[derive(clap::Args, Clone)]
pub(super) struct LanguageArgs {
    /// Source language of a multilingual model, as its tokenizer spells it, such as `deu_Latn`, `de_DE` or
    /// `de` [default: the model's].
    #[arg(long, value_name = "LANGUAGE")]
    source_lang: Option<String>,
    /// Target language of a multilingual model [default: the model's].
    #[arg(long, value_name = "LANGUAGE")]
    target_lang: Option<String>,
}

impl LanguageArgs {
    pub(super) fn languages(&self) -> Languages {
        Languages { source: self.source_lang.clone(), target: self.target_lang.clone() }
    }
}
