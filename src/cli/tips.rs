//! Tips for options of other programs, and for common typing errors.

use std::path::Path;

use attentive::config::Draft;
use attentive::error::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of other programs that choose a device.
const DEVICES: [&str; 8] = [
    "--gpu",
    "--gpus",
    "--cuda",
    "--device",
    "--devices",
    "--use-gpu",
    "--mps",
    "--cpu",
];

/// Options of other programs, and the options here with the same meaning.
const FOREIGN: [(&str, &[&str]); 8] = [
    ("--json", &["--format"]),
    (
        "--beam-width",
        &["--beam", "--beam-size", "--beams", "--num-beams"],
    ),
    (
        "--length-penalty",
        &["--normalize", "--lenpen", "--beam-alpha"],
    ),
    (
        "--n-best",
        &[
            "--nbest",
            "--num-return-sequences",
            "--num-hypotheses",
            "--n-samples",
        ],
    ),
    (
        "--max-new-tokens",
        &["--max-length", "--max-decoding-length", "--max-len"],
    ),
    ("--no-repeat-ngram", &["--no-repeat-ngram-size"]),
    ("--batch-size", &["--mini-batch", "--max-batch-size"]),
    (
        "--precision",
        &[
            "--dtype",
            "--compute-type",
            "--quantization",
            "--fp16",
            "--int8",
        ],
    ),
];

/// Adds a tip to the error, if there is one.
pub(super) fn added(mut error: clap::Error) -> clap::Error {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (option, value) = (
        context(ContextKind::InvalidArg),
        context(ContextKind::InvalidValue),
    );
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => of_option(option),
        ErrorKind::InvalidValue => of_value(option, value),
        ErrorKind::ValueValidation => {
            of_number(&error.to_string()).or_else(|| of_value(option, value))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// A tip for an option that does not exist.
fn of_option(option: &str) -> Option<String> {
    let name = option.split('=').next().unwrap_or(option);
    if DEVICES.contains(&name) {
        return Some("everything runs on the CPU; `--threads` sets the number of threads".into());
    }
    // A number after `--profile` without an equals sign is parsed as a separate argument.
    let given = |word: &str| std::env::args().any(|argument| argument == word);
    if given("train")
        && let Some(key) = key_of(name)
    {
        return Some(format!(
            "configuration keys are set with `--set KEY=VALUE`: {key}"
        ));
    }
    if let Some((own, _)) = FOREIGN.iter().find(|(_, others)| others.contains(&name)) {
        return Some(format!(
            "it is called `{own}` here, in the commands that have it"
        ));
    }
    let is_number = option.parse::<u64>().is_ok();
    (is_number && given("train") && given("--profile"))
        .then(|| format!("write the number of updates after an equals sign: `--profile={option}`"))
}

/// Which configuration key the option `name` may stand for, as a question.
fn key_of(name: &str) -> Option<String> {
    let name = name.strip_prefix("--")?.replace('-', "_");
    let draft = Draft::parse("", Path::new(""), &[format!("train.{name}=0")]);
    match draft {
        Err(Error::UnknownKey { hint, .. }) => Some(hint).filter(|hint| hint.starts_with("did")),
        _ => Some(format!("did you mean `train.{name}`?")),
    }
}

/// A tip for a wrong number, whose `message` comes from the standard library.
fn of_number(message: &str) -> Option<String> {
    if message.contains("zero for non-zero type") {
        return Some("use a whole number of at least 1".into());
    }
    if message.contains("invalid float literal") {
        return Some("use a number, such as 0.5".into());
    }
    let wrong = message.contains("invalid digit found in string");
    wrong.then(|| "use a whole number that is not negative".into())
}

/// A tip for a value that an option does not have.
fn of_value(option: &str, value: &str) -> Option<String> {
    if !option.starts_with("--tokenize") {
        return None;
    }
    let divide = |with: &str| {
        format!(
            "tokenize translations and references with {with}, and score the files with `--tokenize none`: the score is the same"
        )
    };
    match value {
        "spm" | "flores101" => Some(divide(
            "the SentencePiece model `sacrebleu_tokenizer_spm.model` that sacreBLEU downloads (`spm_encode --model=FILE < out > out.spm`)",
        )),
        "flores200" => Some(divide(
            "the SentencePiece model `flores200sacrebleuspm` that sacreBLEU downloads (`spm_encode --model=FILE < out > out.spm`)",
        )),
        "ja-mecab" => Some(divide(
            "MeCab and the dictionary `ipadic` (`mecab -Owakati < out > out.words`)",
        )),
        "ko-mecab" => Some(divide(
            "MeCab-ko and its dictionary (`mecab -Owakati < out > out.words`)",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    fn tip(arguments: &[&str]) -> String {
        let all = ["attentive"].iter().chain(arguments);
        let error = super::super::Cli::try_parse_from(all)
            .err()
            .expect("an error");
        super::added(error).to_string()
    }

    #[test]
    fn options_of_other_programs_have_tips() {
        for (option, own) in [
            ("--beam-size", "--beam-width"),
            ("--normalize=0.6", "--length-penalty"),
            ("--num-return-sequences", "--n-best"),
        ] {
            let text = tip(&["translate", "runs/x", option]);
            assert!(
                text.contains(&format!("it is called `{own}` here")),
                "{text}"
            );
            assert!(!text.contains("similar"), "{text}");
        }
    }

    #[test]
    fn devices_and_tokenizers_of_other_programs_have_tips() {
        for option in ["--gpu", "--device=cuda:0", "--cuda"] {
            let text = tip(&["translate", "runs/x", option]);
            assert!(text.contains("tip: everything runs on the CPU"), "{text}");
        }
        for (name, words) in [
            ("flores200", "flores200sacrebleuspm"),
            ("ja-mecab", "ipadic"),
        ] {
            let text = tip(&["score", "a", "b", "--tokenize", name]);
            assert!(
                text.contains(words) && text.contains("--tokenize none"),
                "{text}"
            );
        }
        let text = tip(&["translate", "runs/x", "--beam-widht", "3"]);
        assert!(
            text.contains("--beam-width") && !text.contains("CPU"),
            "{text}"
        );
        for (number, words) in [("0", "of at least 1"), ("two", "a whole number")] {
            let text = tip(&["translate", "runs/x", "--beam-width", number]);
            assert!(text.contains(words), "{text}");
        }
        let text = tip(&["score", "a", "b", "--tokenize", "14a"]);
        assert!(text.contains("13a"), "{text}");
    }
}
