//! What the program says before a user has to ask.

use std::fs;

use serde_json::Value;

use crate::cli_model::{stdout, trained};
use crate::run::Folder;

#[test]
fn options_named_like_keys_are_explained() {
    let folder = Folder::new();
    for (option, key) in [
        ("--max-steps 5", "train.max_steps"),
        ("--batch-tokens=5", "train.batch_tokens"),
        ("--lr 0.1", "train.optimizer.learning_rate"),
        ("--d-model 64", "model.d_model"),
        ("--beam-size 4", "decode.beam_width"),
    ] {
        let tip = format!("are set with `--set KEY=VALUE`: did you mean `{key}`?");
        folder.fails(&format!("train c.toml {option}"), 2, &[&tip]);
    }
    let other = folder.run("train c.toml --zzz 5").stderr;
    assert!(!other.contains("--set KEY"), "{other}");
}

/// Sentences of words in two alphabets.
fn sentences(first: char) -> String {
    let word = |n: usize| {
        let letter = |place: u32| char::from_u32(first as u32 + (n as u32 / 5_u32.pow(place)) % 5);
        (0..2).filter_map(letter).collect::<String>()
    };
    let line = |number: usize| {
        let words: Vec<String> = (0..2 + number % 4).map(|i| word(number * 7 + i * 11)).collect();
        words.join(" ") + "\n"
    };
    (0..120).map(line).collect()
}

fn parallel() -> Folder {
    let folder = Folder::new();
    folder.write("train.en", sentences('a')).write("train.de", sentences('p'));
    folder.write("val.en", sentences('a')).write("val.de", sentences('p'));
    let recipe = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/configs/multi30k-marian.toml"));
    folder.write("m.toml", recipe.unwrap());
    let few = "data.dir=. tokenizer.vocab_size=200 train.max_steps=30 train.validate_every=30 \
               train.validate_sentences=2 train.batch_tokens=400 train.micro_batches_per_update=1 \
               train.save_every=0 train.schedule.warmup_steps=5 train.average_last=1 model.d_model=32 \
               model.d_ff=32 model.n_encoder_layers=1 model.n_decoder_layers=1 model.dropout=0.0";
    let few: Vec<String> = few.split(' ').map(|one| format!("--set {one}")).collect();
    let outcome = folder.succeeds(&format!("train m.toml --output m {}", few.join(" ")));
    assert!(outcome.stderr.contains("note: the model can be exported as MarianMT\n"), "{outcome:?}");
    let fewer = "fewer than `tokenizer.vocab_size` = 200";
    assert!(outcome.stderr.contains(fewer), "{outcome:?}");
    folder
}

#[test]
fn files_that_are_named_twice_are_noticed() {
    let folder = parallel();
    let plain = fs::read_to_string(folder.path("m.toml")).unwrap();
    assert!(plain.contains("train.en"), "{plain}");
    let few = "--set data.dir=. --set train.max_steps=1 --set train.batch_tokens=400 --set model.d_model=32 \
               --set model.d_ff=32 --set model.n_encoder_layers=1 --set model.n_decoder_layers=1 --set \
               tokenizer.vocab_size=200 --set train.schedule.warmup_steps=1 --set train.average_last=0 --set \
               train.micro_batches_per_update=1 --set train.validate_sentences=2 --set train.save_every=0 \
               --set model.dropout=0.0";
    let said = |more: &str| {
        let outcome = folder.succeeds(&format!("train m.toml --force --output twice {few} {more}"));
        outcome.stderr
    };
    let copies = "warning: source and target of `data.train` are the same file, `train.en`";
    let seen = "warning: `data.valid` is also in `data.train` (`./train.en`, `train.de`)";
    let neither = said("");
    assert!(!neither.contains(copies) && !neither.contains("is also in"), "{neither}");
    let copied = said("--set data.train.tgt=./train.en");
    assert!(copied.contains(copies) && !copied.contains("is also in"), "{copied}");
    let same = said("--set data.valid.src=./train.en --set data.valid.tgt=train.de");
    assert!(same.contains(seen) && !same.contains(copies), "{same}");
}

