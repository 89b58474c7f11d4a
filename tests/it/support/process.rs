//! The program as a server.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::{self, JoinHandle};

use super::http::get;
use super::serving::{fixture, until};
use crate::run::Folder;

/// The program as a server.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Reads the log, which would otherwise fill its pipe and stop the server.
    log: Option<JoinHandle<String>>,
}

impl Process {
    /// A server that is ready.
    pub(crate) fn start(folder: &Folder, arguments: &str) -> Self {
        let process = Self::over(folder.command(&format!("serve {arguments}")), "127.0.0.1:0");
        until("ready", || get(process.address, "/readyz").status == 200);
        process
    }

    /// A server that has told its address.
    pub(crate) fn over(command: Command, listen: &str) -> Self {
        let mut process = Self::logging_to(command, listen, Stdio::piped());
        let mut log = process.take_log();
        process.log = Some(thread::spawn(move || {
            let mut text = String::new();
            log.read_to_string(&mut text).unwrap();
            text
        }));
        process
    }

    /// A server that has told its address, and whose log goes to `log`, which this does not read.
    pub(crate) fn logging_to(mut command: Command, listen: &str, log: Stdio) -> Self {
        let command = command.args(["--listen", listen]);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap();
        let address = address.parse().unwrap();
        Self { child, address, log: None }
    }

    /// The pipe to which the log goes.
    pub(crate) fn take_log(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end: the exit code and the log.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let log = self.log.take().map(|log| log.join().unwrap());
        (self.child.wait().unwrap().code(), log.unwrap_or_default())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies the files of a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// A folder with a copy of a fixture as `run`.
pub(crate) fn with_run(name: &str) -> Folder {
    let folder = Folder::new();
    copy(&fixture(name), &folder.path("run"));
    folder
}
