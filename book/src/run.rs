//! The commands of a chapter.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::chapter::{Part, parts};
use crate::numbers;

/// The share by which numbers may differ, where a block says nothing else.
const WITHIN: f64 = 0.02;

/// What becomes of what commands say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is compared with the text.
    Check,
    /// It is written into the text.
    Update,
}

/// The folder with the models of `attentive demo --ladder`, which chapters share.
const LADDER: &str = "attentive-demo-ladder";

/// Trains the models that chapters share, in `folder`.
pub(crate) fn train_ladder(folder: &Path, program: &Path) -> Result<()> {
    output_of("attentive demo --ladder", folder, program).map(drop)
}

/// Runs the commands of the chapter `text`, one after the other, in an empty folder. Returns what differs.
pub(crate) fn run(text: &str, path: &Path, program: &Path, shared: &Path, mode: Mode) -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    symlink(shared.join(LADDER), folder.path().join(LADDER))?;
    let (mut problems, mut new) = (Vec::new(), String::new());
    for part in parts(text) {
        let code = match part {
            Part::Code(code) => code,
            Part::Line(line) => {
                new.push_str(line);
                continue;
            }
        };
        let mut words = code.info.split([',', ' ']);
        let language = words.next().unwrap_or_default();
        let mut said = String::new();
        if language == "console" {
            let within =
                words.find_map(|word| word.strip_prefix("within=")).map_or(Ok(WITHIN), str::parse)?;
            for Call { command, output } in calls(&code.text) {
                let found = match output_of(&command, folder.path(), program) {
                    Ok(found) => found,
                    Err(error) => {
                        problems.push(error.to_string());
                        output.clone()
                    }
                };
                if mode == Mode::Check && !numbers::agree(&output, &found, within) {
                    problems.push(format!("{command}\n  expected:\n{output}\n  found:\n{found}"));
                }
                // What is left out stays left out.
                let kept = output.contains('…') && numbers::agree(&output, &found, within);
                said.push_str(&format!("$ {command}\n{}", if kept { &output } else { &found }));
            }
        } else {
            save(&code.text, folder.path())?;
            said.clone_from(&code.text);
        }
        new.push_str(&code.with(code.info, &said));
    }
    problems.extend(pictures(text, path, folder.path(), mode)?);
    if mode == Mode::Update {
        fs::write(path, new)?;
    }
    Ok(problems)
}

/// A command and what it says.
struct Call {
    command: String,
    output: String,
}

/// The commands of a block, which begin with `$ `. One goes on after a line that ends with `\`, and until its
/// quotation marks are closed.
fn calls(text: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            calls.push(Call { command: command.to_owned(), output: String::new() });
            goes_on = is_open(command);
        } else if let Some(call) = calls.last_mut() {
            if goes_on {
                call.command += &format!("\n{line}");
                goes_on = is_open(&call.command);
            } else {
                call.output += &format!("{line}\n");
            }
        }
    }
    calls
}

fn is_open(command: &str) -> bool {
    command.ends_with('\\') || command.matches('\'').count() % 2 == 1
}

/// What `command` writes to standard output.
fn output_of(command: &str, folder: &Path, program: &Path) -> Result<String> {
    let mut path = OsString::from(program);
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", command])
        .current_dir(folder)
        .env("PATH", path)
        .env("BOOK_SCRATCH", concat!(env!("CARGO_MANIFEST_DIR"), "/scratch"))
        .stdin(Stdio::null())
        .output()
        .context("bash runs the commands")?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        anyhow::bail!("`{command}` fails:\n{error}");
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Writes the file that a block shows, if its first line is a comment with its name.
fn save(text: &str, folder: &Path) -> Result<()> {
    let first = text.lines().next().unwrap_or_default();
    let name = first.strip_prefix("# ").unwrap_or_default();
    if name.ends_with(".toml") || name.ends_with(".py") {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Looks for the pictures of the chapter, which its commands draw.
fn pictures(text: &str, path: &Path, folder: &Path, mode: Mode) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let pictures = path.with_file_name("pictures");
    for (place, marker) in text.match_indices("](pictures/") {
        let name = text[place + marker.len()..].split(')').next().unwrap_or_default();
        let drawn = folder.join(name);
        match mode {
            _ if !drawn.is_file() => problems.push(format!("no command draws {name}")),
            Mode::Check => {}
            Mode::Update => {
                fs::create_dir_all(&pictures)?;
                fs::copy(&drawn, pictures.join(name))?;
            }
        }
    }
    Ok(problems)
}
