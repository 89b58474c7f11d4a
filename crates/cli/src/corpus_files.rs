//! Corpora that are named on the command line.

use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use attentive_config::{CorpusFile, CorpusFormat, CorpusSource, LanguagePair};

/// The corpus in these files, which follow `option` on the command line: two aligned ones, or one whose name
/// tells its format. `languages` are those of a translation memory.
pub(super) fn corpus(option: &str, files: &[PathBuf], languages: &[String]) -> Result<CorpusSource> {
    let file = match files {
        [src, tgt] => return Ok(CorpusSource::aligned(src, tgt)),
        [file] => file,
        _ => {
            return Err(Error::usage(
                "a corpus has one or two files",
                format!("name one or two after {option}"),
            ));
        }
    };
    let name = file.to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    let format = match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "tsv" => CorpusFormat::Tsv,
        "csv" => CorpusFormat::Csv,
        "jsonl" | "ndjson" => CorpusFormat::Jsonl,
        "tmx" => CorpusFormat::Tmx,
        "xlf" | "xliff" => CorpusFormat::Xliff,
        "txt" | "text" => CorpusFormat::Text,
        _ => {
            return Err(Error::usage(
                format!("the name of `{}` does not tell its format", file.display()),
                "name two aligned files, or one that ends in .tsv, .csv, .jsonl, .tmx, .xlf or .txt",
            ));
        }
    };
    let languages = match languages {
        _ if format != CorpusFormat::Tmx => None,
        [source, target] => Some(LanguagePair { source: source.clone(), target: target.clone() }),
        _ => {
            return Err(Error::usage(
                "a translation memory may have many languages",
                "say which are read, as in `--languages en de`",
            ));
        }
    };
    Ok(CorpusSource::File(CorpusFile {
        path: file.clone(),
        format,
        columns: None,
        languages,
        tag: None,
        weights: None,
    }))
}
