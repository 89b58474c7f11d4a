//! Tokens that a tokenizer file adds to those of its model.

use serde_json::{Value, json};

use crate::batch::TokenId;

/// Marks tokens of the model as special, each once.
///
/// # Errors
/// A token that is not in the vocabulary.
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

/// Adds special tokens after the model's, from the id `first` on.
pub(super) fn append<'a>(
    file: &mut Value,
    first: TokenId,
    tokens: impl IntoIterator<Item = &'a String>,
) {
    push(file, tokens.into_iter().zip(first..));
}

fn push<'a>(file: &mut Value, tokens: impl IntoIterator<Item = (&'a String, TokenId)>) {
    let entries = tokens.into_iter().map(|(token, id)| {
        json!({
            "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        })
    });
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
        let found: Vec<(u64, &str)> = added
            .iter()
            .map(|one| {
                (
                    one["id"].as_u64().unwrap(),
                    one["content"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(found, [(0, "a"), (2, "ccc"), (7, "new")]);
        assert!(mark(&mut file, &[String::new()], id_of).is_err());
    }
}
