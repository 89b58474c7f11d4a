//! Bytes as hexadecimal digits.

/// The bytes as hexadecimal digits in lower case, two a byte, as in `00ff`.
pub fn hexadecimal(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_digits_a_byte() {
        assert_eq!(super::hexadecimal([0, 0xff, 0x1a]), "00ff1a");
    }
}
