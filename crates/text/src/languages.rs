//! The languages of multilingual translation models.

use attentive_base::error::{Error, Result};
use attentive_config::{FamilyConfig, Translator};

use super::{KnownLanguage, Tokenizer, Tokenizers};

/// The maximum number of languages that a message names.
const NAMED: usize = 12;

/// The languages of a text and of its translation, as the tokenizer spells them, such as `de_DE`, or their
/// codes, such as `de` for `__de__`. A missing language is taken from the model's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// The language of the text.
    pub source: Option<String>,
    /// The language of the translation.
    pub target: Option<String>,
}

impl Languages {
    /// Refuses any language, for a model with only one language on each side.
    ///
    /// # Errors
    /// [`Error::Usage`] if a language is given.
    pub fn refuse(&self) -> Result<()> {
        match self.source.as_ref().or(self.target.as_ref()) {
            None => Ok(()),
            Some(_) => Err(Error::usage("the model has no languages to choose from", "omit the languages")),
        }
    }

    /// Returns the languages of a model of many: for each side on which the model of this family reads or
    /// writes a token of its language, that of the code given for it. Nothing for a model of one pair, whose
    /// files do not tell its languages.
    ///
    /// # Errors
    /// [`Error::Usage`] for a language that the model does not have.
    pub fn matching(
        [source, target]: [&str; 2],
        tokenizers: &Tokenizers,
        family: &FamilyConfig,
    ) -> Result<Self> {
        let Some(model) = family.translator() else {
            return Ok(Self::default());
        };
        let is_language = |token: &&String| code_of(token).is_some();
        let (encoder, decoder) = (&model.encoder, &model.decoder);
        let first = encoder.source_first.as_ref().filter(is_language);
        let before_source = first.filter(|token| token.starts_with(BEFORE_SOURCE));
        let of_source = first.filter(|token| !token.starts_with(BEFORE_SOURCE));
        let of_source = of_source.or(encoder.source_last.as_ref().filter(is_language));
        let of_target = before_source
            .or(decoder.decoder_start_token.as_ref().filter(is_language))
            .or(model.forced_bos_token.as_ref().filter(is_language));
        let find = |tokenizer: &Tokenizer, code: &str| {
            // Another script is another pair; many tokens tell only a region, or nothing.
            let wanted = plain(code);
            let fits = |token: &String| {
                let found = plain(code_of(token).unwrap_or_default());
                let scripts = [script_of(&found), script_of(&wanted)];
                scripts.contains(&None) || scripts[0] == scripts[1]
            };
            match tokenizer.languages_of(code).into_iter().find(fits) {
                Some(token) => Ok(token),
                None => tokenizer.language(code),
            }
        };
        let source = of_source.map(|_| find(tokenizers.src(), source)).transpose()?;
        let is_marked = !Self::marks(&tokenizers.src().languages(), model).is_empty();
        let target = match of_target {
            Some(_) => Some(find(tokenizers.tgt(), target)?),
            None if is_marked && first.is_none() => Some(find(tokenizers.src(), target)?),
            None => None,
        };
        Ok(Self { source, target })
    }

    /// Those of the tokens `languages` of a source vocabulary with one of which every text must begin,
    /// whether or not the model's configuration says which one is meant.
    pub fn marks(languages: &[String], model: &Translator) -> Vec<String> {
        let names_one = |token: &Option<String>| token.as_deref().and_then(code_of).is_some();
        let (encoder, decoder) = (&model.encoder, &model.decoder);
        let places = [&encoder.source_last, &decoder.decoder_start_token, &model.forced_bos_token];
        let are_marks = languages.iter().all(|token| token.starts_with(BEFORE_SOURCE));
        if are_marks && !places.into_iter().any(names_one) { languages.to_vec() } else { Vec::new() }
    }

