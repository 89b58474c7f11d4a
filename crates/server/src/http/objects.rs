//! Objects that must be written as such. What serde derives for a struct also reads a list of its fields in
//! their order, which no client means.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use attentive_base::shown::shown;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Reads structs from objects only.
pub(crate) struct AsObject<D>(pub(crate) D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for AsObject<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Reads an object of strings, no name of which may be repeated.
///
/// # Errors
/// An error that names the repeated one.
pub(crate) fn unique<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    from.deserialize_map(UniqueNames)
}

struct UniqueNames;

impl<'de> Visitor<'de> for UniqueNames {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut read = BTreeMap::new();
        while let Some((name, value)) = fields.next_entry::<String, String>()? {
            match read.entry(name) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(taken) => {
                    return Err(A::Error::custom(format_args!("duplicate field `{}`", shown(taken.key()))));
                }
            };
        }
        Ok(read)
    }
}

/// Lets a struct with `#[serde(remote = "Self")]` be read from objects only.
macro_rules! only_as_object {
    ($name:ty) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::deserialize($crate::http::objects::AsObject(from))
            }
        }
    };
}

pub(crate) use only_as_object;
