//! The file of a shortlist: three tensors of U32, see [`Shortlist::new`], and for lists that are padded one
//! with the range of [`Shortlist::padded`].

use std::io::{self, Write};
use std::path::Path;

use attentive_base::error::{Error, Result};
use attentive_base::regular_file;
use attentive_model::shortlist::Shortlist;
use safetensors::tensor::Dtype;

use super::checksummed_tensors::{self, RawTensor, TensorFile, TensorIndex};

const FORMAT: &str = "attentive shortlist 1";
/// The tensors, in the order of [`Shortlist::parts`].
const NAMES: [&str; 3] = ["ends", "candidates", "always"];
const PADDING: &str = "padding";

/// Writes `shortlist`.
pub fn write(shortlist: &Shortlist, out: &mut dyn Write) -> io::Result<()> {
    let range = shortlist.padding();
    let ends = [range.start, range.end];
    let padding = (!range.is_empty()).then_some((PADDING, &ends[..]));
    let named = NAMES.into_iter().zip(shortlist.parts()).chain(padding);
    let named: Vec<(&str, Vec<u8>)> = named
        .map(|(name, numbers)| (name, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()))
        .collect();
    let tensors = named.iter().map(|(name, bytes)| RawTensor {
        name: (*name).to_owned(),
        dtype: Dtype::U32,
        shape: vec![bytes.len() / size_of::<u32>()],
        bytes,
    });
    TensorFile::new(FORMAT, tensors.collect())?.write(out)
}

/// Reads the shortlist in the file `path` for vocabularies of these sizes (source and target); `None` if it
/// does not exist.
///
/// # Errors
/// Fails if the file is truncated, damaged, for other vocabularies or of another format.
pub(super) fn read(path: &Path, vocabs: [usize; 2]) -> Result<Option<Shortlist>> {
    let file = match regular_file::read_whole(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(Error::io("read", path))?,
    };
    match parse(&file, vocabs) {
        Ok(shortlist) => Ok(Some(shortlist)),
        Err(problem) => Err(Error::Model {
            path: path.to_path_buf(),
            problem,
            hint: Some(
                "copy the model directory again, or delete the file: it only makes translation faster".into(),
            ),
        }),
    }
}

fn parse(file: &[u8], [src_vocab, tgt_vocab]: [usize; 2]) -> Result<Shortlist, String> {
    let tensors = checksummed_tensors::read(FORMAT, file)?;
    let mut parts = Vec::new();
    for name in NAMES {
        parts.push(numbers(file, &tensors, name)?);
    }
    let Ok([ends, candidates, always]) = <[Vec<u32>; 3]>::try_from(parts) else {
        unreachable!("three names");
    };
    if ends.len() != src_vocab {
        return Err(format!("it is for {} source tokens, but the model has {src_vocab}", ends.len()));
    }
    let list = Shortlist::new(ends, candidates, always, tgt_vocab)?;
    if !tensors.contains_key(PADDING) {
        return Ok(list);
    }
    match numbers(file, &tensors, PADDING)?[..] {
        [start, end] => list.padded(start..end),
        _ => Err("its padding is no range".into()),
    }
}

/// The numbers of the tensor `name`.
fn numbers(file: &[u8], tensors: &TensorIndex, name: &str) -> Result<Vec<u32>, String> {
    match tensors.get(name) {
        Some((info, range)) if info.dtype == Dtype::U32 => {
            let numbers = file[range.clone()].chunks_exact(size_of::<u32>());
            Ok(numbers.map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect())
        }
        _ => Err(format!("its list `{name}` is missing")),
    }
}
