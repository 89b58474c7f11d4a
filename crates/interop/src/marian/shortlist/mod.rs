//! The shortlist of a model: the target tokens that a source token may need.

mod binary;
mod text;
mod writing;

pub(super) use self::writing::binary;

use std::io::Read;
use std::path::Path;

use attentive_base::error::Result;
use attentive_base::regular_file;
use attentive_model::shortlist::Shortlist;
use attentive_text::Tokenizers;

/// Reads the file `path` for a model with `sizes` tokens on each side, the last of which is not in the list.
/// With `shared`, each source token is its own candidate. `limits` select the candidates of a list in text
/// format.
pub(super) fn read(
    path: &Path,
    limits: &[String],
    sizes: [usize; 2],
    shared: bool,
    tokenizers: &Tokenizers,
) -> Result<Shortlist> {
    if is_binary(path) {
        binary::read(path, sizes, shared, tokenizers.tgt().special().eos)
    } else {
        text::read(path, limits, sizes, shared, tokenizers)
    }
}

/// True if the file is in the binary format. A missing or unreadable file is reported by its reader.
fn is_binary(path: &Path) -> bool {
    let mut mark = [0; size_of_val(&binary::MARK)];
    let read = regular_file::open(path).and_then(|mut file| file.read_exact(&mut mark));
    path.extension().is_some_and(|end| end == "bin") || read.is_ok() && mark == binary::MARK.to_le_bytes()
}
