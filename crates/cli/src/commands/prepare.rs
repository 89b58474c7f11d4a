//! `attentive prepare`: encodes training data on disk.

use std::path::PathBuf;

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_data::Store;
use attentive_train as train;

use crate::configuration::ConfigurationArgs;
use crate::message;
use crate::output::OutputWriter;
use crate::progress::ProgressDisplay;
use crate::table::aligned;

const EXAMPLES: &str = "\
Examples:
  attentive prepare my.toml
  attentive prepare my.toml --list
  attentive prepare my.toml --remove

A corpus that is large compared with the RAM is encoded on disk and read from there during training (`data.store = \
\"auto\"`). `attentive train` does this by itself; `prepare` does it ahead of time. The encoded corpus is used again as long \
as its files, `[tokenizer]`, the filters and lengths of `[data]` and the task stay the same. It lies in the folder \
`.attentive` beside the first file of `data.train`, or in `data.store_dir`.";

/// Encode a large training corpus on disk, ahead of training.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    configuration: ConfigurationArgs,
    /// List the encoded corpora in the folder, and mark the one of this configuration.
    #[arg(long)]
    list: bool,
    /// Delete the encoded corpus of this configuration.
    #[arg(long, conflicts_with_all = ["list", "remove_all"])]
    remove: bool,
    /// Delete all encoded corpora in the folder.
    #[arg(long, conflicts_with = "list")]
    remove_all: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let config = args.configuration.resolved()?;
    if !(args.list || args.remove || args.remove_all) {
        let store = train::encode_corpus(&config, &Interrupt::install()?, &mut ProgressDisplay::new())?;
        message::note(format_args!("{} is ready", described(&store)));
        return Ok(());
    }
    let stores = config.data.stores()?;
    // The files of the corpus may be gone.
    let key = train::store_key(&config).ok();
    let is_own = |found: &Result<Store>| {
        let found = found.as_ref().ok().map(Store::key);
        found.is_some() && found == key.as_ref()
    };
    let all = Store::all(&stores)?;
    if args.list {
        return list(&all, is_own);
    }
    let mut chosen = all;
    chosen.retain(|(_, found)| args.remove_all || is_own(found));
    for (dir, _) in &chosen {
        message::note(format_args!("deleting `{}`", dir.display()));
        Store::remove(dir)?;
    }
    if chosen.is_empty() {
        message::note(format_args!("nothing to delete in `{}`", stores.display()));
    }
    Ok(())
}

/// Prints all corpora, and marks those for which `own` is true.
fn list(all: &[(PathBuf, Result<Store>)], own: impl Fn(&Result<Store>) -> bool) -> Result<()> {
    let row = |(dir, found): &(PathBuf, Result<Store>)| {
        let mark = if own(found) { "*" } else { " " };
        let (examples, size) = match found {
            Ok(store) => (count(store.len(), "example"), megabytes(store)),
            Err(_) => ("unreadable".into(), String::new()),
        };
        vec![format!("{mark} {}", dir.display()), examples, size]
    };
    let mut out = OutputWriter::stdout();
    for line in aligned(&all.iter().map(row).collect::<Vec<_>>()) {
        out.line(line)?;
    }
    out.finish().map(drop)
}

fn described(store: &Store) -> String {
    let (dir, examples) = (store.dir().display(), count(store.len(), "example"));
    format!("`{dir}` ({examples}, {})", megabytes(store))
}

fn megabytes(store: &Store) -> String {
    format!("{:.1} MB", store.disk_bytes() as f64 / 1e6)
}
