//! Writes models of SentencePiece.

use super::{Kind, Piece, Role, SentencePiece};

/// The bytes of a message of Protocol Buffers.
#[derive(Debug, Default)]
struct ProtobufWriter(Vec<u8>);

impl ProtobufWriter {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn float(mut self, field: u64, number: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }
}

impl SentencePiece {
    /// Returns the file: a `ModelProto` of sentencepiece_model.proto.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut model = ProtobufWriter::default();
        for piece in &self.pieces {
            model = model.bytes(1, &piece.message().0);
        }
        model.bytes(2, &self.trainer().0).bytes(3, &self.normalizer().0).0
    }

    /// `TrainerSpec`: the kind of model, and the special pieces by id and by name.
    fn trainer(&self) -> ProtobufWriter {
        let kind = match self.kind {
            Kind::Unigram => 1,
            Kind::Bpe => 2,
        };
        let mut spec = ProtobufWriter::default()
            .number(3, kind)
            .number(4, self.pieces.len() as u64)
            .number(35, self.byte_fallback.into());
        let unk = self.pieces.iter().position(|piece| piece.role == Role::Unknown);
        let id = |name: &str| self.id(name).map(u64::from);
        let special = [unk.map(|id| id as u64), id("<s>"), id("</s>"), id("<pad>")];
        for (field, id) in (40..).zip(special) {
            // −1 if there is none, as a 64-bit number.
            spec = spec.number(field, id.unwrap_or(u64::MAX));
        }
        match unk {
            Some(unk) => spec.bytes(45, self.pieces[unk].text.as_bytes()),
            None => spec,
        }
    }

    /// `NormalizerSpec`.
    fn normalizer(&self) -> ProtobufWriter {
        let name: &[u8] = if self.charsmap.is_empty() { b"identity" } else { b"user_defined" };
        ProtobufWriter::default()
            .bytes(1, name)
            .bytes(2, &self.charsmap)
            .number(3, self.add_dummy_prefix.into())
            .number(4, self.remove_extra_whitespaces.into())
            .number(5, 1)
    }
}

impl Piece {
    /// `SentencePiece` of sentencepiece_model.proto.
    fn message(&self) -> ProtobufWriter {
        let role = match self.role {
            Role::Normal => 1,
            Role::Unknown => 2,
            Role::Control => 3,
            Role::Symbol | Role::Language => 4,
            Role::Unused => 5,
            Role::Byte => 6,
        };
        ProtobufWriter::default().bytes(1, self.text.as_bytes()).float(2, self.score).number(3, role)
    }
}
