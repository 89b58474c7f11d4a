//! Trains as a configuration says: `cargo run --release --example train -- my.toml runs/my`.

use std::path::Path;

use attentive::config::Config;
use attentive::error::{Error, Result};
use attentive::interrupt::Interrupt;
use attentive::processes::Processes;
use attentive::train::report::{Event, Observer};
use attentive::train::{Existing, RunOptions, train};

/// Prints the loss on the validation data.
struct Validations;

impl Observer for Validations {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Validation(report) = event {
            println!("update {}: loss {:.3}", report.step, report.loss);
        }
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(config), Some(out)) = (arguments.next(), arguments.next()) else {
        return Err(Error::usage(
            "expected two arguments",
            "pass a configuration file and the directory to write",
        ));
    };
    let config = Config::load(Path::new(&config), &[])?;
    let options = RunOptions {
        out: out.into(),
        existing: Existing::Refuse,
        interrupt: Interrupt::none(),
        processes: Processes::alone(),
    };
    let summary = train(&config, &options, &mut Validations)?;
    println!("{} updates in {:.0} s", summary.step, summary.seconds);
    Ok(())
}
