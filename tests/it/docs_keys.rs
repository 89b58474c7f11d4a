//! Configuration keys in documents exist.

use std::path::Path;

use attentive::Error;
use attentive::config::{Config, ConfigDraft};
use attentive::distill::DistillationPlan;
use attentive::server::ServeConfig;
use toml::Table;

use crate::docs_commands::calls_on;
use crate::run::Folder;
use crate::support::help::{PROGRAM, is_placeholder};
use crate::support::markdown::{Code, Page};
use crate::support::pages::{Mistakes, is_ours, present, recipes};

/// Sections of a training configuration.
const TRAINING: [&str; 5] = ["data", "tokenizer", "model", "train", "decode"];

/// Sections with keys, for a key that stands without its section.
const SECTIONS: [&str; 12] = [
    "",
    "data.",
    "data.train.",
    "tokenizer.",
    "tokenizer.special.",
    "model.",
    "model.recurrent.",
    "model.rotary_scaling.",
    "train.",
    "train.optimizer.",
    "train.schedule.",
    "decode.",
];

/// Sections and keys at the top of a server's configuration.
const SERVING: [&str; 10] = [
    "models",
    "limits",
    "listen",
    "api_key_file",
    "allowed_hosts",
    "precision",
    "device",
    "threads",
    "log_text",
    "timeout",
];

/// Endings of files: `train.en` is no key.
const FILES: [&str; 16] = [
    "bin",
    "de",
    "en",
    "fr",
    "html",
    "json",
    "jsonl",
    "model",
    "npz",
    "rs",
    "safetensors",
    "spm",
    "toml",
    "tsv",
    "txt",
    "yml",
];

/// What the program says about a training configuration, if it is not content. Files need not exist.
fn refused(text: &str, is_whole: bool) -> Option<String> {
    let path = Path::new("my.toml");
    let result = if is_whole {
        Config::parse(text, path, &[]).map(drop)
    } else {
        ConfigDraft::parse(text, path, &[]).map(drop)
    };
    match result {
        Ok(()) | Err(Error::Io { .. }) => None,
        Err(Error::Config { found, .. }) if found.contains("does not exist") => None,
        Err(error) => Some(said(&error)),
    }
}

/// An error with its hint.
fn said(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

/// What the program says about the configuration of a server, if it is not content.
fn refused_by_server(text: &str) -> Option<String> {
    let folder = Folder::new();
    folder.write("serve.toml", text);
    ServeConfig::load(&folder.path("serve.toml")).err().map(|error| said(&error))
}

/// What is wrong with a block of TOML, if anything.
fn wrong_block(text: &str) -> Option<String> {
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return Some(format!("this is no TOML: {}", error.message())),
    };
    if table.contains_key("dependencies") || table.contains_key("package") {
        return None;
    }
    let is_of = |sections: &[&str]| table.keys().all(|name| sections.contains(&name.as_str()));
    if is_of(&SERVING) && !table.is_empty() {
        return refused_by_server(text);
    }
    if table.contains_key("teacher") {
        let folder = Folder::new();
        folder.write("plan.toml", text);
        return DistillationPlan::load(&folder.path("plan.toml")).err().map(|error| said(&error));
    }
    let is_whole =
        table.get("data").is_some_and(|data| data.get("train").is_some() && data.get("valid").is_some());
    refused(text, is_whole)
}

/// What is wrong with `section.key` or `section.key = value`, if anything; `None` for what looks otherwise.
fn wrong_key(code: &str) -> Option<String> {
    let (key, value) = match code.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim())),
        None => (code, None),
    };
    let is_name = |part: &str| {
        !part.is_empty()
            && part.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_')
    };
    let parts: Vec<&str> = key.split('.').collect();
    if !parts.iter().all(|part| is_name(part)) || FILES.contains(parts.last()?) && parts.len() > 1 {
        return None;
    }
    match (&parts[..], value) {
        ([section, _, ..], _) if TRAINING.contains(section) => wrong_training_key(key, value),
        (["limits", _], _) => {
            let refused = refused_by_server(&format!("{key} = {}", value.unwrap_or("1")))?;
            (value.is_some() || refused.contains("unknown key")).then_some(refused)
        }
        ([name], Some(value)) if !is_placeholder(value) => wrong_name(name, value),
        _ => None,
    }
}

/// What is wrong with `name = value`, which any section may have.
fn wrong_name(name: &str, value: &str) -> Option<String> {
    let keys = SECTIONS.map(|section| format!("{section}{name}"));
    let is_known = |key: &String| wrong_training_key(key, Some(value)).is_none();
    if keys.iter().any(is_known) || serves(name, value) {
        return None;
    }
    let advice = "a new section belongs in SECTIONS in tests/it/docs_keys.rs";
    Some(format!("no section has a key `{name}` with this value; {advice}"))
}

