//! Reads the wire format of Protocol Buffers.

/// A message, read as fields with their numbers.
#[derive(Clone, Debug)]
pub(super) struct ProtobufMessage<'a>(&'a [u8]);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field<'a> {
    Number(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
}

impl<'a> ProtobufMessage<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let key = self.number()?;
        let field = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => Field::Eight(*self.take(8)?.first_chunk()?),
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Four(*self.take(4)?.first_chunk()?),
            _ => return None,
        };
        Some((key >> 3, field))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for ProtobufMessage<'a> {
    type Item = Result<(u64, Field<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "damaged: not a Protocol Buffers message".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_damage_ends_the_message() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'o', b'k', 0x1D, 0, 0, 0x80, 0x3F];
        let fields: Vec<_> = ProtobufMessage::new(&bytes).collect();
        assert_eq!(
            fields,
            [
                Ok((1, Field::Number(150))),
                Ok((2, Field::Bytes(b"ok"))),
                Ok((3, Field::Four(1f32.to_le_bytes()))),
            ]
        );
        for end in [1, 2, 4, 6, 9] {
            let last = ProtobufMessage::new(&bytes[..end]).last().unwrap();
            assert!(last.is_err(), "{end}");
        }
        assert_eq!(ProtobufMessage::new(&[0xFF; 20]).count(), 1);
    }
}
