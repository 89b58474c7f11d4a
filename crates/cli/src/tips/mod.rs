//! Tips for options of other programs, and for common typing errors.

mod foreign;
#[cfg(test)]
mod tests;

use std::path::Path;

use attentive_base::error::Error;
use attentive_config::ConfigDraft;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use self::foreign::{AS_KEYS, DEVICES, FOREIGN, INSTEAD};
use super::Cli;

/// The tip for an option that is unknown everywhere.
const ELSEWHERE: &str = "docs/coming-from.md maps the options of other programs to those here";

/// Commands that read texts line by line.
const READERS: [&str; 4] = ["translate", "tag", "classify", "embed"];

/// Commands that read a test set.
const TESTERS: [&str; 2] = ["evaluate", "quantize"];

/// Adds a tip to the error of a command line with these `words`, if there is one.
pub(super) fn added(mut error: clap::Error, words: &[String]) -> clap::Error {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (option, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    let mut command = command(words);
    let is_near = error.get(ContextKind::SuggestedArg).is_some();
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => {
            of_option(option, &command, words).or_else(|| elsewhere(option).filter(|_| !is_near))
        }
        ErrorKind::InvalidValue => of_value(option, value),
        ErrorKind::ValueValidation => of_number(&error.to_string()).or_else(|| of_value(option, value)),
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        remove_escapes(&mut error);
        // That of the error is made of the options given.
        let usage = ContextValue::StyledStr(command.render_usage());
        error.insert(ContextKind::Usage, usage);
    }
    if let Some(tip) = tip {
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// Removes the tip how to pass an option as a value, which is never what was meant.
fn remove_escapes(error: &mut clap::Error) {
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        let is_escape = |tip: &str| tip.contains("as a value, use '");
        let others = tips.into_iter().filter(|tip| !is_escape(&tip.to_string()));
        let others = ContextValue::StyledStrs(others.collect());
        error.insert(ContextKind::Suggested, others);
    }
}

/// The command that the `words` of a command line name.
fn command(words: &[String]) -> clap::Command {
    let mut command = super::Cli::command();
    command.build();
    for word in words.iter().skip(1) {
        if let Some(inner) = command.find_subcommand(word) {
            command = inner.clone();
        }
    }
    command
}

/// A tip for an option that the `command` does not have.
fn of_option(option: &str, command: &clap::Command, words: &[String]) -> Option<String> {
    let name = option.split('=').next().unwrap_or(option);
    if DEVICES.contains(&name) {
        return Some(if has(command, "--device") {
            "GPUs are chosen with `--device gpu`, or `--device gpu:1` for the second one".into()
        } else {
            "this command runs on the CPU; `train`, `demo`, `bench`, `translate`, `generate`, `evaluate`, \
             `rescore` and `serve` have `--device gpu`; `--threads` sets the number of threads on the CPU"
                .into()
        });
    }
    // `-tok` is read as several options of one letter.
    let written = words.iter().find(|word| word.starts_with(name));
    let is = |other: &str| other == name || written.is_some_and(|written| other == written);
    let instead = INSTEAD
        .iter()
        .find(|(of, others, _)| *of == command.get_name() && others.iter().any(|other| is(other)));
    if let Some((.., tip)) = instead {
        return Some((*tip).into());
    }
    let is_train = command.get_name() == "train";
    let own = FOREIGN.iter().find(|(_, others)| others.contains(&name));
    let own = own.map(|(own, _)| *own);
    if let Some(own) = own.filter(|own| has(command, own)) {
        return Some(format!("it is called `{own}` here"));
    }
    if is_train && let Some(key) = key_of(name) {
        return Some(format!("configuration keys are set with `--set KEY=VALUE`: {key}"));
    }
    if let Some(own) = own {
        let command = command.get_bin_name().unwrap_or_default();
        return Some(format!("`{command}` has no such option; other commands call it `{own}`"));
    }
    if let Some(tip) = of_others(name, command) {
        return Some(tip);
    }
    if let Some(tip) = of_text(option) {
        return Some(tip);
    }
    // A number after `--profile` without an equals sign is parsed as a separate argument.
    let is_number = option.parse::<u64>().is_ok();
    (is_number && is_train && words.iter().any(|word| word == "--profile"))
        .then(|| format!("write the number of updates after an equals sign: `--profile={option}`"))
}

/// True if the `command` has the long option `name`.
fn has(command: &clap::Command, name: &str) -> bool {
    let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
    options.any(|long| name.strip_prefix("--") == Some(long))
}

/// Which other commands have the option `name`, unless it is near one of this `command`.
fn of_others(name: &str, command: &clap::Command) -> Option<String> {
    const ALIKE: f64 = 0.9;
    let long = name.strip_prefix("--")?;
    let mut own = command.get_arguments().filter_map(clap::Arg::get_long);
    if own.any(|own| strsim::jaro_winkler(own, long) > ALIKE) {
        return None;
    }
    let mut all = super::Cli::command();
    all.build();
    let others = all.get_subcommands().filter(|other| has(other, name));
    let others: Vec<String> = others.map(|other| format!("`{}`", other.get_name())).collect();
    let listed = match &others[..] {
        [] => return None,
        [one] => format!("{one} has"),
        [others @ .., last] => format!("{} and {last} have", others.join(", ")),
    };
    let command = command.get_bin_name().unwrap_or_default();
    Some(format!("`{command}` has no such option; {listed} it"))
}

/// Where to look up an `option` that is unknown everywhere.
fn elsewhere(option: &str) -> Option<String> {
    option.starts_with('-').then(|| ELSEWHERE.into())
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
            "`--prompt` takes the text to continue: `attentive generate MODEL --prompt {text}`; so does \
             standard input: `echo {text} | attentive generate MODEL`"
        ));
    }
    if TESTERS.into_iter().any(given) {
        return Some("a test set is given by options, such as `--src test.en --ref test.de`".into());
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

/// A hint for a key of a configuration that is an option of `train` or, if it is one of `[decode]`, of
/// `translate`.
fn of_key(key: &str) -> Option<String> {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    let own = (AS_KEYS.iter()).find(|(_, names)| names.contains(&name));
    let name = own.map_or(name, |(own, _)| own).replace('_', "-");
    let mut cli = Cli::command();
    cli.build();
    let commands = ["train", "translate"].into_iter();
    let mut commands = commands.take(if section == "decode" { 2 } else { 1 });
    let option = commands.find_map(|command| {
        let mut options = cli.find_subcommand(command)?.get_arguments();
        options.find(|option| option.get_long() == Some(name.as_str()))
    })?;
    let takes_value = option.get_action().takes_values();
    let values = option.get_value_names().filter(|_| takes_value);
    let values = values.unwrap_or_default().iter();
    let value: String = values.map(|value| format!(" {value}")).collect();
    Some(format!("`--{name}{value}` is an option of the command line, not a key"))
}

/// `error` about the model `path` to import, with a hint if `path` is the name of a repository of the Hugging
/// Face Hub.
pub(super) fn repository_as_path(error: Error, path: &Path) -> Error {
    let Some((repository, name)) = repository(path).filter(|_| !path.exists()) else {
        return error;
    };
    Error::data(
        error.to_string(),
        format!(
            "`import` downloads nothing: first `hf download {repository} --local-dir {name}`, then import \
             that directory"
        ),
    )
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
    Error::data(error.to_string(), hint)
}

/// `text` as an argument in a shell, unless it is long.
fn quoted(text: &str) -> String {
    /// A longer text hides the command around it.
    const MAX_CHARS: usize = 60;
    match text.chars().count() {
        0..=MAX_CHARS => format!("'{}'", text.replace('\'', r"'\''")),
        _ => "'…'".into(),
    }
}

/// Which configuration key the option `name` may stand for, as a question.
fn key_of(name: &str) -> Option<String> {
    let name = name.strip_prefix("--")?.replace('-', "_");
    let draft = ConfigDraft::parse("", Path::new(""), &[format!("train.{name}=x")]);
    let section = format!("`train.{name}.kind`");
    match draft {
        Err(Error::UnknownKey { hint, .. }) => Some(hint).filter(|hint| hint.starts_with("did")),
        Err(Error::Config { hint: Some(hint), .. }) if hint.contains(&section) => Some(hint),
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
        return Some("separate metrics with commas, without blanks: `--metric bleu,chrf,ter`".into());
    }
    if !option.starts_with("--tokenize") {
        return None;
    }
    let divide = |with: &str| {
        format!(
            "tokenize translations and references with {with}, and score the files with `--tokenize none`: \
             the score is the same"
        )
    };
    match value {
        "spm" | "flores101" => Some(divide(
            "the SentencePiece model `sacrebleu_tokenizer_spm.model` that sacreBLEU downloads (`spm_encode \
             --model=FILE < out > out.spm`)",
        )),
        "flores200" => Some(divide(
            "the SentencePiece model `flores200sacrebleuspm` that sacreBLEU downloads (`spm_encode \
             --model=FILE < out > out.spm`)",
        )),
        "ja-mecab" => Some(divide("MeCab and the dictionary `ipadic` (`mecab -Owakati < out > out.words`)")),
        "ko-mecab" => Some(divide("MeCab-ko and its dictionary (`mecab -Owakati < out > out.words`)")),
        _ => None,
    }
}
