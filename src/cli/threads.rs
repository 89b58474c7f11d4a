//! How many threads compute.

use std::num::NonZeroUsize;

use attentive::error::{Error, Result};

/// Sets up the pool that all kernels share.
pub(super) fn choose(threads: Option<NonZeroUsize>) -> Result<()> {
    let Some(threads) = threads else {
        return Ok(());
    };
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .build_global()
        .map_err(|error| {
            Error::usage(
                format!("`--threads {threads}`: {error}"),
                "ask for fewer threads",
            )
        })
}
