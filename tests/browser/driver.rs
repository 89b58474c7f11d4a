//! The browser's driver.

use std::env;
use std::io::{BufRead, BufReader, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::http::{self, Connection, Reply};

/// A running `chromedriver`, ended when dropped.
pub(crate) struct Driver {
    process: Child,
    address: SocketAddr,
}

impl Driver {
    /// Starts it; `None`, with a message, if there is none.
    pub(crate) fn start() -> Option<Self> {
        for _ in 0..5 {
            let process = Self::spawn()?;
            if let Some(driver) = Self::listening(process) {
                return Some(driver);
            }
            // Another program took the port that it had chosen.
        }
        panic!("`chromedriver` found no port");
    }

    /// Its process; `None`, with a message, if there is none.
    fn spawn() -> Option<Child> {
        let mut command = Command::new("chromedriver");
        match command.arg("--port=0").stdout(Stdio::piped()).spawn() {
            Ok(process) => Some(process),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let required = env::var("ATTENTIVE_BROWSER_TESTS").is_ok_and(|it| it == "required");
                assert!(!required, "there is no `chromedriver` on the path");
                eprintln!("skipped: there is no `chromedriver` on the path (Debian: `chromium-driver`)");
                None
            }
            Err(error) => panic!("cannot start `chromedriver`: {error}"),
        }
    }

    /// The driver once it listens; `None` if it has ended.
    fn listening(mut process: Child) -> Option<Self> {
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let Some(port): Option<u16> = port else {
            // It has said all that it will say.
            let _ = process.wait();
            return None;
        };
        let address = (Ipv4Addr::LOCALHOST, port).into();
        // Whatever else it says must be read, or it stops.
        thread::spawn(move || lines.for_each(drop));
        Some(Self { process, address })
    }

    /// Opens a browser.
    pub(crate) fn session(&self) -> Session {
        let options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1400,1000"];
        let wanted =
            json!({"goog:chromeOptions": {"args": options}, "goog:loggingPrefs": {"browser": "ALL"}});
        let wanted = json!({"capabilities": {"alwaysMatch": wanted}});
        // On a busy machine, the driver may give up before the browser has started.
        let open = |_| outcome(http::post(self.address, "/session", &wanted)).ok();
        let opened = (0..5).find_map(open).expect("a browser");
        let id = opened["sessionId"].as_str().expect("a session");
        Session { driver: self.address, path: format!("/session/{id}") }
    }
}

/// A browser, closed when dropped. Commands are those of the WebDriver standard (W3C 2018) and of
/// `chromedriver`.
pub(crate) struct Session {
    driver: SocketAddr,
    path: String,
}

impl Session {
    /// Sends the command with this path and returns its result.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: Value) -> Value {
        self.attempt(path, body).unwrap()
    }

    /// The same for a command that the driver may refuse: then it returns why.
    pub(crate) fn attempt(&self, path: &str, body: Value) -> Result<Value, Value> {
        let path = format!("{}/{path}", self.path);
        outcome(http::post(self.driver, &path, &body))
    }
}

/// What the driver answers to a command, or why it refuses it.
fn outcome(reply: Reply) -> Result<Value, Value> {
    let mut value = reply.json()["value"].take();
    if value["error"].is_null() { Ok(value) } else { Err(value["message"].take()) }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut connection = Connection::open(self.driver);
        connection.ask("DELETE", &self.path, "", "");
        let _ = connection.reply();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