    /// Sets the languages between which a model of this family translates.
    ///
    /// # Errors
    /// [`Error::Usage`] for a language without a token in the vocabulary, for the language of a text if its
    /// token means that of the translation, and for a model that does not translate.
    pub fn apply(&self, tokenizers: &Tokenizers, family: &mut FamilyConfig) -> Result<()> {
        let (FamilyConfig::Transformer(model) | FamilyConfig::Seq2seq(model)) = family else {
            return self.refuse();
        };
        let (encoder, decoder) = (&mut model.encoder, &mut model.decoder);
        if let Some(code) = &self.source {
            let token = tokenizers.src().language(code)?;
            if token.starts_with(BEFORE_SOURCE) {
                let problem = format!(
                    "`{token}` names the language of translations: the model is not told that of texts"
                );
                return Err(Error::usage(problem, "omit the language of the text"));
            }
            match encoder.source_last {
                Some(_) => encoder.source_last = Some(token),
                None => encoder.source_first = Some(token),
            }
        }
        if let Some(code) = &self.target {
            let in_source = tokenizers.src().language(code).ok();
            let before_source = in_source.filter(|token| token.starts_with(BEFORE_SOURCE));
            let token = before_source.map_or_else(|| tokenizers.tgt().language(code), Ok)?;
            let start = decoder.decoder_start_token.as_deref();
            let starts = start.and_then(code_of).is_some();
            if token.starts_with(BEFORE_SOURCE) {
                encoder.source_first = Some(token)
            } else if starts {
                decoder.decoder_start_token = Some(token)
            } else {
                model.forced_bos_token = Some(token)
            }
        }
        Ok(())
    }
}

/// The beginning of a token for the target language that stands before the source text, such as `>>de<<`.
const BEFORE_SOURCE: &str = ">>";

/// The code in `token`, if it has the format of a language token.
pub(super) fn code_of(token: &str) -> Option<&str> {
    let between = |open, close| token.strip_prefix(open)?.strip_suffix(close);
    let marked = between("__", "__").or_else(|| between(BEFORE_SOURCE, "<<"));
    let is_short =
        |code: &str| matches!(code.len(), 2 | 3) && code.bytes().all(|byte| byte.is_ascii_lowercase());
    match (marked, token.split_once('_')) {
        (Some(code), _) if token.starts_with(BEFORE_SOURCE) => Some(code),
        (Some(code), _) => Some(code).filter(|code| is_short(code)),
        (None, Some((language, region))) => {
            let is_region = matches!(region.len(), 2..=4)
                && region.starts_with(|first: char| first.is_ascii_uppercase())
                && region.bytes().all(|byte| byte.is_ascii_alphabetic());
            Some(token).filter(|_| is_short(language) && is_region)
        }
        (None, None) => None,
    }
}

impl Tokenizer {
    /// Returns the tokens of languages, in the order of their ids.
    pub fn languages(&self) -> Vec<String> {
        let mut added = self.added();
        added.retain(|(_, token)| code_of(token).is_some());
        added.sort_unstable();
        added.into_iter().map(|(_, token)| token).collect()
    }

    /// Returns the tokens of the language `code`, such as `pt`, `por` or `pt-br`, in any spelling. Those
    /// whose region or script is the given one come first.
    pub fn languages_of(&self, code: &str) -> Vec<String> {
        let base = |code: &str| code.split('-').next().unwrap_or_default().to_owned();
        let wanted = plain(code);
        let known = KnownLanguage::of(&base(&wanted)).map(|known| known.code);
        let is_same = |found: &str| {
            let found = base(found);
            found == base(&wanted)
                || known.is_some_and(|known| KnownLanguage::of(&found).is_some_and(|of| of.code == known))
        };
        let script = script_of(&wanted);
        let mut found = self.languages();
        found.retain(|token| code_of(token).is_some_and(|code| is_same(&plain(code))));
        found.sort_by_key(|token| {
            let code = plain(code_of(token).unwrap_or_default());
            (code != wanted, script_of(&code) != script)
        });
        found
    }

