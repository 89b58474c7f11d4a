//! Fields of requests that change nothing, which are named in warnings.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The fields of a request that are not read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Ignored(BTreeMap<String, IgnoredAny>);

impl Ignored {
    /// A warning for each field but those that are `neutral`, whose effect is always there.
    pub(super) fn warnings(&self, neutral: &[&str]) -> Vec<String> {
        /// The maximum number of bytes of a name that is told.
        const LONGEST: usize = 64;
        let names = self.0.keys().filter(|name| !neutral.contains(&name.as_str()));
        names.map(|name| format!("`{}` is ignored", &name[..name.floor_char_boundary(LONGEST)])).collect()
    }
}