/// Whether a section of a server's configuration has a key `name`.
fn serves(name: &str, value: &str) -> bool {
    let sections = ["", "limits.", "models.en-de."];
    let refused = sections.map(|section| refused_by_server(&format!("{section}{name} = {value}")));
    let is_known =
        |refused: &Option<String>| !refused.as_ref().is_some_and(|said| said.contains("unknown key"));
    refused.iter().any(is_known)
}

/// What is wrong with a key of a training configuration, and with its value if there is one.
fn wrong_training_key(key: &str, value: Option<&str>) -> Option<String> {
    let value = value.filter(|value| !is_placeholder(value));
    let setting = format!("{key}={}", value.unwrap_or("0"));
    match ConfigDraft::parse("", Path::new("my.toml"), &[setting]) {
        Err(error @ Error::UnknownKey { .. }) => Some(with_hint(&error)),
        Err(error @ Error::Config { .. }) if value.is_some() => Some(with_hint(&error)),
        _ => None,
    }
}

fn with_hint(error: &Error) -> String {
    let hint = error.hint().map(|hint| format!("; {hint}"));
    format!("{error}{}", hint.unwrap_or_default())
}

/// What is wrong with `code` within a line of `page`, if anything.
fn mistake(page: &Page, code: &Code) -> Option<String> {
    is_ours(page, code).then(|| wrong_key(&code.text))?
}

/// What is wrong with the settings (`--set KEY=VALUE`) of a call, if anything.
fn wrong_setting(arguments: &[String]) -> Option<String> {
    let after = arguments.windows(2).filter(|pair| pair[0] == "--set").map(|pair| pair[1].as_str());
    let joined = arguments.iter().filter_map(|word| word.strip_prefix("--set="));
    after.chain(joined).find_map(|setting| {
        let (key, value) = setting.split_once('=')?;
        // Without quotes, the value may be any string.
        wrong_training_key(key, Some(value)).map(|wrong| format!("`--set {setting}`: {wrong}"))
    })
}

#[test]
fn keys_in_documents_exist() {
    let mut mistakes = Mistakes::default();
    let mut count = 0;
    for page in present().iter().chain(&recipes()).chain(&PROGRAM.pages()) {
        for block in page.blocks.iter().filter(|block| block.language == "toml") {
            count += 1;
            if let Some(wrong) = wrong_block(&block.text) {
                mistakes.add(&page.name, block.line, wrong);
            }
        }
        // This page is generated from the keys; another test says when it is out of date.
        let is_generated = page.name == "docs/configuration.md";
        for code in page.codes.iter().filter(|_| !is_generated) {
            if let Some(wrong) = mistake(page, code) {
                mistakes.add(&page.name, code.line, format!("`{}`: {wrong}", code.text));
            }
        }
        for (line, arguments) in calls_on(page) {
            if let Some(wrong) = wrong_setting(&arguments) {
                mistakes.add(&page.name, line, wrong);
            }
        }
    }
    mistakes.none();
    assert!(count > 5, "only {count} blocks of TOML found");
}

#[test]
fn wrong_keys_are_noticed() {
    for wrong in [
        "train.batch_token",
        "train.batch_tokens = \"many\"",
        "model.tie_embeddings = \"some\"",
        "decode.alpha",
        "limits.cues",
        "tie_embedding = \"all\"",
        "accumulate = 4",
        "train.matmul = \"bf16\"",
        "decode.length_penalty = \"gnmt\"",
    ] {
        assert!(wrong_key(wrong).is_some(), "{wrong}");
    }
    for right in [
        "train.batch_tokens",
        "train.en",
        "limits.queue",
        "max_steps = 5",
        "data.store = \"auto\"",
        "a.b",
        "timeout = 30",
    ] {
        assert_eq!(wrong_key(right), None, "{right}");
    }
    for wrong in [
        "[train]\nmax_step = 1\n",
        "[train]\naccumulate = 1\n",
        "[decode]\nlength_penalty = \"gnmt\"\n",
        "[data]\ntrain = { src = \"a\", tgt = \"b\" }\nvalid = \
         { src = \"a\", tgt = \"b\" }\n[model]\nd_model = 7\n",
        "listen = \"x\"\n[limits]\ncue = 1\n",
        "[trian]\nmax_steps = 1\n",
        "a = ",
    ] {
        assert!(wrong_block(wrong).is_some(), "{wrong}");
    }
    let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
    assert!(wrong_setting(&words("train x --set train.max_step=3")).is_some());
    assert_eq!(wrong_setting(&words("train x --set train.max_steps=3")), None);
}