    /// Returns the token of the language `code`, which may be the token itself.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none; its hint names some.
    pub fn language(&self, code: &str) -> Result<String> {
        let languages = self.languages();
        let found = languages.iter().find(|token| *token == code || code_of(token) == Some(code));
        found.cloned().ok_or_else(|| {
            let hint = if languages.is_empty() {
                "it is not multilingual: omit the language".into()
            } else {
                match near(code, &languages, self.languages_of(code)) {
                    near if near.is_empty() => format!("its languages are {}", some(&languages)),
                    near => format!("did you mean {}?", some(&near)),
                }
            };
            Error::usage(format!("the model has no language `{code}`"), hint)
        })
    }
}

/// A code such as `zho_Hant` in the spelling `zho-hant`.
fn plain(code: &str) -> String {
    code.to_lowercase().replace('_', "-")
}

/// The script that a code such as `zh-hant` names, or its region implies.
fn script_of(code: &str) -> Option<&str> {
    code.split('-').skip(1).find_map(|part| match part {
        "tw" | "hk" | "mo" => Some("hant"),
        "cn" | "sg" => Some("hans"),
        script if script.len() == 4 && script.bytes().all(|byte| byte.is_ascii_alphabetic()) => Some(script),
        _ => None,
    })
}

/// The tokens that `code` may have been meant for: those of its language, or else those of `languages` that
/// begin like it.
fn near(code: &str, languages: &[String], same: Vec<String>) -> Vec<String> {
    let start: String = code.chars().take(2).flat_map(char::to_lowercase).collect();
    let begins = |token: &&String| code_of(token).is_some_and(|code| code.to_lowercase().starts_with(&start));
    if same.is_empty() && start.len() == 2 {
        languages.iter().filter(begins).cloned().collect()
    } else {
        same
    }
}

