//! Translates one line: `cargo run --release --example translate -- MODEL "A man rides a bike."`.

use attentive::error::{Error, Result};
use attentive::pipeline::Pipeline;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(model), Some(line)) = (arguments.next(), arguments.next()) else {
        return Err(Error::usage("expected two arguments", "pass a model directory and a line of text"));
    };
    let pipeline = Pipeline::load(model)?;
    for translation in pipeline.translate(&[line])? {
        println!("{translation}");
    }
    Ok(())
}
