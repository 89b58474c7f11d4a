//! The browser's driver.

use std::env;
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Child, Command, Stdio};
use std::thread;

/// A running `chromedriver`, ended when dropped.
pub(crate) struct Driver {
    process: Child,
    address: String,
}

impl Driver {
    /// Starts it; `None`, with a message, if there is none.
    pub(crate) fn start() -> Option<Self> {
        let mut command = Command::new("chromedriver");
        let started = command.arg("--port=0").stdout(Stdio::piped()).spawn();
        let mut process = match started {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let required = env::var("ATTENTIVE_BROWSER_TESTS").is_ok_and(|it| it == "required");
                assert!(!required, "there is no `chromedriver` on the path");
                eprintln!(
                    "skipped: there is no `chromedriver` on the path (Debian: `chromium-driver`)"
                );
                return None;
            }
            Err(error) => panic!("cannot start `chromedriver`: {error}"),
        };
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("successfully on port ")?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let address = format!("http://127.0.0.1:{}", port.expect("a port"));
        // Whatever else it says must be read, or it stops.
        thread::spawn(move || lines.for_each(drop));
        Some(Self { process, address })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
