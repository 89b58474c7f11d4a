//! Continues a text with a language model: `cargo run --release --example generate -- MODEL "To be"`.

use attentive::error::{Error, Result};
use attentive::pipeline::{GenerateOptions, Pipeline};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(model), Some(prompt)) = (arguments.next(), arguments.next()) else {
        return Err(Error::usage(
            "expected two arguments",
            "pass the directory of a language model and the beginning of a text",
        ));
    };
    let pipeline = Pipeline::load(model)?;
    let prompt = pipeline.prompt(&prompt)?;
    print!("{}", prompt.text());
    // The text comes in pieces, each as soon as it is known.
    pipeline.generate(&prompt, &GenerateOptions::default(), &mut |piece| {
        print!("{piece}");
        Ok(())
    })?;
    println!();
    Ok(())
}
