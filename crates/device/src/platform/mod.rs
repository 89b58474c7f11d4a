//! What depends on the system.

mod pages;

pub(crate) use pages::Pages;
