//! Tips for options of other programs, and for common typing errors.

use std::path::Path;

use attentive::config::Draft;
use attentive::error::Error;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;

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

/// Options that a command does not have, and what there is instead: the command, the options, the tip.
const INSTEAD: [(&str, &[&str], &str); 4] = [
    (
        "compare",
        &["--checkpoint"],
        "name the folder of a checkpoint instead of the run: `RUN/checkpoints/step-N`",
    ),
    (
        "compare",
        &["--confidence"],
        "the intervals are always computed; the tables show those of the differences, and `--json` has all of them",
    ),
    (
        "evaluate",
        &["--confidence"],
        "write the translations to a file with `--output out.txt`; `attentive score out.txt REF --confidence` gives the intervals",
    ),
    (
        "score",
        &["-m", "--metrics"],
        "it is called `--metric` here, and several are separated by commas: `--metric bleu,chrf,ter`",
    ),
];

/// Options of `train`, and what keys of other programs do the same.
const AS_KEYS: [(&str, &[&str]); 3] = [
    (
        "threads",
        &[
            "num_threads",
            "n_threads",
            "cpu_threads",
            "num_workers",
            "workers",
            "dataloader_num_workers",
            "num_cpus",
            "cpus",
            "cores",
            "n_jobs",
        ],
    ),
    (
        "output",
        &["output_dir", "out", "out_dir", "run_dir", "save_dir"],
    ),
    ("resume", &["resume_from_checkpoint"]),
];

/// Commands that read texts line by line.
const READERS: [&str; 4] = ["translate", "tag", "classify", "embed"];

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
    if let Some((.., tip)) = INSTEAD
        .iter()
        .find(|(command, options, _)| given(command) && options.contains(&name))
    {
        return Some((*tip).into());
    }
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
    if let Some(tip) = of_text(option) {
        return Some(tip);
    }
    // A number after `--profile` without an equals sign is parsed as a separate argument.
    let is_number = option.parse::<u64>().is_ok();
    (is_number && given("train") && given("--profile"))
        .then(|| format!("write the number of updates after an equals sign: `--profile={option}`"))
}

/// True if `word` is among the arguments.
fn given(word: &str) -> bool {
    std::env::args().any(|argument| argument == word)
}

/// A tip for a `text` among the arguments of a command that takes it elsewhere.
fn of_text(text: &str) -> Option<String> {
    if text.starts_with('-') {
        return None;
    }
    if given("generate") {
        let text = quoted(text);
        return Some(format!(
            "`--prompt` takes the text to continue: `attentive generate MODEL --prompt {text}`; so does standard input: \
             `echo {text} | attentive generate MODEL`"
        ));
    }
    let reader = READERS.into_iter().find(|command| given(command))?;
    Some(format!(
        "texts are read from standard input, or from one file: `echo {} | attentive {reader} MODEL`",
        quoted("TEXT")
    ))
}

/// A better hint for `error` than that of the library, which knows no options.
pub(super) fn instead(error: &Error) -> Option<String> {
    match error {
        Error::UnknownKey { key, .. } => of_key(key),
        _ => None,
    }
}

/// A hint for a key of a configuration that is an option of `train`.
fn of_key(key: &str) -> Option<String> {
    let (_, name) = key.rsplit_once('.').unwrap_or(("", key));
    let own = (AS_KEYS.iter()).find(|(_, names)| names.contains(&name));
    let name = own.map_or(name, |(own, _)| own).replace('_', "-");
    let mut cli = Cli::command();
    cli.build();
    let mut options = cli.find_subcommand("train")?.get_arguments();
    let option = options.find(|option| option.get_long() == Some(name.as_str()))?;
    let takes_value = option.get_action().takes_values();
    let values = option.get_value_names().filter(|_| takes_value);
    let values = values.unwrap_or_default().iter();
    let value: String = values.map(|value| format!(" {value}")).collect();
    Some(format!(
        "`--{name}{value}` is an option of the command line, not a key"
    ))
}

/// `error` about the model `path` to import, with a hint if `path` is the name of a repository of the Hugging Face Hub.
pub(super) fn repository_as_path(error: Error, path: &Path) -> Error {
    let Some((repository, name)) = repository(path).filter(|_| !path.exists()) else {
        return error;
    };
    Error::Data {
        problem: error.to_string(),
        hint: Some(format!(
            "`import` downloads nothing: first `hf download {repository} --local-dir {name}`, then import that directory"
        )),
    }
}

/// The repository that `path` seems to mean, as OWNER/NAME, and its NAME.
fn repository(path: &Path) -> Option<(&str, &str)> {
    /// How the names of weights end.
    const WEIGHTS: [&str; 4] = [".npz", ".bin", ".safetensors", ".gguf"];
    let text = path.to_str()?.trim_end_matches('/');
    let address = text.strip_prefix("https://huggingface.co/");
    let repository = address.unwrap_or(text);
    let (owner, name) = repository.split_once('/')?;
    let is_name = |text: &str| {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_usual)
    };
    let is_local = address.is_none() && Path::new(owner).exists();
    let is_file = WEIGHTS.iter().any(|end| name.ends_with(end));
    (is_name(owner) && is_name(name) && !is_local && !is_file).then_some((repository, name))
}

/// True if `path`, which was given as an input file, seems to be a text instead.
pub(super) fn is_text(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let is_text = text.contains(char::is_whitespace) || !text.contains(['.', '/', '\\']);
    is_text && !path.exists()
}

/// `error` about an input file that seems to be a `text`, with a hint.
pub(super) fn text_as_file(error: &Error, text: &Path) -> Error {
    let command = READERS.into_iter().find(|command| given(command));
    let hint = format!(
        "check the path if it is one; a text is read from standard input: `echo {} | attentive {} MODEL`",
        quoted(&text.to_string_lossy()),
        command.unwrap_or(READERS[0])
    );
    Error::Data {
        problem: error.to_string(),
        hint: Some(hint),
    }
}

/// `text` as an argument in a shell, unless it is long.
fn quoted(text: &str) -> String {
    /// A longer text hides the command around it.
    const LONGEST: usize = 60;
    match text.chars().count() {
        0..=LONGEST => format!("'{}'", text.replace('\'', r"'\''")),
        _ => "'…'".into(),
    }
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
    if option.starts_with("--metric") && (value.is_empty() || value.contains(char::is_whitespace)) {
        return Some(
            "separate metrics with commas, without blanks: `--metric bleu,chrf,ter`".into(),
        );
    }
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
        for list in ["bleu chrf", "bleu,"] {
            let text = tip(&["score", "a", "b", "--metric", list]);
            assert!(text.contains("`--metric bleu,chrf,ter`"), "{text}");
        }
        let text = tip(&["score", "a", "b", "--tokenize", "14a"]);
        assert!(text.contains("13a"), "{text}");
    }
}
