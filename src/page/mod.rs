//! Pages to look at in a browser: each is one HTML file that needs nothing else, no network and no server.

mod attention;

pub use attention::attention;
