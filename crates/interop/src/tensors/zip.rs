//! The entries of a ZIP archive that are stored without compression.

use std::ops::Range;

#[derive(Debug)]
pub(super) struct ZipEntry {
    pub(super) name: String,
    /// The range of its bytes in the archive.
    pub(super) data: Range<usize>,
}

const END: [u8; 4] = *b"PK\x05\x06";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The sizes in bytes of the end of the directory, of an entry of the directory and of the header before the
/// data, each without texts.
const END_LEN: usize = 22;
const CENTRAL_LEN: usize = 46;
const LOCAL_LEN: usize = 30;
/// The maximum length of the comment at the end.
const LONGEST_COMMENT: usize = u16::MAX as usize;

/// Returns the entries of the archive `file`, or describes what is wrong with it. Their checksums are
/// compared.
pub(super) fn entries(file: &[u8]) -> Result<Vec<ZipEntry>, String> {
    let end = end(file).ok_or("it is not a ZIP archive, or it is truncated")?;
    let (count, mut at) = (short(end, 10), long(end, 16));
    if count == u16::MAX || at == u32::MAX as usize {
        return Err("archives of more than 4 GB are not supported".into());
    }
    let (mut entries, mut size) = (Vec::new(), 0);
    for _ in 0..count {
        let header = part(file, at, CENTRAL_LEN).filter(|header| header.starts_with(&CENTRAL));
        let header = header.ok_or("its directory is truncated")?;
        let [name_len, extra, comment] = [28, 30, 32].map(|at| usize::from(short(header, at)));
        let name = part(file, at + CENTRAL_LEN, name_len).ok_or("its directory is truncated")?;
        let name = str::from_utf8(name).map_err(|_| "the name of an entry is not UTF-8")?;
        let data = data(file, header).map_err(|problem| format!("entry `{name}` {problem}"))?;
        size += data.len();
        if size > file.len() {
            return Err("its entries overlap".into());
        }
        let name = name.to_owned();
        entries.push(ZipEntry { name, data });
        at += CENTRAL_LEN + name_len + extra + comment;
    }
    Ok(entries)
}

/// The end of the directory.
fn end(file: &[u8]) -> Option<&[u8]> {
    let last = file.len().checked_sub(END_LEN)?;
    let first = last.saturating_sub(LONGEST_COMMENT);
    let starts = (first..=last).rev();
    starts
        .map(|start| &file[start..])
        .find(|end| end.starts_with(&END) && usize::from(short(end, 20)) == end.len() - END_LEN)
}

/// The range of the data of the entry with this `header` of the directory.
fn data(file: &[u8], header: &[u8]) -> Result<Range<usize>, String> {
    let (method, size, at) = (short(header, 10), long(header, 20), long(header, 42));
    match method {
        0 => {}
        8 => return Err("is compressed; write the archive with `numpy.savez`".into()),
        other => return Err(format!("is compressed by method {other}")),
    }
    if size == u32::MAX as usize || at == u32::MAX as usize {
        return Err("has more than 4 GB, which is not supported".into());
    }
    let local = part(file, at, LOCAL_LEN).filter(|local| local.starts_with(&LOCAL));
    let local = local.ok_or("is not where the directory says")?;
    let texts = [26, 28].map(|at| usize::from(short(local, at)));
    let start = at + LOCAL_LEN + texts.iter().sum::<usize>();
    let bytes = part(file, start, size).ok_or("is truncated")?;
    if crc32fast::hash(bytes) as usize == long(header, 16) {
        Ok(start..start + size)
    } else {
        Err("differs from its checksum".into())
    }
}

/// `len` bytes from `start` on.
fn part(file: &[u8], start: usize, len: usize) -> Option<&[u8]> {
    file.get(start..start.checked_add(len)?)
}

/// The number at `at`, which must be inside.
fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The number at `at`, which must be inside.
fn long(bytes: &[u8], at: usize) -> usize {
    usize::from(short(bytes, at)) | usize::from(short(bytes, at + 2)) << 16
}
