//! Translation of files that are more than lines.

use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_document::{Document, FileFormat, Split};
use attentive_pipeline::Pipeline;
use attentive_processes::Processes;

use super::format::refused;
use super::{Args, load};
use crate::input::DASH;
use crate::message;
use crate::working::Working;

/// The format of the input; `None` for lines.
///
/// # Errors
/// [`Error::Usage`] for a format that is not supported.
pub(super) fn format(args: &Args) -> Result<Option<FileFormat>> {
    match (args.format.as_deref(), args.lines.input()) {
        (Some("lines"), _) => Ok(None),
        (Some(name), _) => {
            let format = name.parse()?;
            check(args).map(|()| Some(format))
        }
        (None, Some(path)) if path != Path::new(DASH) => {
            let format = FileFormat::of_path(path)?.filter(|format| *format != FileFormat::Text);
            format.map_or(Ok(None), |format| check(args).map(|()| Some(format)))
        }
        (None, _) => Ok(None),
    }
}

/// Refuses options that only lines have.
fn check(args: &Args) -> Result<()> {
    let given = [
        ("--n-best", args.translator.n_best.get() > 1),
        ("--json", args.json),
        ("--scores", args.scores),
        ("--token-scores", args.token_scores),
        ("--alignments", args.alignments),
        ("--prefix", args.prefix.is_some()),
        ("--constraints", args.constraints.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::usage(
            format!("`{option}` is for lines, but this file is translated as a whole"),
            "leave it out, or add `--format lines` to translate each line of the file by itself",
        )),
    }
}

/// Translates a file, and returns the pipeline.
pub(super) fn translate(args: &Args, format: FileFormat, processes: &Processes) -> Result<Pipeline> {
    let dir = args.lines.model.dir()?;
    let (pipeline, options) = load(args, &dir, processes)?;
    let glossary = args.glossary()?;
    let others = args.translator.others().iter().chain(&args.glossary).chain([&dir]);
    let (source, mut out) = args.lines.open_whole(others)?;
    let how = pipeline.segmentation(Split::Sentences);
    let document = Document::file(&source, format, how, |text| pipeline.fits(text))?;
    let shown = args.lines.has_output();
    let working = shown.then(|| Working::shown(&pipeline, Some(document.segments().len())));
    let (translated, warnings) = pipeline.translate_document(&document, &options, glossary.as_ref())?;
    drop(working);
    match warnings.first() {
        Some(warning) if args.strict => return Err(refused(warning)),
        _ => message::warnings(&warnings),
    }
    out.text(&translated)?;
    out.finish()?;
    Ok(pipeline)
}
