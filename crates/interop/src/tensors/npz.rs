//! NumPy's archives of arrays, `.npz`: a ZIP archive of `.npy` files.

use attentive_checkpoint::StoredNumbers;

use super::zip::{self, ZipEntry};
use super::{FileTensors, Numbers, Stored};

const MAGIC: &[u8] = b"\x93NUMPY";

pub(super) fn file_tensors(file: &[u8]) -> FileTensors {
    let mut found = Vec::new();
    for ZipEntry { name, data } in zip::entries(file)? {
        let array = array(&file[data.clone()]);
        let array = array.ok_or_else(|| format!("entry `{name}` is not a NumPy array"))?;
        if array.is_by_columns {
            let problem = "is stored in Fortran order (by columns); write it with `numpy.ascontiguousarray`";
            return Err(format!("entry `{name}` {problem}"));
        }
        let stored = Stored {
            start: data.start + array.header,
            room: data.len() - array.header,
            shape: array.shape,
            numbers: match array.kind {
                "<f4" => Numbers::Plain(StoredNumbers::F32),
                "<f2" => Numbers::Plain(StoredNumbers::F16),
                other => Numbers::Other(format!("`{other}`")),
            },
        };
        found.push((name.strip_suffix(".npy").unwrap_or(&name).to_owned(), stored));
    }
    Ok(found)
}

/// The header of an array.
struct Array<'a> {
    kind: &'a str,
    shape: Vec<usize>,
    is_by_columns: bool,
    /// The number of bytes before its numbers.
    header: usize,
}

fn array(bytes: &[u8]) -> Option<Array<'_>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (&[version, _], rest) = rest.split_first_chunk()?;
    let (len, rest) = match version {
        1 => {
            let (&len, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_le_bytes(len)), rest)
        }
        _ => {
            let (&len, rest) = rest.split_first_chunk()?;
            (usize::try_from(u32::from_le_bytes(len)).ok()?, rest)
        }
    };
    let text = str::from_utf8(rest.get(..len)?).ok()?;
    let value = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
    let shape = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let sizes = shape.split(',').map(str::trim);
    let sizes = sizes.filter(|size| !size.is_empty());
    Some(Array {
        kind: value("descr")?.strip_prefix('\'')?.split_once('\'')?.0,
        shape: sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?,
        is_by_columns: value("fortran_order")?.starts_with("True"),
        header: bytes.len() - rest.len() + len,
    })
}
