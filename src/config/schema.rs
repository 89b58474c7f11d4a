//! The keys of a configuration and their types, derived from the structs themselves.
//!
//! An [`Explorer`] poses as a file that holds every key. The `Deserialize` implementations of the structs ask it for their
//! fields one by one, and it records the requested types, so no list of keys is written twice.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use super::Config;
use super::corpus::CorpusKeys;

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Further keys.
    Section,
    /// `true` or `false`.
    Switch,
    /// A whole number, 0 or more.
    Whole,
    /// Any number.
    Number,
    /// A string.
    Text,
    /// A list of strings.
    Texts,
    /// One of these strings.
    OneOf(&'static [&'static str]),
}

/// The type of every key, keyed by its dotted path.
pub(super) static SCHEMA: LazyLock<BTreeMap<String, Kind>> = LazyLock::new(|| {
    let mut keys = BTreeMap::new();
    let explored = Config::deserialize(Explorer {
        key: String::new(),
        keys: &mut keys,
    });
    assert!(
        explored.is_ok(),
        "the config has a field that `schema.rs` cannot explore: {explored:?}"
    );
    keys
});

/// `section.name`, or `name` at the top level.
pub(super) fn join(section: &str, name: &str) -> String {
    if section.is_empty() {
        name.to_owned()
    } else {
        format!("{section}.{name}")
    }
}

/// Stands for the value of `key` and records its type.
struct Explorer<'a> {
    key: String,
    keys: &'a mut BTreeMap<String, Kind>,
}

impl Explorer<'_> {
    fn note(&mut self, kind: Kind) {
        if !self.key.is_empty() {
            self.keys.insert(std::mem::take(&mut self.key), kind);
        }
    }
}

impl<'de> Deserializer<'de> for Explorer<'_> {
    type Error = Error;

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(Kind::Switch);
        visitor.visit_bool(false)
    }

    fn deserialize_u64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(Kind::Whole);
        visitor.visit_u64(0)
    }

    fn deserialize_f64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(Kind::Number);
        visitor.visit_f64(0.0)
    }

    fn deserialize_string<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(Kind::Text);
        visitor.visit_str("")
    }

    /// Records a list, which always holds strings.
    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(Kind::Texts);
        visitor.visit_seq(SeqDeserializer::new(std::iter::once("")))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(Kind::OneOf(variants));
        visitor.visit_enum(variants[0].into_deserializer())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let section = self.key.clone();
        self.note(Kind::Section);
        visitor.visit_map(Fields {
            section,
            fields: fields.iter(),
            name: "",
            keys: self.keys,
        })
    }

    /// Records the keys of a corpus, the only value of which there may be a list. All keys together do not name one corpus, so
    /// that one is given afterwards.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        CorpusKeys::deserialize(self)?;
        let one = [(CorpusKeys::ONE, "")];
        visitor.visit_map(MapDeserializer::new(one.into_iter()))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 char str bytes byte_buf
        unit unit_struct newtype_struct tuple tuple_struct map identifier ignored_any
    }
}

/// The fields of one struct, each an [`Explorer`].
struct Fields<'a> {
    section: String,
    fields: std::slice::Iter<'static, &'static str>,
    name: &'static str,
    keys: &'a mut BTreeMap<String, Kind>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.fields.next() else {
            return Ok(None);
        };
        self.name = name;
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Explorer {
            key: join(&self.section, self.name),
            keys: self.keys,
        })
    }
}
