//! Pages for the browser. Each is a self-contained HTML file that needs no network and no server.

mod attention;

pub use attention::{attention, explanation};
