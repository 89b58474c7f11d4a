//! Writes NumPy's archives of arrays, `.npz`.

use std::io::{self, Write};

/// The numbers of an array begin at a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// The size of the header of an entry without its name, in bytes.
const LOCAL_LEN: usize = 30;
/// Version 2.0 of the format, and 1 January 1980.
const NEEDED: u16 = 20;
const DATE: u16 = 0x21;

/// A ZIP archive of `.npy` files without compression.
#[derive(Debug)]
pub(crate) struct Archive<W> {
    out: W,
    /// The number of bytes written so far.
    len: usize,
    directory: Vec<u8>,
    count: u16,
}

impl<W: Write> Archive<W> {
    /// Creates an archive without arrays.
    pub(crate) fn new(out: W) -> Self {
        Self { out, len: 0, directory: Vec::new(), count: 0 }
    }

    /// Adds the array `name` of this `shape`.
    pub(crate) fn array(&mut self, name: &str, shape: &[usize], values: &[f32]) -> io::Result<()> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        self.add(name, "<f4", shape, &bytes.collect::<Vec<u8>>())
    }

    /// Adds `text`, which ends with a zero, as the array `name` of bytes.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        let bytes = [text.as_bytes(), &[0]].concat();
        self.add(name, "|i1", &[bytes.len()], &bytes)
    }

    /// Writes the directory, and returns the file.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let (start, len) = (size(self.len)?, size(self.directory.len())?);
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend(self.count.to_le_bytes());
        end.extend(self.count.to_le_bytes());
        end.extend(len.to_le_bytes());
        end.extend(start.to_le_bytes());
        end.extend([0; 2]);
        self.out.write_all(&self.directory)?;
        self.out.write_all(&end)?;
        Ok(self.out)
    }

    fn add(&mut self, name: &str, kind: &str, shape: &[usize], data: &[u8]) -> io::Result<()> {
        let name = format!("{name}.npy");
        let before = self.len + LOCAL_LEN + name.len();
        let data = [&header(kind, shape, before), data].concat();
        let mut shared = Vec::new();
        for number in [NEEDED, 0, 0, 0, DATE] {
            shared.extend(number.to_le_bytes());
        }
        shared.extend(crc32fast::hash(&data).to_le_bytes());
        for _ in 0..2 {
            shared.extend(size(data.len())?.to_le_bytes());
        }
        shared.extend((name.len() as u16).to_le_bytes());
        shared.extend([0; 2]);
        let start = size(self.len)?;
        for part in [&b"PK\x03\x04"[..], &shared, name.as_bytes(), &data] {
            self.out.write_all(part)?;
            self.len += part.len();
        }
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(NEEDED.to_le_bytes());
        self.directory.extend(shared);
        // No comment, the first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        Ok(())
    }
}

/// Returns the header of an array, padded so that the numbers are aligned if the array begins at byte
/// `start`.
fn header(kind: &str, shape: &[usize], start: usize) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = match shape.len() {
        1 => sizes.trim_end(),
        _ => sizes.trim_end_matches(", "),
    };
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let len = start + MAGIC.len() + size_of::<u16>() + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', len.next_multiple_of(ALIGNMENT) - len));
    text.push('\n');
    let len = (text.len() as u16).to_le_bytes();
    [MAGIC, &len, text.as_bytes()].concat()
}

/// Converts a size in the archive, which has at most 4 GB.
fn size(size: usize) -> io::Result<u32> {
    let small = u32::try_from(size).ok().filter(|&size| size < u32::MAX);
    small.ok_or_else(|| io::Error::other("archives of more than 4 GB are not supported"))
}
