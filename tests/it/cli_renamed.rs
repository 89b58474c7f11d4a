//! Names of earlier versions on the command line and in configurations.

use std::fs;

use crate::cli_model::{stdout, trained};
use crate::cli_sums::forget_sums;
use crate::run::Folder;

/// The notes of `command`, which succeeds.
fn notes(folder: &Folder, command: &str) -> Vec<String> {
    let outcome = folder.run(command);
    assert_eq!(outcome.code, Some(0), "{command}: {outcome:?}");
    let lines = outcome.stderr.lines();
    let notes = lines.filter(|line| line.starts_with("note: ") && line.contains(" is now "));
    notes.map(str::to_owned).collect()
}

#[test]
fn old_options_do_what_they_did_and_name_the_new_ones_once() {
    let folder = trained();
    for (old, new, note) in [
        (
            "translate runs/c src --alpha 0.3 --scores",
            "translate runs/c src --length-penalty 0.3 --scores",
            "note: `--alpha` is now `--length-penalty`; the old name is still read",
        ),
        (
            "translate runs/c src --length-penalty=gnmt --scores",
            "translate runs/c src --length-penalty-formula gnmt --scores",
            "`--length-penalty gnmt` is now `--length-penalty-formula gnmt`",
        ),
        (
            "translate runs/c src --stopping likely --scores",
            "translate runs/c src --early-stopping heuristic --scores",
            "`--stopping likely` is now `--early-stopping heuristic`",
        ),
        (
            "translate runs/c src --format jsonl",
            "translate runs/c src --json",
            "`--format jsonl` is now `--json`",
        ),
        (
            "translate runs/c src --format text --n-best 2",
            "translate runs/c src --no-scores --n-best 2",
            "`--format text` is now `--no-scores`",
        ),
        (
            "rescore runs/c --src src --tgt src --tokens --format=jsonl",
            "rescore runs/c --src src --tgt src --token-scores --json",
            "`--tokens` is now `--token-scores`",
        ),
    ] {
        assert_eq!(stdout(&folder, old), stdout(&folder, new), "{old}");
        let found = notes(&folder, old);
        let about = |line: &&String| line.contains(note);
        assert_eq!(found.iter().filter(about).count(), 1, "{old}: {found:?}");
        assert_eq!(notes(&folder, new), [""; 0], "{new}");
    }
    for (old, made) in [
        ("inspect runs/c '1' --output page.html", "page.html"),
        ("average runs/c --last 1 --out average", "average/config.toml"),
        ("quantize runs/c --to int8 --out=small", "small/packed.safetensors"),
    ] {
        assert!(!notes(&folder, old).is_empty(), "{old}");
        assert!(folder.path(made).exists(), "{old}");
    }
}

#[test]
fn old_keys_are_noted_once_and_written_by_their_present_names() {
    let folder = trained();
    let config = fs::read_to_string(folder.path("c.toml")).unwrap();
    let old = "\n[decode]\nbeam_width = 2\nalpha = 0.5\nlength_penalty = 'gnmt'\nstopping = 'first'\n";
    let before = config.split("[decode]").next().unwrap();
    folder.write("old.toml", format!("{before}{old}"));
    let command = "train old.toml --set train.accumulate=2 --set train.matmul=f32 --set decode.alpha=0.6";
    let expected = [
        "`decode.alpha` is now called `decode.length_penalty`; the old name is still read",
        "`decode.length_penalty` is now called `decode.length_penalty_formula`; the old name is still read",
        "`decode.stopping = \"first\"` is now called `decode.early_stopping = \"always\"`; the old name is \
         still read",
        "`train.accumulate` is now called `train.micro_batches_per_update`; the old name is still read",
        "`train.matmul` is now called `train.precision`; the old name is still read",
    ];
    assert_eq!(notes(&folder, command), expected.map(|note| format!("note: {note}")));
    let stored = fs::read_to_string(folder.path("runs/old/config.toml")).unwrap();
    for line in [
        "length_penalty = 0.6",
        "length_penalty_formula = \"gnmt\"",
        "early_stopping = \"always\"",
        "micro_batches_per_update = 2",
        "precision = \"f32\"",
    ] {
        assert!(stored.contains(line), "{line} is not in {stored}");
    }
    // What the program wrote needs no note.
    assert_eq!(notes(&folder, "translate runs/old src"), [""; 0]);
}

/// A model directory of version 0.2, whose configuration has the old names.
#[test]
fn old_models_say_nothing() {
    let folder = trained();
    let path = folder.path("runs/c/config.toml");
    let now = stdout(&folder, "translate runs/c src --scores");
    let mut text = fs::read_to_string(&path).unwrap();
    for (new, old) in [
        ("\nlength_penalty = ", "\nalpha = "),
        ("\nlength_penalty_formula = ", "\nlength_penalty = "),
        ("\nearly_stopping = \"never\"", "\nstopping = \"exact\""),
        ("\nmicro_batches_per_update = ", "\naccumulate = "),
        ("\nexchange_precision = ", "\nexchange = "),
        ("\nprecision = ", "\nmatmul = "),
    ] {
        assert!(text.contains(new), "{new:?} is not in {text}");
        text = text.replace(new, old);
    }
    // It wrote the keys of all families.
    text = text.replace("[model]\n", "[model]\nunit_vectors = false\n");
    fs::write(&path, text).unwrap();
    forget_sums(&folder, "runs/c");
    assert_eq!(notes(&folder, "translate runs/c src --scores"), [""; 0]);
    assert_eq!(stdout(&folder, "translate runs/c src --scores"), now);
    assert_eq!(notes(&folder, "train c.toml --resume --set train.max_steps=7"), [""; 0]);
}
