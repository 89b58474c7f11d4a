//! The parts of which a model consists.

/// The parts of a model, or what belongs to each of them: an encoder, which reads whole sequences, a decoder,
/// which goes on token by token, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<E, D> {
    /// Only an encoder.
    Encoder(E),
    /// Only a decoder.
    Decoder(D),
    /// An encoder, and a decoder that is given its output.
    EncoderDecoder(E, D),
}

impl<E, D> Body<E, D> {
    /// Returns the encoder, if there is one.
    pub fn encoder(&self) -> Option<&E> {
        match self {
            Self::Encoder(encoder) | Self::EncoderDecoder(encoder, _) => Some(encoder),
            Self::Decoder(_) => None,
        }
    }

    /// Returns the decoder, if there is one.
    pub fn decoder(&self) -> Option<&D> {
        match self {
            Self::Decoder(decoder) | Self::EncoderDecoder(_, decoder) => Some(decoder),
            Self::Encoder(_) => None,
        }
    }

    /// Returns the same parts by reference.
    pub fn as_ref(&self) -> Body<&E, &D> {
        match self {
            Self::Encoder(encoder) => Body::Encoder(encoder),
            Self::Decoder(decoder) => Body::Decoder(decoder),
            Self::EncoderDecoder(encoder, decoder) => Body::EncoderDecoder(encoder, decoder),
        }
    }

    /// Replaces the parts, the encoder first.
    pub fn map<F, G>(self, encoder: impl FnOnce(E) -> F, decoder: impl FnOnce(D) -> G) -> Body<F, G> {
        match self {
            Self::Encoder(own) => Body::Encoder(encoder(own)),
            Self::Decoder(own) => Body::Decoder(decoder(own)),
            Self::EncoderDecoder(reads, writes) => {
                let reads = encoder(reads);
                Body::EncoderDecoder(reads, decoder(writes))
            }
        }
    }
}
