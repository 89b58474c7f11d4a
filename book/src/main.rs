//! Builds the book, and checks that it says what the program does.

mod chapter;
mod epub;
mod excerpt;
mod formula;
mod links;
mod numbers;
mod run;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use mdbook_driver::MDBook;

use crate::source::Source;

/// Build and check the book.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    deed: Option<Deed>,
    /// Take the models of `attentive demo --ladder` from this folder, where it was run before.
    #[arg(long, global = true)]
    ladder: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Deed {
    /// Write the pages into `book/html`, and an EPUB beside them (the default).
    Build,
    /// Run the commands of all chapters, or of those named, and compare what they say with the text.
    Check { chapters: Vec<String> },
    /// Run them, and write what they say, and the pictures, into the text.
    Update { chapters: Vec<String> },
}

fn main() -> Result<()> {
    let book = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Args { deed, ladder } = Args::parse();
    match deed.unwrap_or(Deed::Build) {
        Deed::Build => build(book),
        Deed::Check { chapters } => run_all(book, &chapters, ladder, run::Mode::Check),
        Deed::Update { chapters } => run_all(book, &chapters, ladder, run::Mode::Update),
    }
}

fn build(book: &Path) -> Result<()> {
    let mut pages = MDBook::load(book)?;
    let title = pages.config.book.title.clone().unwrap_or_default();
    let source = Source::of(book);
    let text = pages.book.clone();
    pages.with_preprocessor(source.clone());
    pages.build()?;
    epub::write(&title, text.chapters(), &source, book, &book.join("html/attentive.epub"))
}

/// Runs the commands of the chapters with these names, or of all.
fn run_all(book: &Path, names: &[String], ladder: Option<PathBuf>, mode: run::Mode) -> Result<()> {
    let program = program(book)?;
    let folder = tempfile::tempdir()?;
    let shared = match &ladder {
        Some(folder) => folder.canonicalize().with_context(|| folder.display().to_string())?,
        None => {
            run::train_ladder(folder.path(), &program)?;
            folder.path().to_path_buf()
        }
    };
    let mut failures = 0;
    for path in chapters(book)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let problems = run::run(&text, &path, &program, &shared, mode)?;
        // Pictures may be new.
        Source::of(book).checked(&text).with_context(|| name.clone())?;
        println!(
            "{name}: {}",
            if problems.is_empty() { "as it says".into() } else { format!("{} differ", problems.len()) }
        );
        for problem in &problems {
            eprintln!("{name}: {problem}");
        }
        failures += problems.len();
    }
    if failures > 0 {
        bail!("{failures} commands say something else than the book; `update` writes what they say");
    }
    Ok(())
}

/// The chapters, in the order of their names.
fn chapters(book: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(book.join("text"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The folder of the program, which was built before.
fn program(book: &Path) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let root = book.parent().context("the book is in the repository")?;
    let candidates = target.into_iter().chain([root.join("target")]);
    let mut folders = candidates.map(|target| target.join("release"));
    let found = folders.find(|folder| folder.join("attentive").is_file());
    found.context("there is no `attentive`: run `cargo build --release` in the root of the repository")
}
