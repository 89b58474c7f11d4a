//! Objects that must be written as such. What serde derives for a struct also reads a list of its fields in
//! their order, which no client means.

use serde::de::{Deserializer, Visitor};
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
