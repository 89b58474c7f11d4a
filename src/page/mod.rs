//! Pages for the browser. Each is a self-contained HTML file that needs no network and no server.

mod attention;
mod explanation;

pub use attention::attention;
pub use explanation::explanation;