#[test]
fn what_is_no_configuration_is_explained() {
    let folder = trained();
    folder.write("m.yml", "task: transformer-base\n").write("train.en", "A dog runs.\n");
    for (file, code, hint) in [
        ("m.yml", 2, "hint: configurations are TOML files"),
        ("train.en", 2, "`attentive config new --family transformer -o my.toml`"),
        ("train.en", 2, "docs/coming-from.md"),
        ("runs/c", 1, "`attentive train runs/c --resume`"),
        ("runs", 1, "hint: name a TOML file"),
        ("none.yml", 1, "hint: check the path"),
    ] {
        folder.fails(&format!("train {file}"), code, &[hint]);
    }
}

#[test]
fn a_model_of_the_recipe_is_exported_without_reservations() {
    let folder = parallel();
    let lines = stdout(&folder, "info m");
    assert!(
        lines.contains(
            "\nexport\n  transformers  MarianMT\n  Marian        the model cannot be represented as a Marian \
             model: "
        ),
        "{lines}"
    );
    let outcome = folder.run("export m --to hf --output hf");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    stdout(&folder, "import hf --output back");
    let of = |model: &str| stdout(&folder, &format!("translate {model} val.en --scores"));
    assert_eq!(of("m"), of("back"));
}

#[test]
fn a_test_set_the_wrong_way_round_is_noticed() {
    let folder = parallel();
    let run = |src: &str, tgt: &str| {
        let outcome = folder.succeeds(&format!("evaluate m --src {src} --ref {tgt} --json"));
        let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
        (json["bleu"]["value"].as_f64().unwrap(), outcome.stderr)
    };
    let (bleu, said) = run("val.de", "val.en");
    assert!(bleu < 5.0);
    assert!(said.contains("warning: source and target seem to be swapped"), "{said}");
    let (_, said) = run("val.en", "val.de");
    assert!(!said.contains("swapped"), "{said}");
}

#[test]
fn what_cannot_be_exported_is_said_when_training_starts() {
    let folder = trained();
    let pre = "--set model.norm_position=pre";
    let outcome = folder.run(&format!("train c.toml --output pre {pre}"));
    let lines = stdout(&folder, "info pre");
    assert!(lines.contains("transformers  the model cannot be represented as a MarianMT model: "), "{lines}");
    let json: Value = serde_json::from_str(&stdout(&folder, "info pre --json")).unwrap();
    let problem = json["export"][0]["problem"].as_str().unwrap();
    assert_eq!(json["export"][0]["kind"], Value::Null);
    let note = format!("note: the model cannot be exported for `transformers`: {problem}\n");
    assert!(outcome.stderr.contains(&note), "{outcome:?}");
    // The note is short, and tells where there is more.
    let many = "--set model.norm=rms --set model.positions=rotary --set model.logit_scale=2.0";
    let outcome = folder.run(&format!("train c.toml --output many {pre} {many}"));
    let json: Value = serde_json::from_str(&stdout(&folder, "info many --json")).unwrap();
    let all = json["export"][0]["problem"].as_str().unwrap();
    let all: Vec<&str> = all.split("; ").collect();
    let (first, more) = (all[..2].join("; "), all.len() - 2);
    let rest = format!("; and {more} more, which `attentive info` lists\n");
    let note = format!("note: the model cannot be exported for `transformers`: {first}{rest}");
    assert!(more >= 2 && outcome.stderr.contains(&note), "{outcome:?}");
    folder.fails("export pre --to hf --output hf", 2, &[problem]);
    // A run that goes on has said it.
    let again = format!("train c.toml --output pre {pre} --resume");
    assert!(!folder.run(&again).stderr.contains("exported"));
}

