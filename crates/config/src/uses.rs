//! The families that use each key, for the reference. They are found by trying which keys each family leaves unused.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::check::unused::unused;
use super::{Config, Family, StackKind};

/// Who uses a key.
#[derive(Debug, Default)]
pub(super) struct Use {
    /// The families in which the key has an effect, at least with some values of other keys.
    pub(super) families: Vec<Family>,
    /// The reasons for which it has none in these families with others.
    pub(super) except: Vec<&'static str>,
}

/// Values of keys on which it depends whether others are used, to try one after another in every family.
const TRIED: [&[&str]; 14] = [
    &[],
    &["model.positions='learned'"],
    &["model.positions='relative'"],
    &["model.positions='rotary'"],
    &[
        "model.positions='rotary'",
        "model.rotary_scaling.kind='llama3'",
    ],
    &["model.embedding_norm=true"],
    &["model.word_pieces=true"],
    &["model.recurrent.d_input=8"],
    &["model.from='base'"],
    &["tokenizer.from='tokenizer'"],
    &["tokenizer.kind='word'"],
    &["data.units='stream'"],
    &["train.optimizer.kind='sgd'"],
    &["model.decoder_mixing='ssru'"],
];

/// Who uses each of `keys`, among `families`.
pub(super) fn uses<'a>(keys: &[&'a str], families: &[Family]) -> BTreeMap<&'a str, Use> {
    let kinds = [
        None,
        Some(StackKind::Transformer),
        Some(StackKind::Recurrent),
    ];
    let mut uses: BTreeMap<&str, Use> = keys.iter().map(|&key| (key, Use::default())).collect();
    for &family in families {
        let mut tried = Vec::new();
        for set in TRIED {
            let mut table: Table = set.join("\n").parse().expect("TOML");
            let model = table.entry("model").or_insert_with(|| Table::new().into());
            let name = Value::try_from(family).expect("a string");
            let model = model.as_table_mut().expect("a section");
            model.insert("family".into(), name);
            let config: Config = table.try_into().expect("a configuration");
            let stacks = kinds.map(|encoder| kinds.map(|decoder| (encoder, decoder)));
            for (encoder, decoder) in stacks.into_iter().flatten() {
                let mut config = config.clone();
                (config.model.encoder, config.model.decoder) = (encoder, decoder);
                tried.push(unused(&config));
            }
        }
        for (key, found) in &mut uses {
            let reasons = |rules: &[(&str, &'static str)]| -> Option<&'static str> {
                rules
                    .iter()
                    .find(|(unused, _)| unused == key)
                    .map(|(_, reason)| *reason)
            };
            let reasons: Vec<Option<&str>> = tried.iter().map(|rules| reasons(rules)).collect();
            if reasons.contains(&None) {
                found.families.push(family);
                let new = reasons.into_iter().flatten();
                for reason in new {
                    if !found.except.contains(&reason) {
                        found.except.push(reason);
                    }
                }
            }
        }
    }
    uses
}
