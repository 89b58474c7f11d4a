//! The tokens around a text.

use attentive_base::batch::TokenId;
use serde_json::{Map, Value, json};

/// The tokens that a tokenizer puts around a single text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SurroundingTokens {
    pub(super) first: Option<String>,
    pub(super) last: Option<String>,
    /// A language token after the last token.
    pub(super) language: Option<String>,
}

impl SurroundingTokens {
    pub(super) fn new(first: Option<&str>, last: Option<&str>) -> Self {
        let [first, last] = [first, last].map(|token| token.map(str::to_owned));
        Self { first, last, language: None }
    }

    /// Reads the tokens in the post-processor of the tokenizer `file`.
    pub(super) fn read(file: &Value) -> Result<Self, String> {
        let mut processor = &file["post_processor"];
        if processor["type"] == "Sequence" {
            let all = processor["processors"].as_array().into_iter().flatten();
            let adding: Vec<&Value> = all.filter(|one| one["type"] != "ByteLevel").collect();
            processor = match adding[..] {
                [] => &Value::Null,
                [only] => only,
                _ => return Err("several post-processors add tokens".into()),
            };
        }
        let token = |value: &Value| value[0].as_str().map(str::to_owned);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        match processor["type"].as_str() {
            None | Some("ByteLevel") => {}
            Some("BertProcessing" | "RobertaProcessing") => {
                before.extend(token(&processor["cls"]));
                after.extend(token(&processor["sep"]));
            }
            Some("TemplateProcessing") => {
                let mut is_after = false;
                for piece in processor["single"].as_array().into_iter().flatten() {
                    match piece["SpecialToken"]["id"].as_str() {
                        None => is_after = true,
                        Some(token) if is_after => after.push(token.to_owned()),
                        Some(token) => before.push(token.to_owned()),
                    }
                }
            }
            Some(other) => return Err(format!("the post-processor `{other}` is not supported")),
        }
        if before.len() > 1 || after.len() > 2 {
            return Err("it puts too many tokens before or after a text".into());
        }
        let mut after = after.into_iter();
        Ok(Self { first: before.pop(), last: after.next(), language: after.next() })
    }

    /// Writes these tokens to the tokenizer `file`, in which `id_of` gives the ids.
    ///
    /// # Errors
    /// Describes a token without an id.
    pub(super) fn write(
        &self,
        file: &mut Value,
        id_of: impl Fn(&str) -> Option<TokenId>,
    ) -> Result<(), String> {
        let special = |token: &String| json!({"SpecialToken": {"id": token, "type_id": 0}});
        let single: Vec<Value> = self
            .first
            .iter()
            .map(special)
            .chain([json!({"Sequence": {"id": "A", "type_id": 0}})])
            .chain(self.last.iter().chain(&self.language).map(special))
            .collect();
        let mut tokens = Map::new();
        for token in self.first.iter().chain(&self.last).chain(&self.language) {
            let id = id_of(token).ok_or_else(|| format!("there is no token `{token}`"))?;
            let entry = json!({"id": token, "ids": [id], "tokens": [token]});
            tokens.insert(token.clone(), entry);
        }
        file["post_processor"] = json!({
            "type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": tokens,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_from_post_processors() {
        let special = |token: &str| json!({"SpecialToken": {"id": token, "type_id": 0}});
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let of = |single: Value| {
            SurroundingTokens::read(
                &json!({"post_processor": {"type": "TemplateProcessing", "single": single}}),
            )
        };
        let both = of(json!([special("[CLS]"), text, special("[SEP]")]));
        assert_eq!(both, Ok(SurroundingTokens::new(Some("[CLS]"), Some("[SEP]"))));
        assert_eq!(of(json!([text])), Ok(SurroundingTokens::default()));
        assert!(of(json!([special("a"), special("b"), text])).is_err());
        let language = of(json!([text, special("</s>"), special("en_XX")])).unwrap();
        assert_eq!(language.last.as_deref(), Some("</s>"));
        assert_eq!(language.language.as_deref(), Some("en_XX"));
        assert_eq!(
            SurroundingTokens::read(&json!({"post_processor": null})),
            Ok(SurroundingTokens::default())
        );
        assert!(SurroundingTokens::read(&json!({"post_processor": {"type": "Other"}})).is_err());
    }

    #[test]
    fn tokens_that_are_written_are_read() {
        let id_of = |token: &str| ["[CLS]", "[SEP]"].iter().position(|one| *one == token);
        let id_of = |token: &str| id_of(token).map(|id| id as TokenId);
        let surrounding = SurroundingTokens::new(Some("[CLS]"), Some("[SEP]"));
        let mut file = json!({});
        surrounding.write(&mut file, id_of).unwrap();
        assert_eq!(SurroundingTokens::read(&file), Ok(surrounding));
        let ids = &file["post_processor"]["special_tokens"]["[SEP]"]["ids"];
        assert_eq!(ids, &json!([1]));
        let unknown = SurroundingTokens::new(None, Some("</s>"));
        assert!(unknown.write(&mut file, id_of).is_err());
    }
}
