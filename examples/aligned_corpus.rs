//! English and German sentences with the links between their words, to measure word alignments:
//! `cargo run --release --example aligned_corpus -- 20000 grammar` writes `grammar.en`, `grammar.de` and
//! `grammar.gold`, for `attentive align grammar.en grammar.de --gold grammar.gold --output links`.

use std::fs;
use std::path::Path;

use attentive::config::BuiltinTask;
use attentive::data::builtin::generate;
use attentive::error::{Error, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let n_pairs = arguments.next().and_then(|number| number.parse().ok());
    let (Some(n_pairs), Some(name)) = (n_pairs, arguments.next()) else {
        return Err(Error::usage("expected a number and a name", "pass the number of pairs and a file name"));
    };
    let (mut english, mut german, mut gold) = (String::new(), String::new(), String::new());
    for pair in generate(BuiltinTask::Grammar, 1, n_pairs) {
        english += &format!("{}\n", pair.src.text);
        german += &format!("{}\n", pair.tgt.text);
        gold += &format!("{}\n", pair.links);
    }
    for (extension, text) in [("en", english), ("de", german), ("gold", gold)] {
        let path = format!("{name}.{extension}");
        fs::write(&path, text).map_err(Error::io("write", Path::new(&path)))?;
    }
    Ok(())
}
