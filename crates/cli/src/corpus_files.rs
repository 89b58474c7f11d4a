//! Corpora that are named on the command line.

use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use attentive_config::{Column, CorpusFile, CorpusFormat, CorpusSource, LanguagePair};

/// The corpus in these files, which follow `option` on the command line: two aligned ones, or one whose name
/// tells its format. `languages` are those of a translation memory, and `columns` those of a table, if it has
/// more than two.
pub(super) fn corpus(
    option: &str,
    files: &[PathBuf],
    languages: &[String],
    columns: &[String],
) -> Result<CorpusSource> {
    let of_table =
        || Error::usage("`--columns` is for tables", "give it with a file of type tsv, csv or jsonl");
    let file = match files {
        [_, _] if !columns.is_empty() => return Err(of_table()),
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
    let columns = match columns {
        [] => None,
        _ if !matches!(format, CorpusFormat::Tsv | CorpusFormat::Csv | CorpusFormat::Jsonl) => {
            return Err(of_table());
        }
        [src, tgt] if column(src, format)? != column(tgt, format)? => {
            Some([column(src, format)?, column(tgt, format)?])
        }
        _ => {
            return Err(Error::usage(
                "`--columns` names the same column twice",
                "name two, as in `--columns 2 3`",
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
        columns,
        languages,
        tag: None,
        weights: None,
    }))
}

/// A column by its number, counted from 1, or by its name.
fn column(text: &str, format: CorpusFormat) -> Result<Column> {
    let numbered = text.parse().map(Column::Number);
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match numbered {
        Ok(number) if format != CorpusFormat::Jsonl => Ok(number),
        _ if is_number && format == CorpusFormat::Jsonl => {
            Err(Error::usage(format!("`--columns {text}`: fields have names"), "as in `--columns en de`"))
        }
        _ if is_number => {
            Err(Error::usage(format!("`--columns {text}`: columns count from 1"), "as in `--columns 2 3`"))
        }
        _ => Ok(Column::Name(text.to_owned())),
    }
}
