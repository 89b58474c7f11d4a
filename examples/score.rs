//! BLEU of one string against another:
//! `cargo run --example score -- "the cat sat on a mat" "the cat sat on the mat"`.

use attentive::error::{Error, Result};
use attentive::metrics::Bleu;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(hypothesis), Some(reference)) = (arguments.next(), arguments.next()) else {
        return Err(Error::usage("expected two arguments", "pass an output and its reference"));
    };
    println!("{}", Bleu::default().sentence(&hypothesis, &[&reference]));
    Ok(())
}
