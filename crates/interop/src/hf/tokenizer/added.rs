//! Tokens that a tokenizer file adds to the tokens of its model.

use std::collections::BTreeMap;

use attentive_base::batch::TokenId;
use attentive_text::vocabulary;
use serde_json::{Value, json};

/// Marks tokens of the model as special, each once.
///
/// # Errors
/// Describes a token that is not in the vocabulary.
pub(super) fn mark<'a>(
    file: &mut Value,
    tokens: impl IntoIterator<Item = &'a String>,
    id_of: impl Fn(&str) -> Option<TokenId>,
) -> Result<(), String> {
    let mut marked = Vec::new();
    for token in tokens {
        let id = id_of(token).ok_or_else(|| format!("there is no token `{token}`"))?;
        if !marked.iter().any(|&(_, other)| other == id) {
            marked.push((token, id));
        }
    }
    // Libraries number added tokens in this order.
    marked.sort_by_key(|&(_, id)| id);
    push(file, marked);
    Ok(())
}

/// Makes blanks before the added token `token` part of it.
pub(super) fn take_blanks_before(file: &mut Value, token: &str) {
    let added = file["added_tokens"].as_array_mut().into_iter().flatten();
    for entry in added.filter(|entry| entry["content"] == token) {
        entry["lstrip"] = true.into();
    }
}

/// Adds special tokens after the model's, from the id `first` on.
pub(super) fn append<'a>(file: &mut Value, first: TokenId, tokens: impl IntoIterator<Item = &'a String>) {
    push(file, tokens.into_iter().zip(first..));
}

/// Adds the tokens that settings declare: ids in ascending order, and `content` with any of the properties of
/// an added token. Tokens of the model get these properties; a token without any is special if `is_special`
/// returns true.
///
/// # Errors
/// Describes a token whose id belongs to another one or leaves a gap.
pub(super) fn declare(
    file: &mut Value,
    tokens: &[(TokenId, Value)],
    is_special: impl Fn(&str) -> bool,
) -> Result<(), String> {
    if tokens.is_empty() {
        return Ok(());
    }
    let vocab = vocabulary(file.to_string().as_bytes())?;
    let mut next = vocab.values().max().map_or(0, |id| id + 1);
    let mut added = entries(file)?;
    for (id, token) in tokens {
        let content = token["content"].as_str().unwrap_or_default();
        match vocab.get(content) {
            Some(found) if found == id => {}
            None if *id == next => next += 1,
            _ => return Err(format!("`{content}` cannot be token {id}")),
        }
        let declared = token.as_object().filter(|token| token.len() > 1);
        if declared.is_none() && added.contains_key(id) {
            continue;
        }
        let mut entry = entry(*id, content, is_special(content));
        for (key, value) in declared.into_iter().flatten() {
            if let Some(property) = entry.get_mut(key) {
                *property = value.clone();
            }
        }
        added.insert(*id, entry);
    }
    file["added_tokens"] = added.into_values().collect();
    Ok(())
}

/// Returns the size of the vocabulary `vocab` if the tokenizer `file` has additional tokens, all of them
/// special, such as the `<mask>` of models that were later trained without one.
pub(super) fn beyond(file: &Value, vocab: usize) -> Result<Option<usize>, String> {
    let added = entries(file)?;
    let all = vocabulary(file.to_string().as_bytes())?;
    let mut beyond = all.values().filter(|&&id| id as usize >= vocab).peekable();
    let is_special = |id: &&TokenId| added.get(id).is_some_and(|token| token["special"] == true);
    let found = beyond.peek().is_some() && beyond.all(|id| is_special(&id));
    Ok(found.then_some(vocab))
}

/// The added tokens of `file`, by their ids.
fn entries(file: &Value) -> Result<BTreeMap<TokenId, Value>, String> {
    let added = file["added_tokens"].as_array().into_iter().flatten();
    let numbered = added.map(|entry| Some((entry["id"].as_u64()? as TokenId, entry.clone())));
    numbered.collect::<Option<_>>().ok_or_else(|| "an added token has no id".to_owned())
}

/// Returns an added token, which is found in texts wherever it is spelled out, unless it is special.
fn entry(id: TokenId, content: &str, is_special: bool) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": !is_special, "special": is_special,
    })
}

fn push<'a>(file: &mut Value, tokens: impl IntoIterator<Item = (&'a String, TokenId)>) {
    let entries = tokens.into_iter().map(|(token, id)| entry(id, token, true));
    match file["added_tokens"].as_array_mut() {
        Some(added) => added.extend(entries),
        None => file["added_tokens"] = entries.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_added_once_in_the_order_of_ids() {
        let id_of = |token: &str| token.len().checked_sub(1).map(|id| id as TokenId);
        let mut file = json!({});
        let names = ["ccc", "a", "ccc"].map(str::to_owned);
        mark(&mut file, &names, id_of).unwrap();
        append(&mut file, 7, &["new".to_owned()]);
        let added = file["added_tokens"].as_array().unwrap();
        let found: Vec<(u64, &str)> =
            added.iter().map(|one| (one["id"].as_u64().unwrap(), one["content"].as_str().unwrap())).collect();
        assert_eq!(found, [(0, "a"), (2, "ccc"), (7, "new")]);
        assert!(mark(&mut file, &[String::new()], id_of).is_err());
    }

    #[test]
    fn declared_tokens_are_added_behind_the_vocabulary_without_gaps() {
        let vocab = json!({"<s>": 0, "a": 1});
        let file =
            || json!({"model": {"type": "WordLevel", "vocab": vocab, "unk_token": "a"}, "added_tokens": []});
        let declared = |tokens: &[(TokenId, Value)]| {
            let mut file = file();
            declare(&mut file, tokens, |token| token == "<s>").map(|()| file["added_tokens"].clone())
        };
        let tokens = [
            (0, json!({"content": "<s>"})),
            (2, json!({"content": "new", "lstrip": true, "normalized": false, "special": false, "other": 1})),
        ];
        let added = declared(&tokens).unwrap();
        assert_eq!((&added[0]["special"], &added[0]["normalized"]), (&json!(true), &json!(false)));
        assert_eq!(
            added[1],
            json!({
                "id": 2, "content": "new", "single_word": false, "lstrip": true, "rstrip": false,
                "normalized": false, "special": false,
            })
        );
        for (id, content) in [(3, "new"), (1, "<s>"), (0, "a"), (1, "new")] {
            let problem = declared(&[(id, json!({ "content": content }))]).unwrap_err();
            assert_eq!(problem, format!("`{content}` cannot be token {id}"));
        }
    }
}
