//! The browser's driver.

use std::env;
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

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

    /// Opens a browser.
    pub(crate) fn session(&self) -> Session {
        let options = [
            "--headless=new",
            "--no-sandbox",
            "--hide-scrollbars",
            "--window-size=1400,1000",
        ];
        let wanted = json!({"goog:chromeOptions": {"args": options}, "goog:loggingPrefs": {"browser": "ALL"}});
        let agent = Agent::new_with_defaults();
        let sessions = format!("{}/session", self.address);
        let wanted = json!({"capabilities": {"alwaysMatch": wanted}});
        let opened = send(&agent, &sessions, wanted);
        let id = opened["sessionId"].as_str().expect("a session");
        Session {
            address: format!("{sessions}/{id}"),
            agent,
        }
    }
}

/// A browser, closed when dropped. Commands are those of the WebDriver standard (W3C 2018) and of `chromedriver`.
pub(crate) struct Session {
    agent: Agent,
    address: String,
}

impl Session {
    /// Sends the command with this path and returns its result.
    pub(crate) fn post(&self, path: &str, body: Value) -> Value {
        send(&self.agent, &format!("{}/{path}", self.address), body)
    }

    /// What the command with this path tells.
    pub(crate) fn get(&self, path: &str) -> Value {
        let address = format!("{}/{path}", self.address);
        value(path, self.agent.get(&address).call())
    }
}

fn send(agent: &Agent, address: &str, body: Value) -> Value {
    let request = agent.post(address).config().http_status_as_error(false);
    value(address, request.build().send_json(body))
}

/// What the driver answers to a command.
fn value(command: &str, answer: Result<Response<Body>, ureq::Error>) -> Value {
    let mut answer = answer.unwrap_or_else(|error| panic!("{command}: {error}"));
    let text = answer
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_string();
    let mut answer: Value = serde_json::from_str(&text.unwrap()).unwrap();
    let value = answer["value"].take();
    assert!(value["error"].is_null(), "{command}: {value}");
    value
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.agent.delete(&self.address).call();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
