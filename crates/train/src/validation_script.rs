//! `train.validation_script`: a program of the user that scores translations.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use attentive_base::error::{Error, Result};
use attentive_base::shown::shown;
use attentive_checkpoint::files;

/// Runs `command` on the sources, translations and references, which it finds as files in the run directory
/// `dir`. Returns the number on the last line of its output.
///
/// # Errors
/// [`Error::Io`] if a file cannot be written; [`Error::Data`] if the program cannot be run, fails, or writes
/// no finite number.
pub(super) fn run(command: &[String], dir: &Path, texts: [&[String]; 3]) -> Result<f64> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(refused("it is empty".into()));
    };
    let folder = dir.join(files::VALIDATION);
    fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::null());
    for (name, lines) in ["sources.txt", "translations.txt", "references.txt"].into_iter().zip(texts) {
        let path = folder.join(name);
        let text: String = lines.iter().map(|line| line.replace(['\n', '\r'], " ") + "\n").collect();
        fs::write(&path, text).map_err(Error::io("write", &path))?;
        process.arg(path);
    }
    // Ctrl-C is for the training, which stops after this validation.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut process, 0);
    let output = process.output();
    let output = output.map_err(|error| refused(format!("`{program}` cannot be run: {error}")))?;
    if !output.status.success() {
        let said = last_line(&output.stderr);
        return Err(refused(format!("`{program}` failed ({}): {said}", output.status)));
    }
    let said = last_line(&output.stdout);
    let number = said.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| {
        refused(format!("the last line of the output of `{program}` should be a number, found `{said}`"))
    })
}

fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    shown(line.unwrap_or_default().trim()).to_string()
}

fn refused(problem: String) -> Error {
    Error::Data {
        problem: format!("`train.validation_script`: {problem}"),
        hint: Some("correct it and resume the run, which continues from its last checkpoint".into()),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn run_shell(script: &str) -> Result<f64, String> {
        let dir = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", script, "score"].map(String::from);
        let texts = [["a".to_owned()], ["b\nc".to_owned()], ["d".to_owned()]];
        let texts = texts.each_ref().map(|text| &text[..]);
        run(&command, dir.path(), texts).map_err(|error| error.to_string())
    }

    #[test]
    fn the_last_line_is_the_score() {
        assert_eq!(run_shell("echo loading; echo 12.5; echo"), Ok(12.5));
        let files = r#"test "$(cat "$1" "$2" "$3")" = "a
b c
d" && echo 1"#;
        assert_eq!(run_shell(files), Ok(1.0));
    }

    #[test]
    fn what_is_no_score_is_refused() {
        for (script, expected) in [
            ("echo fine", "should be a number, found `fine`"),
            ("true", "found ``"),
            ("echo nan", "found `nan`"),
            ("echo 3; echo no such metric >&2; exit 2", "`sh` failed (exit status: 2): no such metric"),
        ] {
            let problem = run_shell(script).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
        let missing = run(&["no-such-program".into()], tempfile::tempdir().unwrap().path(), [&[]; 3]);
        assert!(missing.unwrap_err().to_string().contains("`no-such-program` cannot be run"));
    }
}
