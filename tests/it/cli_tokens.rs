//! Special tokens with other numbers than usual, and the token contract of a configuration.

use std::fs;

use serde_json::Value;

use crate::cli_model::{CONFIG, stdout, trained};
use crate::cli_sums::forget_sums;
use crate::run::Folder;

/// Turns the numbers of all tokens of the model in `runs/c` around.
fn turn_numbers_around(folder: &Folder) {
    let path = folder.path("runs/c/tokenizer.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let vocab = json["model"]["vocab"].as_object_mut().unwrap();
    let last = vocab.len() as u64 - 1;
    let turn = |id: &mut Value| *id = (last - id.as_u64().unwrap()).into();
    vocab.values_mut().for_each(turn);
    for token in json["added_tokens"].as_array_mut().unwrap() {
        turn(&mut token["id"]);
    }
    fs::write(&path, json.to_string()).unwrap();
}

#[test]
fn special_tokens_may_have_any_number() {
    let folder = trained();
    turn_numbers_around(&folder);
    forget_sums(&folder, "runs/c");
    let more = "train c.toml --resume --set train.max_steps=12";
    folder.succeeds(more);
    let text = stdout(&folder, "translate runs/c src --max-new-tokens 9");
    assert_eq!(text.lines().count(), 5);
    let digits = "0123456789";
    let mut words = text.split_whitespace();
    assert!(words.all(|word| digits.contains(word)), "{text}");
    let path = folder.path("runs/c/tokenizer.json");
    let json = fs::read_to_string(&path).unwrap();
    fs::write(&path, json.replace("<pad>", "<fill>")).unwrap();
    let complaint = ["tokenizer.json", "`<pad>` is missing"];
    folder.fails("translate runs/c src", 1, &complaint);
}

#[test]
fn the_token_contract_holds_in_training_and_translation() {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG).write("src", "1 2 3\n4 5\n");
    let contract = "--set model.decoder_start_token=</s> --set model.forced_bos_token='7' \
        --set model.forced_eos_token='5' --set model.suppress_tokens=['<pad>','<s>','</s>','3']";
    folder.succeeds(&format!("train c.toml {contract}"));
    let text = stdout(&folder, "translate runs/c src --max-new-tokens 4");
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words.len(), 4, "{line}");
        assert_eq!((words[0], words[3]), ("7", "5"), "{line}");
        assert!(!words.contains(&"3"), "{line}");
    }
    // A resumed run keeps its tokens.
    let other = "train c.toml --resume --set model.decoder_start_token=<s>";
    folder.fails(other, 2, &["`model.decoder_start_token`"]);

    let unknown = folder.run("train c.toml --output other --set model.forced_bos_token=Zebra");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let complaint = "`model.forced_bos_token`: expected a token of the vocabulary, found `Zebra`";
    assert!(unknown.stderr.contains(complaint), "{unknown:?}");
    assert!(!folder.path("other").exists());
    let path = folder.path("runs/c/config.toml");
    let config = fs::read_to_string(&path).unwrap();
    let changed = config.replace("decoder_start_token = \"</s>\"", "decoder_start_token = \"<2de>\"");
    assert_ne!(config, changed);
    fs::write(&path, changed).unwrap();
    let complaint = ["`model.decoder_start_token`", "found `<2de>`"];
    folder.fails("translate runs/c src", 2, &complaint);
}

#[test]
fn a_model_without_languages_says_so() {
    let folder = trained();
    let complaint = ["the model has no language `de`", "omit the language"];
    folder.fails("translate runs/c src --target-lang de", 2, &complaint);
}