/// Some of `languages`, for a message.
pub fn some(languages: &[String]) -> String {
    let named = languages[..languages.len().min(NAMED)].join(", ");
    match languages.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use attentive_config::{TokenizerConfig, TokenizerKind, Translator};

    use super::*;
    use crate::{Masks, learn};

    #[test]
    fn tokens_of_languages_are_recognized() {
        let cases = [
            ("de_DE", Some("de_DE")),
            ("en_XX", Some("en_XX")),
            ("deu_Latn", Some("deu_Latn")),
            ("__de__", Some("de")),
            ("__ast__", Some("ast")),
            (">>cmn_Hans<<", Some("cmn_Hans")),
            ("__init__", None),
            ("<mask>", None),
            ("▁a_B", None),
            ("de_de", None),
        ];
        for (token, code) in cases {
            assert_eq!(code_of(token), code, "{token}");
        }
    }

    /// Tokenizers with tokens of languages.
    fn tokenizers() -> Tokenizers {
        let config =
            TokenizerConfig { kind: TokenizerKind::Word, min_frequency: 1, ..TokenizerConfig::default() };
        let learned = learn(&config, Masks::Without, &[], &["a dog"]).unwrap();
        let mut json: serde_json::Value = serde_json::from_slice(learned.tgt().to_json()).unwrap();
        let first = learned.tgt().vocab_size();
        let added = json["added_tokens"].as_array_mut().unwrap();
        for (id, token) in (first..).zip(["fr_XX", "de_DE", "__de__", ">>deu<<", "zho_Hans", "plain"]) {
            let mut entry = added[0].clone();
            entry["id"] = id.into();
            entry["content"] = token.into();
            added.push(entry);
        }
        let names = &config.special;
        let tokenizer = Tokenizer::from_json(json.to_string().into_bytes(), names);
        Tokenizers::Shared(tokenizer.unwrap())
    }

    #[test]
    fn languages_are_matched_by_their_codes() {
        let tokenizers = tokenizers();
        let token = |token: &str| Some(token.to_owned());
        let matching = |pair: [&str; 2], model: Translator| {
            Languages::matching(pair, &tokenizers, &FamilyConfig::Transformer(model))
        };
        let mut both = Translator::default();
        assert_eq!(matching(["xx", "yy"], both.clone()).unwrap(), Languages::default());
        both.encoder.source_first = token("fr_XX");
        both.forced_bos_token = token("de_DE");
        let found = matching(["de", "fra"], both.clone()).unwrap();
        assert_eq!([found.source, found.target], [token("__de__"), token("fr_XX")]);
        for (pair, missing) in [(["it", "de"], "`it`"), (["de", "it"], "`it`")] {
            let error = matching(pair, both.clone()).unwrap_err().to_string();
            assert!(error.contains(missing), "{error}");
        }
        let chinese = |code| matching([code, "de"], both.clone()).map(|found| found.source);
        for code in ["zh", "zh-CN", "zh-hans", "zho_Hans"] {
            assert_eq!(chinese(code).unwrap(), token("zho_Hans"), "{code}");
        }
        // A script that the model does not have is not replaced by another one.
        for code in ["zh-TW", "zh-hant", "zho_Hant", "ZHO_HANT"] {
            let error = chinese(code).unwrap_err().to_string();
            assert!(error.contains(&format!("`{code}`")), "{error}");
        }
        let scripts = |code| super::script_of(code);
        assert_eq!(
            ["zh-tw", "zh-hans", "pt-br", "sr-latn"].map(scripts),
            [Some("hant"), Some("hans"), None, Some("latn")]
        );
        // The source may be of any language.
        let mut marked = Translator::default();
        marked.encoder.source_first = token(">>deu<<");
        let found = matching(["xx", "de"], marked.clone()).unwrap();
        assert_eq!([found.source, found.target], [None, token("__de__")]);
        assert!(matching(["de", "xx"], marked).is_err());
    }

    #[test]
    fn languages_take_their_places() {
        let tokenizers = tokenizers();
        let of = |source: Option<&str>, target: Option<&str>, model: Translator| {
            let [source, target] = [source, target].map(|code| code.map(str::to_owned));
            let mut family = FamilyConfig::Transformer(model);
            let applied = Languages { source, target }.apply(&tokenizers, &mut family);
            applied.map(|()| family.translator().unwrap().clone())
        };
        let plain = Translator::default;
        let token = |token: &str| Some(token.to_owned());
        let both = of(Some("fr_XX"), Some("de"), plain()).unwrap();
        assert_eq!(both.encoder.source_first, token("fr_XX"));
        assert_eq!(both.forced_bos_token, token("__de__"));
        let marked = of(None, Some("deu"), plain()).unwrap();
        assert_eq!(marked.encoder.source_first, token(">>deu<<"));
        assert_eq!(marked.forced_bos_token, None);
        // The place before a source is the translation's.
        let error = of(Some("deu"), None, plain()).unwrap_err().to_string();
        assert!(error.contains("`>>deu<<` names the language of translations"), "{error}");
        let mut other_places = plain();
        other_places.encoder.source_last = token("de_DE");
        other_places.decoder.decoder_start_token = token("de_DE");
        let both = of(Some("fr_XX"), Some("fr_XX"), other_places).unwrap();
        assert_eq!(
            [both.encoder.source_last, both.decoder.decoder_start_token],
            [token("fr_XX"), token("fr_XX")]
        );
        assert_eq!([both.encoder.source_first, both.forced_bos_token], [None, None]);
        let hint_for = |code| of(Some(code), None, plain()).unwrap_err().hint().unwrap();
        assert_eq!(hint_for("fr"), "did you mean fr_XX?");
        assert_eq!(hint_for("ger"), "its languages are fr_XX, de_DE, __de__, >>deu<<, zho_Hans");
        assert_eq!(hint_for("DEU"), "did you mean >>deu<<, de_DE, __de__?");
        assert_eq!(hint_for("de-de"), "did you mean de_DE, __de__, >>deu<<?");
        assert_eq!(hint_for("frankish"), "did you mean fr_XX?");
        let error = of(Some("plain"), None, plain()).unwrap_err();
        assert!(error.to_string().contains("no language `plain`"), "{error}");
        assert_eq!(error.hint().unwrap(), "its languages are fr_XX, de_DE, __de__, >>deu<<, zho_Hans");
    }
}
