//! What translations can be made to contain, random translations, ensembles, and what is known of a
//! translation.

use serde_json::Value;

use crate::cli_model::{CONFIG, stdout, trained};
use crate::run::{Folder, for_family};

/// [`trained`], and recurrent models `s` with attention and `n` without, all with the same vocabulary.
pub(crate) fn three_models() -> Folder {
    let folder = trained();
    folder.write("s.toml", for_family(CONFIG, "seq2seq"));
    for (name, attention) in [("s", "additive"), ("n", "none")] {
        folder.succeeds(&format!(
            "train s.toml --output {name} --set model.family=seq2seq --set model.recurrent.d_hidden=16 \
             --set model.recurrent.attention={attention}"
        ));
    }
    folder
}

fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().unwrap();
    list.iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn translations_begin_with_their_prefixes() {
    let folder = trained();
    folder.write("begin", "9 9\n\n\n0 5 0 5\n7\n");
    let command = "translate runs/c src --prefix begin";
    let text = stdout(&folder, command);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].starts_with("9 9") && lines[3].starts_with("0 5 0 5"), "{text}");
    assert!(lines[2].is_empty() && lines[4].starts_with('7'), "{text}");
    let free = stdout(&folder, "translate runs/c src");
    assert_eq!(lines[1], free.lines().nth(1).unwrap());
    for options in ["--batch-size 1", "--batch-size 2 --threads 1"] {
        assert_eq!(stdout(&folder, &format!("{command} {options}")), text);
    }
    folder.write("begin", "\n\n9\n\n\n");
    let outcome = folder.run(command);
    assert_eq!(outcome.stdout, free);
    assert!(outcome.stderr.contains("warning: line 3: blank, so its prefix"), "{outcome:?}");
}

#[test]
fn translations_contain_their_phrases() {
    let folder = trained();
    folder.write("terms", "9 9\t0 0\n\n\n5\n 1 \t\t2 2 2\n");
    for beam in [1, 4, 12] {
        let command = format!("translate runs/c src --constraints terms --beam-width {beam}");
        let outcome = folder.succeeds(&command);
        // A translation may be cut off, but not for want of a phrase.
        assert!(!outcome.stderr.contains("lacks"), "{outcome:?}");
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        assert!(lines[0].contains("9 9") && lines[0].contains("0 0"), "{lines:?}");
        assert!(lines[3].contains('5') && lines[2].is_empty(), "{lines:?}");
        assert!(lines[4].contains('1') && lines[4].contains("2 2 2"), "{lines:?}");
        let alone = format!("{command} --batch-size 1 --threads 1");
        assert_eq!(stdout(&folder, &alone), outcome.stdout);
    }
    folder.write("terms", "9 9\n\n\n\n\n");
    let command = "translate runs/c src --constraints terms --no-repeat-ngram 1 --json";
    let outcome = folder.run(command);
    assert!(outcome.stderr.contains("warning: line 1: the translation lacks `9 9`"), "{outcome:?}");
    let first = &objects(&outcome.stdout)[0]["translations"][0];
    assert_eq!(first["unmet"][0], "9 9");
    assert_eq!(first["finished"], false);
}

#[test]
fn ngrams_are_not_repeated() {
    let folder = trained();
    for n in [1, 2] {
        let options = format!("translate runs/c src --no-repeat-ngram {n}");
        for line in stdout(&folder, &options).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut ngrams: Vec<&[&str]> = words.windows(n).collect();
            ngrams.sort_unstable();
            assert!(ngrams.windows(2).all(|pair| pair[0] != pair[1]), "{line}");
        }
    }
    stdout(&folder, "evaluate runs/c --src src --ref src --no-repeat-ngram 2 --coverage-penalty 0.2");
}

#[test]
fn samples_depend_on_seed_and_line_alone() {
    let folder = trained();
    let sample = |options: &str| stdout(&folder, &format!("translate runs/c src --sample {options}"));
    let first = sample("--seed 3 --n-best 4");
    let lines: Vec<&str> = first.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(lines.join(""), "1111222234444555 5".replace(' ', ""));
    for options in ["--batch-size 1", "--batch-size 3 --threads 1", "--temperature 1 --top-p 1"] {
        assert_eq!(sample(&format!("--seed 3 --n-best 4 {options}")), first);
    }
    assert_ne!(sample("--seed 4 --n-best 4"), first);
    let one = sample("--seed 3");
    let firsts: Vec<&str> =
        [0, 4, 8, 9, 13].map(|place| first.lines().nth(place).unwrap().split('\t').nth(2).unwrap()).to_vec();
    assert_eq!(one.lines().collect::<Vec<_>>(), firsts);
    let greedy = stdout(&folder, "translate runs/c src --beam-width 1");
    assert_eq!(sample("--temperature 0"), greedy);
    assert_eq!(sample("--top-k 1"), greedy);
    folder.write("begin", "9 9\n9\n9\n9\n9\n");
    let begun = sample("--prefix begin --no-scores");
    let mut lines = begun.lines().filter(|line| !line.is_empty());
    assert!(lines.all(|line| line.starts_with('9')), "{begun}");
}

