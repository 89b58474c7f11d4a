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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

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
    let is_named = |path: &PathBuf| names.is_empty() || names.contains(&name_of(path));
    let paths: Vec<PathBuf> = chapters(book)?.into_iter().filter(is_named).collect();
    let unknown = names.iter().find(|name| !paths.iter().any(|path| name_of(path) == **name));
    if let Some(name) = unknown {
        bail!("there is no chapter called {name}");
    }
    let (next, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> Result<()> {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            let n = run_one(book, path, &program, &shared, mode).with_context(|| name_of(path))?;
            failures.fetch_add(n, Ordering::Relaxed);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..thread::available_parallelism()?.get()).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
    })?;
    let failures = failures.into_inner();
    if failures > 0 {
        match mode {
            run::Mode::Check => {
                bail!("{failures} differences or failures; `update` writes what commands say")
            }
            run::Mode::Update => bail!("{failures} commands failed, or pictures were not drawn: see above"),
        }
    }
    Ok(())
}

/// Runs the commands of a chapter, and returns how many say something else than it does.
fn run_one(book: &Path, path: &Path, program: &Path, shared: &Path, mode: run::Mode) -> Result<usize> {
    let (text, start) = (fs::read_to_string(path)?, Instant::now());
    let problems = run::run(&text, path, program, shared, mode)?;
    // Pictures may be new.
    Source::of(book).checked(&text)?;
    let name = name_of(path);
    problems.iter().for_each(|problem| eprintln!("{name}: {problem}"));
    let found =
        if problems.is_empty() { "as it says".into() } else { format!("{} problems", problems.len()) };
    println!("{name}: {found} ({} s)", start.elapsed().as_secs());
    Ok(problems.len())
}

fn name_of(chapter: &Path) -> String {
    chapter.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The chapters, in the order of their names.
fn chapters(book: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(book.join("text"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") && name_of(&path) != "SUMMARY" {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The folder of the program, which was built before.
fn program(book: &Path) -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(std::path::absolute).transpose()?;
    let root = book.parent().context("the book is in the repository")?;
    let candidates = target.into_iter().chain([root.join("target")]);
    let mut folders = candidates.map(|target| target.join("release"));
    let found = folders.find(|folder| folder.join("attentive").is_file());
    found.context("there is no `attentive`: run `cargo build --release` in the root of the repository")
}
