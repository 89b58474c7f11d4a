//! `train.validation_script`: a program of the user that scores translations.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use attentive_base::error::{Error, Result};
use attentive_base::interrupt::Interrupt;
use attentive_base::platform;
use attentive_base::shown::shown;
use attentive_checkpoint::files;

/// The time between looks at the program.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs `command` on the sources, translations and references, which it finds as files in the run directory
/// `dir`. Returns the number on the last line of its output. What it writes to standard error is shown.
///
/// # Errors
/// [`Error::Io`] if a file cannot be written; [`Error::Data`] if the program cannot be run, fails, writes no
/// finite number, or is stopped since `interrupt` requests it.
pub(super) fn run(
    command: &[String],
    dir: &Path,
    texts: [&[String]; 3],
    interrupt: &Interrupt,
) -> Result<f64> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(refused("it is empty".into()));
    };
    let folder = dir.join(files::VALIDATION);
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    for (name, lines) in ["sources.txt", "translations.txt", "references.txt"].into_iter().zip(texts) {
        let path = folder.join(name);
        let text: String = lines.iter().map(|line| line.replace(['\n', '\r'], " ") + "\n").collect();
        fs::write(&path, text).map_err(Error::io("write", &path))?;
        process.arg(path);
    }
    // With all that it starts, it can be stopped.
    platform::in_own_group(&mut process);
    let cannot = |error| refused(format!("`{program}` cannot be run: {error}"));
    let mut child = process.spawn().map_err(cannot)?;
    let output = child.stdout.take().map(|mut output| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            output.read_to_end(&mut bytes).map(|_| bytes)
        })
    });
    let status = wait(&mut child, interrupt).map_err(cannot)?;
    let Some(status) = status else {
        return Err(refused(format!("`{program}` was stopped")));
    };
    if !status.success() {
        return Err(refused(format!("`{program}` failed ({status})")));
    }
    let output = output.and_then(|reader| reader.join().ok()).transpose().map_err(cannot)?;
    let said = last_line(&output.unwrap_or_default());
    let number = said.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| {
        refused(format!("the last line of the output of `{program}` should be a number, found `{said}`"))
    })
}

/// Waits for `child`; `None` if it was stopped.
fn wait(child: &mut Child, interrupt: &Interrupt) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if interrupt.requested().is_some() {
            platform::kill_with_children(child)?;
            return child.wait().map(|_| None);
        }
        thread::sleep(PAUSE);
    }
}

fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    shown(line.unwrap_or_default().trim()).to_string()
}

fn refused(problem: String) -> Error {
    Error::data(
        format!("`train.validation_script`: {problem}"),
        "correct it and resume the run, which begins with this validation",
    )
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn run_shell(script: &str, interrupt: &Interrupt) -> Result<f64, String> {
        let dir = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", script, "score"].map(String::from);
        let texts = [["a".to_owned()], ["b\nc".to_owned()], ["d".to_owned()]];
        let texts = texts.each_ref().map(|text| &text[..]);
        run(&command, dir.path(), texts, interrupt).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_line_is_the_score() {
        let score = |script| run_shell(script, &Interrupt::none());
        assert_eq!(score("echo loading; echo 12.5; echo"), Ok(12.5));
        let files = r#"test "$(cat "$1" "$2" "$3")" = "a
b c
d" && echo 1"#;
        assert_eq!(score(files), Ok(1.0));
        // More than a pipe holds.
        assert_eq!(score("seq 100000; echo 7"), Ok(7.0));
    }

    #[test]
    fn what_is_no_score_is_refused() {
        for (script, expected) in [
            ("echo fine", "should be a number, found `fine`"),
            ("true", "found ``"),
            ("echo nan", "found `nan`"),
            ("echo 3; exit 2", "`sh` failed (exit status: 2)"),
        ] {
            let problem = run_shell(script, &Interrupt::none()).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
        let dir = tempfile::tempdir().unwrap();
        let missing = run(&["no-such-program".into()], dir.path(), [&[]; 3], &Interrupt::none());
        assert!(missing.unwrap_err().to_string().contains("`no-such-program` cannot be run"));
    }

    #[test]
    fn a_script_that_hangs_is_stopped() {
        let interrupt = Interrupt::none();
        interrupt.request(2);
        let problem = run_shell("sleep 1000 & sleep 1000", &interrupt).unwrap_err();
        assert!(problem.contains("`sh` was stopped"), "{problem}");
    }
}
