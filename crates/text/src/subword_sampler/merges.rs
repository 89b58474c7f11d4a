//! BPE-dropout (Provilkov et al. 2020).

use std::collections::HashMap;

use attentive_base::batch::TokenId;
use attentive_base::random::Random;
use serde::Deserialize;

/// The `model` section of a tokenizer with merges.
#[derive(Deserialize)]
pub(super) struct MergesSection {
    merges: Vec<Merge>,
}

/// A merge, in either of the forms in which files have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Joined(String),
}

/// The merges of a vocabulary.
#[derive(Clone, Debug)]
pub(super) struct Merges {
    /// The merges in the order of their left tokens, then of their right tokens.
    rules: Vec<Rule>,
    /// For each token, the index of the first rule with it, or with a later one, on its left.
    starts: Vec<u32>,
    /// For each token, the tokens of which it is merged, none of which is merged itself.
    atoms: Vec<Box<[TokenId]>>,
    dropout: f64,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    left: TokenId,
    right: TokenId,
    /// The place in the order in which merges were learned.
    rank: u32,
    merged: TokenId,
}

impl Merges {
    /// Reads the merges of `section` for a vocabulary of `tokens`. `prefix` marks tokens that continue a
    /// word.
    pub(super) fn new(section: MergesSection, tokens: &[String], prefix: &str, dropout: f64) -> Self {
        let ids: HashMap<&str, TokenId> = tokens.iter().map(String::as_str).zip(0..).collect();
        let mut rules = Vec::with_capacity(section.merges.len());
        for (merge, rank) in section.merges.iter().zip(0..) {
            let Some((left, right)) = merge.sides() else {
                continue;
            };
            let continuation = unmarked(right, prefix);
            let merged = format!("{left}{continuation}");
            let found = (ids.get(left), ids.get(right), ids.get(merged.as_str()));
            // Parts must be shorter than their token, so that taking it apart ends.
            let grows = !unmarked(left, prefix).is_empty() && !continuation.is_empty();
            if let ((Some(&left), Some(&right), Some(&merged)), true) = (found, grows) {
                rules.push(Rule { left, right, rank, merged });
            }
        }
        let atoms = atoms(&rules, tokens, prefix);
        rules.sort_by_key(|rule| (rule.left, rule.right, rule.rank));
        rules.dedup_by_key(|rule| (rule.left, rule.right));
        let start = |left: usize| rules.partition_point(|rule| (rule.left as usize) < left) as u32;
        let starts = (0..=tokens.len()).map(start).collect();
        Self { rules, starts, atoms, dropout }
    }

    /// Appends a segmentation of `word` to `sampled`. Where the tokenizer divides text before it merges, as
    /// in front of a full stop, each token is segmented by itself.
    pub(super) fn sample(&self, word: &[TokenId], random: &mut Random, sampled: &mut Vec<TokenId>) {
        let mut keeps = || !random.chance(self.dropout);
        if self.merge(self.atoms(word), || true) == word {
            sampled.extend(self.merge(self.atoms(word), keeps));
            return;
        }
        for token in word.chunks(1) {
            sampled.extend(self.merge(self.atoms(token), &mut keeps));
        }
    }

    /// The tokens of which `tokens` are merged.
    fn atoms(&self, tokens: &[TokenId]) -> Vec<TokenId> {
        let mut atoms = Vec::with_capacity(4 * tokens.len());
        for token in tokens {
            match self.atoms.get(*token as usize) {
                Some(of_token) => atoms.extend_from_slice(of_token),
                None => atoms.push(*token),
            }
        }
        atoms
    }

    /// Merges `tokens`, the merge that was learned first before the others, until no merge is left that
    /// `keeps` lets through.
    fn merge(&self, mut tokens: Vec<TokenId>, mut keeps: impl FnMut() -> bool) -> Vec<TokenId> {
        let mut rules: Vec<Option<Rule>> =
            tokens.windows(2).map(|pair| self.rule(pair[0], pair[1])).collect();
        loop {
            let possible = rules.iter().enumerate().filter_map(|(place, rule)| Some((place, (*rule)?)));
            let Some((place, rule)) =
                possible.filter(|_| keeps()).min_by_key(|(place, rule)| (rule.rank, *place))
            else {
                return tokens;
            };
            tokens[place] = rule.merged;
            tokens.remove(place + 1);
            rules.remove(place);
            if place > 0 {
                rules[place - 1] = self.rule(tokens[place - 1], tokens[place]);
            }
            if place < rules.len() {
                rules[place] = self.rule(tokens[place], tokens[place + 1]);
            }
        }
    }

    fn rule(&self, left: TokenId, right: TokenId) -> Option<Rule> {
        let &[start, end] = self.starts.get(left as usize..left as usize + 2)? else {
            return None;
        };
        let rules = &self.rules[start as usize..end as usize];
        let found = rules.binary_search_by_key(&right, |rule| rule.right).ok()?;
        Some(rules[found])
    }
}

impl Merge {
    /// Both parts; `None` for a line without exactly one blank.
    fn sides(&self) -> Option<(&str, &str)> {
        match self {
            Self::Pair(left, right) => Some((left, right)),
            Self::Joined(pair) => pair.split_once(' ').filter(|(_, right)| !right.contains(' ')),
        }
    }
}

/// For each token, the tokens that it consists of, none of which is merged from others. `rules` are in the
/// order in which they were learned.
fn atoms(rules: &[Rule], tokens: &[String], prefix: &str) -> Vec<Box<[TokenId]>> {
    let mut parts: Vec<Option<[TokenId; 2]>> = vec![None; tokens.len()];
    for rule in rules {
        parts[rule.merged as usize].get_or_insert([rule.left, rule.right]);
    }
    let mut atoms: Vec<Box<[TokenId]>> = (0..tokens.len() as TokenId).map(|id| [id].into()).collect();
    // The parts of a token are shorter than the token.
    let mut by_length: Vec<usize> = (0..tokens.len()).collect();
    by_length.sort_by_key(|&id| unmarked(&tokens[id], prefix).len());
    for id in by_length {
        if let Some(parts) = parts[id] {
            atoms[id] = parts.iter().flat_map(|&part| atoms[part as usize].to_vec()).collect();
        }
    }
    atoms
}

/// `token` without the mark that it continues a word.
fn unmarked<'a>(token: &'a str, prefix: &str) -> &'a str {
    token.strip_prefix(prefix).unwrap_or(token)
}
