//! Fields of requests that change nothing, which are named in a warning.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The fields of a request that are not read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Ignored(BTreeMap<String, Asks>);

/// Whether the value of a field asks for anything: not `null`, `false`, or empty.
#[derive(Debug)]
struct Asks(bool);

impl Ignored {
    /// The warning that names the fields but those that are `neutral`, whose effect is always there.
    pub(super) fn warning(&self, neutral: &[&str]) -> Option<String> {
        /// The maximum number of fields that are named, and of bytes of a name that are shown.
        const MAX_NAMES: usize = 8;
        const MAX_NAME_BYTES: usize = 64;
        let asked = self.0.iter().filter(|(name, asks)| asks.0 && !neutral.contains(&name.as_str()));
        let names: Vec<&str> =
            asked.map(|(name, _)| &name[..name.floor_char_boundary(MAX_NAME_BYTES)]).collect();
        let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
        let more = match names.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let are = if names.len() == 1 { "is" } else { "are" };
        (!names.is_empty()).then(|| format!("{}{more} {are} ignored", shown.join(", ")))
    }
}

impl<'de> Deserialize<'de> for Asks {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

/// Reads any value, and keeps nothing of it.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Asks;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Asks, E> {
        Ok(Asks(false))
    }

    fn visit_bool<E>(self, on: bool) -> Result<Asks, E> {
        Ok(Asks(on))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Asks, E> {
        Ok(Asks(true))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Asks, E> {
        Ok(Asks(true))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Asks, E> {
        Ok(Asks(true))
    }

    fn visit_str<E>(self, text: &str) -> Result<Asks, E> {
        Ok(Asks(!text.is_empty()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Asks, A::Error> {
        let mut asks = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            asks = true;
        }
        Ok(Asks(asks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Asks, A::Error> {
        let mut asks = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            asks = true;
        }
        Ok(Asks(asks))
    }
}