#[test]
fn a_translation_that_was_cut_off_is_named_in_every_format() {
    let folder = trained();
    for format in ["", "--scores", "--json", "--json", "--scores", "--token-scores"] {
        let outcome = folder.run(&format!("translate runs/c src --max-new-tokens 1 {format}"));
        let warning = "warning: line 1: the translation was cut off at the length limit";
        assert!(outcome.stderr.contains(warning), "{format}: {outcome:?}");
        // Line 3 is blank.
        assert!(!outcome.stderr.contains("line 3"), "{format}: {outcome:?}");
    }
}

#[test]
fn texts_and_options_in_the_wrong_place_are_explained() {
    let folder = trained();
    let run = |command: &str, more: &[&str]| {
        let outcome = folder.command(command).args(more).output().unwrap();
        assert!(!outcome.status.success(), "{outcome:?}");
        String::from_utf8(outcome.stderr).unwrap()
    };
    for (command, text, expected) in [
        ("translate runs/c", "it's 1 2.", r"`echo 'it'\''s 1 2.' | attentive translate MODEL`"),
        ("translate runs/c", "123", "`echo '123' | attentive translate MODEL`"),
        ("generate runs/c", "1 2", "`attentive generate MODEL --prompt '1 2'`"),
        ("generate runs/c", "1 2", "`echo '1 2' | attentive generate MODEL`"),
        ("translate runs/c 1", "2", "`echo 'TEXT' | attentive translate MODEL`"),
        ("tag runs/c 1", "2", "`echo 'TEXT' | attentive tag MODEL`"),
    ] {
        let said = run(command, &[text]);
        assert!(said.contains(expected), "{said}");
    }
    let long = run("translate runs/c", &[&"1 2 ".repeat(100)]);
    assert!(long.contains("`echo '…' | attentive translate MODEL`"), "{long}");
    let file = run("translate runs/c", &["missing.txt"]);
    assert!(!file.contains("echo"), "{file}");
    for (command, expected) in [
        ("compare runs/c --checkpoint last", "`RUN/checkpoints/step-N`"),
        ("compare runs/c --confidence", "`--json` has all of them"),
        ("evaluate runs/c --confidence", "`attentive score out.txt REF --confidence`"),
        ("score a b -m bleu", "it is called `--metric` here"),
        ("evaluate runs/c src tgt", "such as `--src test.en --ref"),
    ] {
        let said = run(command, &[]);
        assert!(said.contains("tip: ") && said.contains(expected), "{said}");
        assert!(!said.contains("as a value"), "{said}");
    }
}

#[test]
fn an_evaluation_counts_the_translations_that_were_cut_off() {
    let folder = trained();
    folder.write("in", "1 2 3\n4 5 6 7\n\n9 8 7\n");
    let evaluate = |more: &str| {
        let outcome = folder.succeeds(&format!("evaluate runs/c --src in --ref in --json {more}"));
        let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
        (json["cut_off"].as_u64().unwrap(), outcome.stderr)
    };
    let (n, said) = evaluate("--max-new-tokens 1");
    let warning = "warning: 3 of 4 translations were cut off at the length limit\n";
    assert!(n == 3 && said.contains(warning), "{n}: {said}");
    folder.write("in", "1 2 3\n");
    let (n, said) = evaluate("--max-new-tokens 1");
    let warning = "warning: 1 of 1 translation was cut off at the length limit\n";
    assert!(n == 1 && said.contains(warning), "{n}: {said}");
}

/// The model's own limit for the first sentence is 16 tokens.
#[test]
fn the_limit_on_new_tokens_may_be_raised() {
    let folder = trained();
    let n_tokens = |shortest: usize, options: &str| {
        let options = format!("translate runs/c src --min-length {shortest} --json {options}");
        let lines = stdout(&folder, &options);
        let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        first["translations"][0]["tokens"].as_array().unwrap().len()
    };
    let own = n_tokens(40, "");
    assert!(own < 40, "{own}");
    let raised = n_tokens(40, "--max-new-tokens 50");
    assert!((40..=50).contains(&raised), "{raised}");
    assert_eq!(n_tokens(40, "--max-new-tokens 5"), 5);
    // Never more than the model can read.
    assert!(n_tokens(90_000, "--max-new-tokens 100000") <= 256);
}
