//! Damage to the bytes of a file.

use attentive_base::random::Random;

use crate::marian::tests::mend_shortlist;

/// Returns a copy of `bytes`, the content of the file `name`, with one to three changes. Half of the copies
/// have correct checksums.
pub(super) fn mutated(name: &str, bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(3) {
        change(&mut bytes, random);
    }
    if random.below(2) == 0 {
        match name {
            _ if name.starts_with("lex.") => mend_shortlist(&mut bytes),
            _ if name.ends_with(".npz") => mend_archive(&mut bytes),
            _ => {}
        }
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    // Most files have their structure at the beginning.
    let within = match random.below(2) {
        0 => bytes.len(),
        _ => bytes.len().min(2000),
    };
    let at = random.below(within);
    let end = bytes.len().min(at + 1 + random.below(40));
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes.truncate(at),
        3 => {
            bytes.drain(at..end);
        }
        4 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        5 => number(bytes, at, random),
        _ => {
            let extreme: &[u8] = match random.below(4) {
                0 => &[0xff; 8],
                1 => &[0xff, 0xff, 0xff, 0x7f],
                2 => &[0; 8],
                _ => &[0, 0, 0, 0, 1, 0, 0, 0],
            };
            let room = (bytes.len() - at).min(extreme.len());
            bytes[at..at + room].copy_from_slice(&extreme[..room]);
        }
    }
}

/// Replaces the number in a text at or after `at`.
fn number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let digits = |bytes: &[u8], from: usize, digits: bool| {
        let found = bytes[from..].iter().position(|byte| byte.is_ascii_digit() == digits);
        found.map_or(bytes.len(), |found| from + found)
    };
    let start = digits(bytes, at, true);
    let end = digits(bytes, start, false);
    let numbers = ["0", "-1", "1", "3", "4294967296", "18446744073709551615", "1e300", "0.5", "null"];
    bytes.splice(start..end, random.choose(&numbers).bytes());
}

/// Corrects the checksums of the entries of a ZIP archive.
fn mend_archive(archive: &mut [u8]) {
    let starts = 0..archive.len().saturating_sub(45);
    for start in starts.filter(|&start| archive[start..].starts_with(b"PK\x01\x02")).collect::<Vec<_>>() {
        let number = |at: usize, len: usize| -> Option<usize> {
            let bytes = archive.get(at..at + len)?;
            Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
        };
        let data = || {
            let (size, local) = (number(start + 20, 4)?, number(start + 42, 4)?);
            let texts = number(local + 26, 2)? + number(local + 28, 2)?;
            archive.get(local + 30 + texts..)?.get(..size)
        };
        if let Some(sum) = data().map(crc32fast::hash) {
            archive[start + 16..start + 20].copy_from_slice(&sum.to_le_bytes());
        }
    }
}
