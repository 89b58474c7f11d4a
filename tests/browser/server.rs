//! A server of small models.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::http;
use crate::models;
use crate::run::Folder;

/// `attentive serve`, ended when dropped.
pub(crate) struct Server {
    process: Child,
    address: String,
    /// What it reads.
    _folder: Folder,
}

impl Server {
    /// Trains and serves models, each with a name and a family; `options` are further arguments, of which
    /// files named are those of `files`.
    pub(crate) fn start(models: &[(&str, &str)], files: &[(&str, &str)], options: &str) -> Self {
        let folder = Folder::new();
        for (name, text) in files {
            folder.write(name, text);
        }
        let mut named = String::new();
        for (name, family) in models {
            models::train(&folder, name, family);
            named += &format!("{name}=runs/{name} ");
        }
        let mut command = folder.command(&format!("serve {named} --listen 127.0.0.1:0 {options}"));
        command.env("RUST_LOG", "error").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        lines.read_line(&mut address).unwrap();
        Self { process, address: address.trim().to_owned(), _folder: folder }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    fn socket(&self) -> SocketAddr {
        self.address.trim_start_matches("http://").parse().unwrap()
    }

    /// The JSON at `path`.
    pub(crate) fn get(&self, path: &str) -> Value {
        http::get(self.socket(), path).expect(200)
    }

    /// Ends it.
    pub(crate) fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// The first translation of `text`, as one sentence, by `model`.
    pub(crate) fn translation(&self, model: &str, text: &str) -> String {
        let request = json!({"model": model, "text": text, "split_sentences": false});
        let answer = http::post(self.socket(), "/api/translate", &request).expect(200);
        let text = &answer["results"][0]["translations"][0]["text"];
        text.as_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
