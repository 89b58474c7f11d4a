//! Help, version, completions, manual pages.

use crate::run::Folder;

const COMMANDS: [&str; 30] = [
    "demo",
    "train",
    "clean",
    "prepare",
    "synthesize",
    "distill",
    "translate",
    "generate",
    "tag",
    "classify",
    "fill",
    "embed",
    "evaluate",
    "compare",
    "score",
    "rescore",
    "explain",
    "trace",
    "align",
    "average",
    "quantize",
    "tune",
    "import",
    "export",
    "plot",
    "info",
    "devices",
    "config",
    "completions",
    "man",
];

#[test]
fn every_command_is_listed_and_helps_with_examples() {
    let folder = Folder::new();
    let overview = folder.run("--help");
    assert_eq!(overview.code, Some(0));
    let first = "Train, evaluate, run and explain sequence models from raw text\n";
    assert!(overview.stdout.starts_with(first), "{}", overview.stdout);
    for command in COMMANDS {
        assert!(overview.stdout.contains(&format!("\n  {command} ")), "{command}");
        let help = folder.run(&format!("{command} --help"));
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
        assert!(help.stdout.contains("Examples:\n  attentive "), "{}", help.stdout);
        assert!(help.stdout.contains(&format!("  attentive {command}")), "{}", help.stdout);
    }
}

#[test]
fn every_command_of_config_helps_with_examples() {
    for command in ["new", "show", "schema", "reference"] {
        let help = Folder::new().run(&format!("config {command} --help"));
        assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
        let example = format!("Examples:\n  attentive config {command} ");
        assert!(help.stdout.contains(&example), "{}", help.stdout);
    }
}

#[test]
fn the_columns_of_n_best_are_documented() {
    let wrapped = Folder::new().run("translate --help").stdout;
    let help = wrapped.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["tab-separated", "number of the input line", "score", "length penalty"] {
        assert!(help.contains(word), "`{word}` is not in {help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = concat!("attentive ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(Folder::new().run("--version").stdout, expected);
}

#[test]
fn shells_complete_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(&format!("completions {shell}")).stdout;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("sentence-level"), "{shell}");
    }
}

#[test]
fn without_a_command_help_goes_to_standard_error() {
    let outcome = Folder::new().run("");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert!(outcome.stderr.contains("Usage: attentive"));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    let written = folder.run("man pages");
    assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""));
    for command in COMMANDS {
        let page = folder.path(format!("pages/attentive-{command}.1"));
        let page = std::fs::read_to_string(page).expect("a page");
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    folder.write("file", "");
    let refused = folder.run("man file");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("file"), "{}", refused.stderr);
}
