//! The places at which a multilingual model reads the languages of a translation.

use attentive_base::error::{Error, Result};
use attentive_config::Translator;
use attentive_text::{Languages, Tokenizers, some_languages};

use super::settings::TokenizerSettings;
use super::surrounding_tokens::SurroundingTokens;

/// Kinds of models (`model_type`) whose languages are tokens.
const KINDS: [&str; 2] = ["mbart", "m2m_100"];

/// The number of languages of the second version of mBART; the first has fewer.
const MBART_50: usize = 52;

/// The places of the languages in a multilingual model, and the languages chosen in its files.
#[derive(Debug)]
pub(super) struct Multilingual {
    source: SourcePlace,
    target: TargetPlace,
    owners: Languages,
}

/// The place of the source language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SourcePlace {
    /// Before a text.
    First,
    /// After the end of a text.
    Last,
}

/// The place of the target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetPlace {
    /// The first token of a translation, which is forced.
    Forced,
    /// The start token of the decoder.
    Start,
}

impl Multilingual {
    /// Returns `None` for a model without language tokens.
    pub(super) fn of(
        kind: &str,
        settings: &TokenizerSettings,
        surrounding: &SurroundingTokens,
        tokenizers: &Tokenizers,
    ) -> Result<Option<Self>> {
        let n_languages = tokenizers.src().languages().len();
        if !KINDS.contains(&kind) || n_languages == 0 {
            return Ok(None);
        }
        let is_first_mbart = match settings.named_class() {
            Some(class) => class == "MBartTokenizer",
            None => kind == "mbart" && surrounding.first.is_none() && n_languages < MBART_50,
        };
        let is_last = match settings.named_class() {
            Some("NllbTokenizer") => settings.flag("legacy_behaviour")?.unwrap_or(false),
            Some("MBart50Tokenizer" | "M2M100Tokenizer") => false,
            _ => is_first_mbart || surrounding.language.is_some(),
        };
        Ok(Some(Self {
            source: if is_last { SourcePlace::Last } else { SourcePlace::First },
            target: if is_first_mbart { TargetPlace::Start } else { TargetPlace::Forced },
            owners: Languages { source: settings.text("src_lang"), target: settings.text("tgt_lang") },
        }))
    }

    /// Writes to `model` the `languages` between which it translates; by default, those chosen in its files.
    pub(super) fn apply(
        &self,
        languages: &Languages,
        tokenizers: &Tokenizers,
        model: &mut Translator,
    ) -> Result<()> {
        let (encoder, decoder) = (&mut model.encoder, &mut model.decoder);
        let known = tokenizers.src().languages();
        let missing = |which, option| {
            Error::usage(
                format!("nothing says what the {which} language is"),
                format!("give {option}; the model has {}", some_languages(&known)),
            )
        };
        let language = |token: &Option<String>| token.clone().filter(|token| known.contains(token));
        let framed = language(&encoder.source_first.take()).or(language(&encoder.source_last.take()));
        let source = languages.source.as_ref().or(self.owners.source.as_ref());
        let source = source.or(framed.as_ref()).ok_or_else(|| missing("source", "`Languages::source`"))?;
        let source = Some(tokenizers.src().language(source)?);
        match self.source {
            SourcePlace::First => encoder.source_first = source,
            SourcePlace::Last => encoder.source_last = source,
        }
        let forced = language(&model.forced_bos_token);
        let place = match self.target {
            TargetPlace::Start if forced.is_none() => &mut decoder.decoder_start_token,
            _ => &mut model.forced_bos_token,
        };
        let set = language(place);
        let target = languages.target.as_ref().or(self.owners.target.as_ref());
        let target = target.or(set.as_ref()).ok_or_else(|| missing("target", "`Languages::target`"))?;
        *place = Some(tokenizers.tgt().language(target)?);
        Ok(())
    }
}
