//! Outputs are whole or absent.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::cli_damage::signal;
use crate::cli_model::{stdout, trained};
use crate::cli_runs::shell;
use crate::run::{Folder, Outcome};

fn names(folder: &Folder) -> BTreeSet<String> {
    let entries = fs::read_dir(folder.path("")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A folder with a model and the texts `src` and `ref`, whose translations take more than a kilobyte.
fn prepared() -> Folder {
    let folder = trained();
    let text = "1 2 3 4 5\n".repeat(200);
    folder.write("src", &text).write("ref", &text);
    folder
}

/// Commands that write to `out`.
const COMMANDS: [&str; 6] = [
    "translate runs/c src --scores -o out",
    "evaluate runs/c --src src --ref ref --output out",
    "compare runs/c --src src --ref ref --plot out",
    "plot curves runs/c --output out",
    "explain runs/c '1 2 3' --output out",
    "average runs/c --last 1 --output out",
];

/// A limit on file sizes simulates a full disk: the same call fails at the same place.
#[test]
fn a_full_disk_keeps_existing_files_and_adds_none() {
    let folder = prepared();
    for command in COMMANDS {
        let fails = || {
            let limits = "ulimit -f 1; trap '' XFSZ";
            let outcome = shell(&folder, limits, command).output().unwrap();
            let outcome = Outcome::from(outcome);
            assert_eq!(outcome.code, Some(1), "{command}: {outcome:?}");
            assert!(outcome.stderr.contains("cannot write `out"), "{outcome:?}");
        };
        let before = names(&folder);
        fails();
        assert_eq!(names(&folder), before, "{command}");
        if command.starts_with("average") {
            continue;
        }
        folder.write("out", "old");
        let before = names(&folder);
        fails();
        assert_eq!(names(&folder), before, "{command}");
        assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), "old");
        let outcome = shell(&folder, ":", command).output().unwrap();
        assert!(outcome.status.success(), "{command}: {outcome:?}");
        assert_eq!(names(&folder), before, "{command}");
        assert!(fs::metadata(folder.path("out")).unwrap().len() > 1024);
        fs::remove_file(folder.path("out")).unwrap();
    }
}

#[test]
fn an_average_into_new_folders_leaves_none_when_it_fails() {
    let folder = prepared();
    let before = names(&folder);
    let arguments = "average runs/c --last 1 --output a/b/out";
    let outcome = shell(&folder, "ulimit -f 1; trap '' XFSZ", arguments).output();
    assert_eq!(outcome.unwrap().status.code(), Some(1));
    assert_eq!(names(&folder), before);
    stdout(&folder, arguments);
    assert_eq!(fs::read_dir(folder.path("a/b")).unwrap().count(), 1);
}

#[test]
fn a_signal_leaves_no_temporary_file() {
    let folder = prepared();
    folder.write("out", "old");
    let before = names(&folder);
    for name in ["-INT", "-TERM"] {
        let mut child = folder
            .command("translate runs/c -o out")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Held until the end: `wait` would close it, and a slow program would finish.
        let _stdin = child.stdin.take();
        while names(&folder) == before {
            assert!(child.try_wait().unwrap().is_none());
            sleep(Duration::from_millis(2));
        }
        // The temporary file is noted right after it was created.
        sleep(Duration::from_millis(100));
        signal(&child, name);
        assert!(!child.wait().unwrap().success());
        assert_eq!(names(&folder), before, "{name}");
        assert_eq!(fs::read_to_string(folder.path("out")).unwrap(), "old");
    }
}

#[test]
fn a_full_device_is_an_error() {
    let folder = prepared();
    folder.fails("translate runs/c src -o /dev/full", 1, &["`/dev/full`", "disk is full"]);
    folder.fails("plot curves runs/c -o /dev/full", 1, &["`/dev/full`", "disk is full"]);
}

#[test]
fn special_files_are_written_directly() {
    let folder = prepared();
    let translate = "translate runs/c src";
    let expected = stdout(&folder, translate);
    assert_eq!(stdout(&folder, &format!("{translate} -o /dev/stdout")), expected);

    let path = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = Command::new("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(stdout(&folder, &format!("{translate} -o pipe")), "");
    let read = Outcome::from(reader.wait_with_output().unwrap());
    assert_eq!(read.stdout, expected);

    // Standard output may be a file whose content belongs to the shell.
    let arguments = format!("{translate} -o /dev/stdout >> both");
    for _ in 0..2 {
        let outcome = shell(&folder, ":", &arguments).output().unwrap();
        assert!(outcome.status.success(), "{outcome:?}");
    }
    let both = fs::read_to_string(folder.path("both")).unwrap();
    assert_eq!(both, expected.repeat(2));
}

#[test]
fn a_link_still_points_to_its_file() {
    let folder = prepared();
    folder.write("real", "old");
    symlink("real", folder.path("link")).unwrap();
    let expected = stdout(&folder, "translate runs/c src");
    stdout(&folder, "translate runs/c src -o link");
    assert!(folder.path("link").is_symlink());
    assert_eq!(fs::read_to_string(folder.path("real")).unwrap(), expected);
}
