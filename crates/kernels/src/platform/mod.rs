//! What depends on the operating system and needs `unsafe`; `attentive_base::platform` has the rest.

mod closed;
mod large_pages;
#[cfg(unix)]
mod lost;
mod mapping;
#[cfg(target_arch = "x86_64")]
mod matrix_unit;
#[cfg(not(unix))]
mod never_lost;

pub use closed::stdout_was_closed;
pub(crate) use large_pages::prefer_large_pages;
#[cfg(unix)]
pub(crate) use lost::MappingGuard;
pub(crate) use mapping::Mapping;
#[cfg(target_arch = "x86_64")]
pub(crate) use matrix_unit::permits_matrix_unit;
#[cfg(not(unix))]
pub(crate) use never_lost::NeverLost as MappingGuard;