#[test]
fn everything_that_is_known_can_be_written() {
    let folder = trained();
    let plain = stdout(&folder, "translate runs/c src --json --n-best 2");
    let full = stdout(&folder, "translate runs/c src --json --n-best 2 --alignments");
    for (plain, full) in objects(&plain).iter().zip(objects(&full)) {
        assert_eq!(plain["line"], full["line"]);
        let lists = [plain, &full].map(|object| object["translations"].as_array().unwrap());
        for (plain, full) in lists[0].iter().zip(lists[1]) {
            let plain = plain.as_object().unwrap();
            let keys: Vec<&str> = plain.keys().map(String::as_str).collect();
            let known = ["text", "score", "log_prob", "finished", "tokens", "token_log_probs", "unmet"];
            assert_eq!(keys, known);
            assert!(plain.iter().all(|(key, value)| full[key] == *value));
            let tokens: Vec<&str> =
                full["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
            let words: Vec<&str> = tokens.iter().copied().filter(|&t| t != "<unk>").collect();
            assert_eq!(words.join(" "), full["text"].as_str().unwrap());
            let log_probs = numbers(&full["token_log_probs"]);
            let ends = !tokens.is_empty() && full["finished"] == true;
            assert_eq!(log_probs.len(), tokens.len() + usize::from(ends));
            let sum: f64 = log_probs.iter().sum();
            assert!((sum - full["log_prob"].as_f64().unwrap()).abs() < 1e-3);
            for pair in full["alignment"].as_array().unwrap() {
                assert!(pair[1].as_u64().unwrap() < tokens.len() as u64, "{full}");
            }
        }
    }
    let scores = stdout(&folder, "translate runs/c src --scores");
    let wide = stdout(&folder, "translate runs/c src --scores --token-scores --alignments");
    for (line, wide) in scores.lines().zip(wide.lines()) {
        assert!(wide.starts_with(&format!("{line}\t")));
        assert_eq!(wide.split('\t').count(), 6);
    }
    let text = stdout(&folder, "translate runs/c src --no-scores --n-best 2 --alignments");
    assert_eq!(text.lines().count(), 9);
    assert!(text.lines().all(|line| line.split('\t').count() == 2), "{text}");
}

#[test]
fn given_translations_get_the_probabilities_of_the_search() {
    let folder = three_models();
    for model in ["runs/c", "s", "runs/c --with s --with n"] {
        let full = stdout(&folder, &format!("translate {model} src --json"));
        let found = objects(&full);
        let texts: Vec<String> = found
            .iter()
            .map(|line| line["translations"][0]["text"].as_str().unwrap().to_owned() + "\n")
            .collect();
        folder.write("out", texts.concat());
        let command = format!("rescore {model} --src src --tgt out");
        let json = stdout(&folder, &format!("{command} --json"));
        let columns = stdout(&folder, &format!("{command} --token-scores"));
        let short = stdout(&folder, &command);
        for (number, (scored, found)) in objects(&json).iter().zip(found).enumerate() {
            assert_eq!(scored["line"], number + 1);
            let columns: Vec<&str> = columns.lines().nth(number).unwrap().split('\t').collect();
            assert_eq!(short.lines().nth(number).unwrap(), columns[..2].join("\t"));
            assert_eq!(columns.len(), 4);
            if number == 2 {
                assert!(scored["log_prob"].is_null());
                assert_eq!(columns[..2], ["NaN", "0"]);
                continue;
            }
            let log_probs = numbers(&scored["token_log_probs"]);
            assert_eq!(scored["tokens"].as_array().unwrap().len(), log_probs.len());
            let found = numbers(&found["translations"][0]["token_log_probs"]);
            for (scored, found) in log_probs.iter().zip(found) {
                assert!((scored - found).abs() < 1e-3, "{model}");
            }
            assert_eq!(scored["tokens"].as_array().unwrap().last().unwrap(), "</s>");
        }
    }
    let outcome = folder.run("rescore runs/c --src src --tgt src");
    assert!(outcome.stderr.contains("line 3: the source is blank"), "{outcome:?}");
    folder.write("short", "1\n");
    folder.fails("rescore runs/c --src src --tgt short", 1, &["`src` has 5 lines, `short` has 1"]);
}

#[test]
fn an_ensemble_of_equals_is_one_model_and_others_change_it() {
    let folder = three_models();
    let alone = stdout(&folder, "translate runs/c src --scores");
    let twice = stdout(&folder, "translate runs/c src --scores --with runs/c");
    for (alone, twice) in alone.lines().zip(twice.lines()) {
        let split = |line: &str| -> (String, f64) {
            let columns: Vec<&str> = line.split('\t').collect();
            (columns[2].to_owned(), columns[1].parse().unwrap())
        };
        let (alone, twice) = (split(alone), split(twice));
        assert_eq!(alone.0, twice.0);
        assert!((alone.1 - twice.1).abs() < 2e-4);
    }
    let mixed = "translate runs/c src --scores --with s --with n";
    let together = stdout(&folder, mixed);
    assert_ne!(together, alone);
    assert_eq!(stdout(&folder, &format!("{mixed} --batch-size 1 --threads 1")), together);
}
