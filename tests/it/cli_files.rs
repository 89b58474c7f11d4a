//! `translate` of files that are more than lines, and of parts that are no language.

use std::process::Stdio;

use crate::cli_generate::language_models;
use crate::cli_model::{stdout, trained};
use crate::run::{Folder, Outcome};

/// What `arguments` make of standard input.
fn piped(folder: &Folder, arguments: &str, input: &[u8]) -> Outcome {
    folder.write("piped", input);
    let mut command = folder.command(arguments);
    command.stdin(Stdio::from(std::fs::File::open(folder.path("piped")).unwrap()));
    command.output().unwrap().into()
}

#[test]
fn files_keep_all_that_is_not_text() {
    let folder = trained();
    folder.write("lines", "1 2 3\n4 5\n");
    let text = stdout(&folder, "translate runs/c lines");
    let [first, second] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    for (name, source, expected) in [
        (
            "a.srt",
            "1\r\n00:00:01,000 --> 00:00:02,000\r\n1 2 3\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n4 5\r\n",
            "1\r\n00:00:01,000 --> 00:00:02,000\r\nFIRST\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\nSECOND\r\n",
        ),
        ("a.HTML", "<p id='x'>1 2 3</p>\n<script>4 5</script>", "<p id='x'>FIRST</p>\n<script>4 5</script>"),
        (
            "a.xml",
            "<?xml version='1.0'?><a><b>1 2 3</b><c>4 5</c></a>",
            "<?xml version='1.0'?><a><b>FIRST</b><c>SECOND</c></a>",
        ),
        ("a.md", "# 1 2 3\n\n```\n7\n```\n\n- 4 5\n", "# FIRST\n\n```\n7\n```\n\n- SECOND\n"),
        ("a.po", "msgid \"1 2 3\"\nmsgstr \"\"\n", "msgid \"1 2 3\"\nmsgstr \"FIRST\"\n"),
        ("a.json", "{\"k\": \"1 2 3\", \"n\": [\"4 5\", 6]}", "{\"k\": \"FIRST\", \"n\": [\"SECOND\", 6]}"),
        (
            "a.xlf",
            "<xliff version=\"1.2\"><trans-unit><source>1 2 3</source></trans-unit></xliff>",
            "<xliff version=\"1.2\"><trans-unit><source>1 2 3</source><target>FIRST</target></trans-unit></xliff>",
        ),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n1 2 3\n", "WEBVTT\n\n00:01.000 --> 00:02.000\nFIRST\n"),
    ] {
        let expected = expected.replace("FIRST", first).replace("SECOND", second);
        folder.write(name, source);
        assert_eq!(stdout(&folder, &format!("translate runs/c {name} --output out")), "");
        assert_eq!(std::fs::read_to_string(folder.path("out")).unwrap(), expected, "{name}");
        let format = name.rsplit_once('.').unwrap().1;
        let outcome = piped(&folder, &format!("translate runs/c --format {format}"), source.as_bytes());
        assert_eq!((outcome.code, &*outcome.stdout), (Some(0), &*expected), "{outcome:?}");
    }
    let outcome = piped(&folder, "translate runs/c --format txt", "\u{feff}1 2 3\r\n\r\n  4 5".as_bytes());
    assert_eq!(outcome.stdout, format!("\u{feff}{first}\r\n\r\n  {second}"), "{outcome:?}");
    // A line of a file that has a format is still a line if that is asked for.
    folder.write("b.json", "1 2 3\n4 5\n");
    assert_eq!(stdout(&folder, "translate runs/c b.json --format lines"), text);
}

#[test]
fn wrong_files_and_options_are_refused() {
    let folder = trained();
    folder
        .write("a.json", "{\n\"a\" }")
        .write("a.docx", "PK")
        .write("a.md", "1")
        .write("b.srt", b"1\n\xff\n");
    for (arguments, complaint) in [
        ("a.json", &["not JSON", "line 2", "hint: "][..]),
        ("a.docx", &["`docx` is not a format", ".srt", "hint: "]),
        ("a.md --n-best 2", &["`--n-best`", "--format lines"]),
        ("a.md --json", &["`--json`", "--format lines"]),
        ("a.md --prefix a.json", &["`--prefix`", "--format lines"]),
        ("b.srt", &["b.srt", "not UTF-8 on line 2"]),
        ("missing.md", &["missing.md"]),
    ] {
        let outcome = folder.run(&format!("translate runs/c {arguments} --output out"));
        assert_ne!(outcome.code, Some(0), "{outcome:?}");
        assert!(complaint.iter().all(|words| outcome.stderr.contains(words)), "{outcome:?}");
        assert!(!folder.path("out").exists(), "{arguments}");
    }
    folder.fails("translate runs/c a.md --format pdf", 2, &["`pdf` is not a format", ".srt"]);
}

#[test]
fn placeables_are_kept_or_named() {
    let folder = trained();
    folder.write("lines", "1 2 {x} 3\n%s 4 5\n\u{200b}\n12:30\n");
    folder.write("plain", "1 2 3\n4 5\n");
    let plain = stdout(&folder, "translate runs/c plain");
    let second = plain.lines().nth(1).unwrap();
    let outcome = folder.succeeds("translate runs/c lines --keep-placeables");
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0].matches("{x}").count(), 1, "{outcome:?}");
    assert_eq!(
        lines[0].replace("{x}", "").split_whitespace().collect::<Vec<_>>().join(" "),
        plain.lines().next().unwrap()
    );
    assert_eq!(lines[1], format!("%s {second}"));
    assert_eq!(lines[2], "\u{200b}");
    // Read as they are, the model loses them, and is told of.
    let outcome = folder.run("translate runs/c lines");
    assert!(outcome.stderr.contains("line 1: the translation lacks `{x}`"), "{outcome:?}");
    assert!(outcome.stderr.contains("line 2: the translation lacks `%s`"), "{outcome:?}");
    assert_eq!(outcome.stdout.lines().nth(2), Some("\u{200b}"), "{outcome:?}");
    folder.fails("translate runs/c lines --keep-placeables --alignments", 2, &["--alignments"]);
}

#[test]
fn prompts_follow_the_rules_of_input() {
    let folder = language_models();
    let options = "--max-new-tokens 8 --seed 3";
    let expected = stdout(&folder, &format!("generate runs/stream --prompt Speak {options}"));
    let generate = format!("generate runs/stream {options}");
    for input in ["Speak", "Speak\n", "Speak\r\n", "\u{feff}Speak\n"] {
        assert_eq!(piped(&folder, &generate, input.as_bytes()).stdout, expected, "{input:?}");
    }
    for program in ["gzip", "zstd"] {
        folder.write("prompt", "Speak\n");
        let packed =
            std::process::Command::new(program).args(["-c", "prompt"]).current_dir(folder.path("")).output();
        // Not every system has both.
        let Ok(packed) = packed else { continue };
        assert_eq!(piped(&folder, &generate, &packed.stdout).stdout, expected, "{program}");
    }
    let outcome = piped(&folder, &generate, b"Spe\x07ak");
    assert!(outcome.stderr.contains("1 control character was read as a blank"), "{outcome:?}");
    assert!(outcome.stdout.starts_with("Spe ak"), "{outcome:?}");
    let outcome = piped(&folder, &generate, b"\xff");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("not UTF-8"), "{outcome:?}");
}
