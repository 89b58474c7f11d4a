//! Error messages.

use crate::run::{Folder, Outcome};

#[test]
fn unknown_commands_and_options_exit_with_2() {
    let folder = Folder::new();
    folder.fails("trian x.toml", 2, &["'trian'", "similar", "'train'"]);
    folder.fails("score a b --tokenizer 13a", 2, &["--tokenizer", "--tokenize"]);
    folder.fails("score a b --metric blue", 2, &["blue", "bleu"]);
    folder.fails("train x.toml --resume --force", 2, &["--resume", "--force"]);
    folder.fails("translate m --beam-width 0", 2, &["--beam-width"]);
}

#[test]
fn unreadable_files_are_named() {
    let folder = Folder::new();
    folder.write("here", "a\n");
    folder.fails("score missing here", 1, &["cannot read `missing`: no such file", "hint: check the path"]);
    folder.fails("score here missing", 1, &["cannot read `missing`"]);
    folder.fails("score . here", 1, &["cannot read `.`", "directory"]);
    folder.fails("train missing.toml", 1, &["cannot read `missing.toml`: no such file"]);
}

#[test]
fn options_are_not_keys() {
    let folder = Folder::new();
    folder.write("c.toml", "[train]\nnum_workers = 4\n");
    let threads = "hint: `--threads N` is an option of the command line";
    folder.fails("train c.toml", 2, &["unknown config key `train.num_workers`", "line 2", threads]);
    folder.write("c.toml", "");
    for (key, hint) in [
        ("threads", threads),
        ("train.threads", threads),
        ("num_threads", threads),
        ("train.output_dir", "`--output DIR` is an option"),
        ("train.resume", "`--resume` is an option"),
        ("decode.top_k", "`--top-k K` is an option"),
        ("decode.sample", "`--sample` is an option"),
        ("train.steps", "did you mean `train.max_steps`?"),
    ] {
        let command = format!("config show c.toml --set {key}=2");
        folder.fails(&command, 2, &[hint]);
    }
}

#[test]
fn files_of_different_lengths_are_refused() {
    let folder = Folder::new();
    folder.write("three", "a\nb\nc\n").write("two", "a\nb\n").write("empty", "");
    folder.fails("score three two", 1, &["`three` has 3 lines, `two` has 2", "hint: "]);
    folder.fails("score empty empty", 1, &["`empty` has no lines"]);
}

#[test]
fn text_that_is_not_utf8_is_named_by_line() {
    let folder = Folder::new();
    folder.write("good", "a\nb\nc\n").write("bad", b"a\nb\nc\xff\n");
    folder.fails("score bad good", 1, &["`bad`, line 3"]);
    folder.fails("score good bad", 1, &["`bad`, line 3"]);
}

#[test]
fn mistakes_in_a_configuration_exit_with_2_and_a_suggestion() {
    let folder = Folder::new();
    let corpus = "[data.train]\nbuiltin = 'reverse'\npairs = 100\n";
    let config = |text: &str| {
        folder.write("c.toml", format!("{corpus}{text}"));
    };
    config("[train]\nbatch_tokens = 'many'\n");
    folder.fails("train c.toml", 2, &["`train.batch_tokens`", "`c.toml`, line 5"]);
    config("[train]\nbatch_tokns = 4096\n");
    folder.fails("train c.toml", 2, &["batch_tokns", "hint: ", "batch_tokens"]);
    config("[model]\ndropout = 1.5\n");
    folder.fails("train c.toml", 2, &["`model.dropout`", "1.5"]);
    config("[model\n");
    folder.fails("train c.toml", 2, &["`c.toml` is not valid TOML", "line 4"]);
    config("");
    folder.fails("train c.toml --set train.max_stepz=3", 2, &["train.max_stepz", "--set", "train.max_steps"]);
    folder.fails("train c.toml --set train", 2, &["KEY=VALUE"]);
}

#[test]
fn a_run_directory_is_not_overwritten() {
    let folder = Folder::new();
    folder.write("c.toml", "[data.train]\nbuiltin = 'reverse'\npairs = 100\n");
    std::fs::create_dir_all(folder.path("runs/c")).unwrap();
    folder.write("runs/c/config.toml", "");
    let complaint = ["`runs/c` already exists", "`--resume`", "`--force`", "`--output`"];
    folder.fails("train c.toml", 2, &complaint);
    let outcome = folder.run("demo --task reverse --output runs/c");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("`runs/c` already exists"), "{outcome:?}");
}

#[test]
fn a_folder_that_is_not_a_model_is_named() {
    let folder = Folder::new();
    folder.write("file", "a\n");
    for command in [
        "translate NAME",
        "tag NAME",
        "fill NAME <mask>",
        "embed NAME",
        "info NAME",
        "evaluate NAME --src file --ref file",
        "average NAME --output x",
        "explain NAME a",
    ] {
        for name in ["missing", "file", "."] {
            folder.fails(&command.replace("NAME", name), 1, &[&format!("`{name}")]);
        }
    }
}

#[test]
fn files_get_no_colors() {
    let outcome = Folder::new().run("score a b");
    assert!(!outcome.stderr.contains('\x1b'), "{outcome:?}");
}

#[test]
fn environment_variables_control_colors() {
    let folder = Folder::new();
    let stderr = |variables: &[(&str, &str)]| {
        let mut command = folder.command("score a b");
        let outcome: Outcome = command.envs(variables.iter().copied()).output().unwrap().into();
        outcome.stderr
    };
    let colored = stderr(&[("CLICOLOR_FORCE", "1")]);
    assert!(colored.starts_with("\x1b[1m\x1b[31merror:\x1b[0m cannot read"), "{colored:?}");
    assert!(colored.contains("\x1b[36mhint:\x1b[0m "), "{colored:?}");
    let plain = stderr(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]);
    assert!(plain.starts_with("error: cannot read"), "{plain:?}");
}
