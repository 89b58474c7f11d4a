//! Random damage, reproducible by its number.

/// Numbers that often cause errors, as text and as bytes.
const NUMBERS: [&str; 11] = [
    "-1",
    "0",
    "0.0",
    "nan",
    "inf",
    "1e999",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999999",
    "null",
    "\"x\"",
];

/// The generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// A place in `bytes`: anywhere, or near the beginning, in the headers.
    fn place(&mut self, bytes: &[u8]) -> usize {
        const HEADER: usize = 400;
        match self.below(2) {
            0 => self.below(bytes.len()),
            _ => self.below(bytes.len().min(HEADER)),
        }
    }
}

/// `whole` with damage number `case`.
pub(crate) fn mutated(whole: &[u8], case: u64) -> Vec<u8> {
    let mut random = Random(case);
    let mut bytes = whole.to_vec();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        damage(&mut bytes, &mut random);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    const PIECE: usize = 64;
    let place = random.place(bytes);
    let end = bytes.len().min(place + 1 + random.below(PIECE));
    match random.below(8) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.next() as u8,
        2 => bytes.truncate(place),
        3 => drop(bytes.drain(place..end)),
        4 => {
            let piece = bytes[place..end].to_vec();
            let to = random.place(bytes);
            bytes.splice(to..to, piece);
        }
        5 => {
            let number = random.next() >> random.below(64);
            let end = bytes.len().min(place / 8 * 8 + 8);
            let start = place / 8 * 8;
            bytes[start..end].copy_from_slice(&number.to_le_bytes()[..end - start]);
        }
        6 => bytes[..8.min(place)].fill(0xff),
        _ => replace_number(bytes, place, NUMBERS[random.below(NUMBERS.len())]),
    }
}

/// Replaces the first decimal number from `place` on, with its fraction and exponent.
fn replace_number(bytes: &mut Vec<u8>, place: usize, number: &str) {
    if let Some(found) = bytes[place..].iter().position(u8::is_ascii_digit) {
        let start = place + found;
        let length =
            bytes[start..].iter().take_while(|byte| byte.is_ascii_digit() || b".eE-".contains(byte)).count();
        bytes.splice(start..start + length, number.bytes());
    }
}
