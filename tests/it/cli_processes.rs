//! Training, translation and evaluation by several processes under MPI. Needs `mpirun`.

use std::collections::HashMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cli_damage::{LONG, long, signal, wait_for_updates, weights};
use crate::cli_model::CONFIG;
use crate::run::{Folder, Outcome, for_family};

/// `mpirun` with the program as one of its arguments, and whatever it needs on a machine with few CPUs and as
/// root.
fn mpirun(folder: &Folder) -> Command {
    let mut command = Command::new("mpirun");
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("NO_COLOR", "1")
        .current_dir(folder.path(""));
    command
}

/// `n` processes of the program with `arguments`.
fn together(folder: &Folder, n: usize, arguments: &str) -> Command {
    let mut command = mpirun(folder);
    command.args(["-n", &n.to_string(), env!("CARGO_BIN_EXE_attentive")]).args(arguments.split_whitespace());
    command
}

fn run(folder: &Folder, n: usize, arguments: &str) -> Outcome {
    together(folder, n, arguments).output().unwrap().into()
}

/// Runs `n` processes to the end, which must succeed.
fn succeeds(folder: &Folder, n: usize, arguments: &str) -> Outcome {
    let outcome = run(folder, n, arguments);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome
}

fn start(folder: &Folder, n: usize, arguments: &str) -> Child {
    let mut command = together(folder, n, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn finish(child: Child) -> Outcome {
    child.wait_with_output().unwrap().into()
}

/// The PID of each process of the program that `launcher` started.
fn pids(launcher: &Child) -> HashMap<usize, u32> {
    let mut found = HashMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().unwrap_or("").split_whitespace().nth(1);
        if parent != Some(&launcher.id().to_string()) {
            continue;
        }
        let variables = fs::read(path.join("environ")).unwrap_or_default();
        let number = variables.split(|&byte| byte == 0).find_map(|variable| {
            let variable = str::from_utf8(variable).ok()?;
            variable.strip_prefix("OMPI_COMM_WORLD_RANK=")?.parse().ok()
        });
        found.extend(number.map(|number| (number, pid)));
    }
    found
}

fn send(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// The lines of errors.
fn errors(outcome: &Outcome) -> Vec<&str> {
    let lines = outcome.stderr.lines();
    lines.filter(|line| line.starts_with("error: ")).collect()
}

/// One, two and four processes, and two that become four after a kill.
fn check_same_bits(family: &str, matmul: &str) {
    let folder = Folder::new();
    folder.write("c.toml", for_family(CONFIG, family));
    let used = match family {
        "seq2seq" => LONG.replace(
            "--set model.attention_dropout=0.1",
            "--set model.recurrent.cell=lstm --set model.recurrent.attention=additive",
        ),
        _ => LONG.to_owned(),
    };
    let train = |out: &str| {
        format!(
            "train c.toml --output {out} {used} --threads 1 --resume --set model.family={family} --set \
             train.micro_batches_per_update=4 --set train.precision={matmul}"
        )
    };
    folder.succeeds(&train("1"));
    let alone = weights(&folder, "1");
    for n in [2, 4] {
        let outcome = succeeds(&folder, n, &train(&n.to_string()));
        let words = format!("of which process 0 of {n} spent");
        assert!(outcome.stderr.contains(&words), "{outcome:?}");
        let notes = outcome.stderr.matches("note: 60 updates").count();
        assert_eq!(notes, 1, "{outcome:?}");
        assert!(weights(&folder, &n.to_string()) == alone, "{n} processes, {matmul}, {family}");
    }
    let child = start(&folder, 2, &train("killed"));
    wait_for_updates(&folder, "killed", 20);
    send(pids(&child)[&1], "-9");
    let outcome = finish(child);
    assert!(outcome.code != Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("process rank 1"), "{outcome:?}");
    succeeds(&folder, 4, &train("killed"));
    assert!(weights(&folder, "killed") == alone, "{matmul}, {family}");
}

#[test]
fn the_number_of_processes_changes_no_bit() {
    // Most of the time, processes start or end.
    thread::scope(|scope| {
        for family in ["transformer", "seq2seq", "decoder_only"] {
            scope.spawn(move || ["f32", "bf16"].map(|matmul| check_same_bits(family, matmul)));
        }
    });
}

#[test]
fn a_signal_to_any_process_stops_all_after_the_update() {
    let folder = Folder::new();
    let train = long(&folder, "run", "--threads 1 --set train.micro_batches_per_update=3");
    let child = start(&folder, 3, &train);
    wait_for_updates(&folder, "run", 10);
    send(pids(&child)[&2], "-TERM");
    let outcome = finish(child);
    assert_eq!(outcome.code, Some(143), "{outcome:?}");
    let errors = errors(&outcome);
    assert_eq!(errors.len(), 1, "{outcome:?}");
    assert!(errors[0].starts_with("error: stopped by signal 15; update "), "{outcome:?}");
    let resumed = succeeds(&folder, 2, &(train + " --resume"));
    assert!(resumed.stderr.contains("resuming after update"), "{resumed:?}");
}

#[test]
fn a_silent_process_is_named_within_the_time_out() {
    let folder = Folder::new();
    let train = long(&folder, "run", "--threads 1 --process-timeout 2");
    let child = start(&folder, 2, &train);
    wait_for_updates(&folder, "run", 5);
    let pid = pids(&child)[&1];
    send(pid, "-STOP");
    let stopped = Instant::now();
    let outcome = finish(child);
    assert!(stopped.elapsed() < Duration::from_secs(20), "{outcome:?}");
    assert!(outcome.code != Some(0), "{outcome:?}");
    let named = format!("error: no answer from process 1 (PID {pid} on ");
    assert!(outcome.stderr.contains(&named), "{outcome:?}");
    assert!(outcome.stderr.contains("`--process-timeout`"), "{outcome:?}");
}

#[test]
fn an_error_is_reported_once_and_names_the_process() {
    let folder = Folder::new();
    let outcome = run(&folder, 2, "train missing.toml");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(errors(&outcome), ["error: cannot read `missing.toml`: no such file or directory"]);
    // Two machines with the same configuration and different data.
    let text = "a b c d\n".repeat(50);
    for (place, data) in [("here", text.clone()), ("there", text + "e f\n")] {
        fs::create_dir(folder.path(place)).unwrap();
        folder.write(&format!("{place}/text"), data).write(
            &format!("{place}/c.toml"),
            "data = { train = { text = 'text' } }\ntokenizer.kind = 'word'\ntrain.micro_batches_per_update = \
             2\n\
             [model]\nfamily = 'decoder_only'\nd_model = 16\nd_ff = 32\nn_heads = 2\n",
        );
    }
    let program = env!("CARGO_BIN_EXE_attentive");
    let part = |place: &str| format!("-n 1 -wdir {place} {program} train c.toml --output run");
    let mut command = mpirun(&folder);
    let arguments = format!("{} : {}", part("here"), part("there"));
    command.args(arguments.split_whitespace());
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let errors = errors(&outcome);
    assert_eq!(errors.len(), 1, "{outcome:?}");
    assert!(errors[0].starts_with("error: process 1 (PID "), "{outcome:?}");
    assert!(errors[0].contains("`text` differs from `text` in process 0: 404 and 400 bytes"), "{outcome:?}");
}

#[test]
fn lines_are_shared_and_keep_their_order() {
    let folder = Folder::new();
    folder.succeeds(&long(&folder, "m", "--set train.max_steps=5"));
    let lines: String = (0..70)
        .map(|line| match line % 9 {
            0 => "\n".to_owned(),
            n => {
                "the dog sees a cat in the garden today ".split_inclusive(' ').take(n).collect::<String>()
                    + "\n"
            }
        })
        .collect();
    folder.write("in", &lines).write("ref", &lines);
    for arguments in [
        "translate m in",
        "translate m in --json --alignments --n-best 2 --batch-size 1",
        "translate m in --sample --seed 3",
        "evaluate m --src in --ref ref --output out",
    ] {
        let alone = folder.succeeds(arguments);
        for n in [2, 3] {
            let together = succeeds(&folder, n, arguments);
            let timeless = |text: &str| -> String {
                let lines = text.lines().filter(|line| !line.contains("per second"));
                lines.map(|line| line.to_owned() + "\n").collect()
            };
            assert_eq!(timeless(&together.stdout), timeless(&alone.stdout), "{arguments}");
        }
    }
    // Standard input goes to the first process.
    let mut command = together(&folder, 2, "translate m -");
    let input = fs::File::open(folder.path("in")).unwrap();
    let outcome = Outcome::from(command.stdin(input).output().unwrap());
    assert_eq!(outcome.stdout, folder.run("translate m in").stdout);
    // What is not shared is refused.
    for arguments in ["info m", "train c.toml --profile", "evaluate m --src in"] {
        let outcome = run(&folder, 2, arguments);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
    }
}

#[test]
fn a_signal_to_the_launcher_leaves_a_checkpoint() {
    let folder = Folder::new();
    let train = long(&folder, "run", "--threads 1");
    let child = start(&folder, 2, &train);
    wait_for_updates(&folder, "run", 10);
    signal(&child, "-TERM");
    let outcome = finish(child);
    assert!(outcome.code != Some(0), "{outcome:?}");
    succeeds(&folder, 2, &(train + " --resume"));
}
