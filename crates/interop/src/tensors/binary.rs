//! Marian's binary files, `.bin`, which Firefox also uses.
//!
//! All numbers have 64 bits unless noted. The file holds the version, the number of tensors, and for each
//! tensor the lengths of its name, of its shape and of its data and its type; then all names, each with a NUL
//! at its end, all shapes in numbers of 32 bits, the length of the padding and the padding, and all data.

use attentive_checkpoint::StoredNumbers;

use super::{FileTensors, Numbers, Order, Stored};

pub(super) const VERSION: u64 = 1;
/// The bits of a type that are the size of a number in bytes.
const SIZE: u64 = 0xff;
/// The types of numbers. 8-bit integers have one type in the engine of Firefox and another in Marian itself.
pub(super) const F32: u64 = 0x0404;
const F16: u64 = 0x0402;
pub(super) const INT8: u64 = 0x4101;
const MARIAN_INT8: u64 = 0x10001;
pub(super) const TEXT: u64 = 0x0101;
/// Classes of types whose numbers are in an order for certain instructions, or are 16-bit integers.
const PACKED: u64 = 0x800;
const MARIAN_INTEGERS: u64 = 0x10000;
const FIREFOX_INTEGERS: u64 = 0x4100;
/// The instructions for which numbers are ordered.
const INSTRUCTIONS: [(u64, &str); 4] =
    [(0x1000, "avx2"), (0x2000, "avx512"), (0x4000, "sse2"), (0x8000, "ssse3")];
/// Part of the names of embeddings. Other integer matrices are stored by columns.
const EMBEDDING: &str = "Wemb";

/// The rest of a file.
struct Rest<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> Rest<'a> {
    /// The number of bytes before the rest.
    fn position(&self) -> usize {
        self.len - self.bytes.len()
    }

    fn take(&mut self, len: u64) -> Result<&'a [u8], String> {
        let len = usize::try_from(len).ok();
        let parts = len.and_then(|len| self.bytes.split_at_checked(len));
        let (taken, rest) = parts.ok_or("it is truncated, or a length in it is wrong")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, String> {
        let bytes = self.take(size_of::<u64>() as u64)?;
        let bytes = bytes.first_chunk().copied().unwrap_or_default();
        Ok(u64::from_le_bytes(bytes))
    }
}

struct Header {
    name: u64,
    kind: u64,
    shape: u64,
    data: u64,
}

pub(super) fn file_tensors(file: &[u8]) -> FileTensors {
    let mut rest = Rest { bytes: file, len: file.len() };
    match rest.number()? {
        VERSION => {}
        other => {
            return Err(format!("it is not a Marian binary file of version {VERSION} (found {other})"));
        }
    }
    let count = rest.number()?;
    let mut headers = Vec::new();
    for _ in 0..count {
        headers.push(Header {
            name: rest.number()?,
            kind: rest.number()?,
            shape: rest.number()?,
            data: rest.number()?,
        });
    }
    let mut names = Vec::with_capacity(headers.len());
    for header in &headers {
        names.push(name(rest.take(header.name)?)?);
    }
    let mut shapes = Vec::with_capacity(headers.len());
    for header in &headers {
        let len = header.shape.saturating_mul(size_of::<i32>() as u64);
        shapes.push(shape(rest.take(len)?)?);
    }
    let padding = rest.number()?;
    rest.take(padding)?;
    let mut found = Vec::with_capacity(headers.len());
    for ((header, name), shape) in headers.iter().zip(names).zip(shapes) {
        let start = rest.position();
        let data = rest.take(header.data)?;
        let stored = Stored {
            start,
            room: room(header.kind, &shape, data.len()),
            numbers: numbers(header.kind, &name),
            shape,
        };
        found.push((name, stored));
    }
    Ok(found)
}

fn name(bytes: &[u8]) -> Result<String, String> {
    let name = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let name = str::from_utf8(name).map_err(|_| "the name of a tensor is not UTF-8")?;
    Ok(name.to_owned())
}

fn shape(bytes: &[u8]) -> Result<Vec<usize>, String> {
    let (sizes, _) = bytes.as_chunks();
    let size = |&size: &[u8; 4]| usize::try_from(i32::from_le_bytes(size));
    let shape: Result<_, _> = sizes.iter().map(size).collect();
    shape.map_err(|_| "a shape has a negative size".into())
}

fn numbers(kind: u64, name: &str) -> Numbers {
    match kind {
        F32 => Numbers::Plain(StoredNumbers::F32),
        F16 => Numbers::Plain(StoredNumbers::F16),
        INT8 | MARIAN_INT8 if name.contains(EMBEDDING) => Numbers::Int8(Order::Rows),
        INT8 | MARIAN_INT8 => Numbers::Int8(Order::Columns),
        other => match converted(other) {
            Some(name) => Numbers::Converted(name),
            None => Numbers::Other(format!("numbers of the type {other:#x}")),
        },
    }
}

/// The name that `marian-conv` has for a type that cannot be read.
fn converted(kind: u64) -> Option<String> {
    let class = if kind & MARIAN_INTEGERS != 0 {
        "intgemm"
    } else if kind & FIREFOX_INTEGERS == FIREFOX_INTEGERS {
        return Some(format!("intgemm{}", 8 * (kind & SIZE)));
    } else if kind & PACKED != 0 {
        "packed"
    } else {
        return None;
    };
    let instructions = INSTRUCTIONS.iter().find(|(bit, _)| kind & bit != 0);
    Some(format!("{class}{}{}", 8 * (kind & SIZE), instructions.map_or("", |(_, name)| name)))
}

/// The number of bytes of `len` that hold a tensor. The data of types that are not read end with padding.
fn room(kind: u64, shape: &[usize], len: usize) -> usize {
    match kind {
        F32 | F16 | INT8 | MARIAN_INT8 => len,
        _ => {
            let size = (kind & SIZE) as usize;
            let needed = shape.iter().try_fold(size, |product, &size| product.checked_mul(size));
            needed.map_or(len, |needed| needed.min(len))
        }
    }
}
