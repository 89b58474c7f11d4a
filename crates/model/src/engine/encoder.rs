//! The encoder and its input.

use std::sync::Arc;

use attentive_architecture::{self as architecture, Architecture};
use attentive_base::batch::{Padded, TokenId};
use attentive_kernels::cached_attention::Products;

use super::attention::{Span, Together};
use super::buffers::Buffers;
use super::input::Input;
use super::matrix::Matrix;
use super::recurrent_encoder::RecurrentEncoder;
use super::transformer::TransformerEncoder;
use super::weights::Scope;

/// Positions to encode at a time; whole sequences are encoded, so there may be a few more.
const AT_ONCE: usize = 512;

#[derive(Debug)]
pub(super) struct Encoder {
    src: Input,
    stack: Stack,
}

// An engine has one, so its size does not matter.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
enum Stack {
    Transformer(TransformerEncoder),
    Recurrent(RecurrentEncoder),
}

/// The encoder's output for some sequences.
pub(super) struct Encoded<'a> {
    /// A vector for each position.
    pub(super) memory: &'a [f32],
    /// The rows of each sequence.
    pub(super) spans: &'a [Span],
    /// The final states of each layer of a recurrent encoder.
    pub(super) finals: &'a [Vec<f32>],
}

impl Encoder {
    /// The encoder of `architecture`, if it has one.
    pub(super) fn new(
        architecture: &Architecture,
        products: Products,
        root: &mut Scope<'_>,
    ) -> Option<Self> {
        let (stack, src) = (architecture.encoder.as_ref()?, architecture.src.as_ref()?);
        let max_len = architecture.max_len;
        Some(Self {
            src: Input::new(src, max_len, None, &mut root.at("src")),
            stack: match stack {
                architecture::Encoder::Transformer(stack) => {
                    let scope = root.at("encoder");
                    Stack::Transformer(TransformerEncoder::new(stack, max_len, products, scope))
                }
                architecture::Encoder::Recurrent(stack) => {
                    Stack::Recurrent(RecurrentEncoder::new(stack, root.at("encoder")))
                }
            },
        })
    }

    /// The table of embeddings.
    pub(super) fn table(&self) -> Arc<Matrix> {
        self.src.table().clone()
    }

    /// Encodes the sequences of `src` in order, a few at a time.
    pub(super) fn read(&self, src: &Padded, buffers: &Buffers, mut each: impl FnMut(Encoded<'_>)) {
        let width = src.width();
        let sequence = |row: usize| &src.ids[row * width..][..src.lens()[row]];
        let mut first = 0;
        while first < src.rows() {
            let mut ids: Vec<TokenId> = Vec::new();
            let mut spans = Vec::new();
            while first < src.rows() && (spans.is_empty() || ids.len() < AT_ONCE) {
                let start = ids.len();
                ids.extend(sequence(first));
                spans.push(Span {
                    rows: start..ids.len(),
                    first: 0,
                });
                first += 1;
            }
            self.encode(&ids, &spans, buffers, &mut each);
        }
    }

    fn encode(
        &self,
        ids: &[TokenId],
        spans: &[Span],
        buffers: &Buffers,
        each: &mut impl FnMut(Encoded<'_>),
    ) {
        let positions: Vec<usize> = spans.iter().flat_map(|span| 0..span.rows.len()).collect();
        let mut x = buffers.take(ids.len() * self.src.table().d_in());
        self.src.apply(ids, &positions, &mut x, buffers);
        match &self.stack {
            Stack::Transformer(stack) => {
                let together = Together {
                    positions: &positions,
                    spans,
                    buffers,
                };
                stack.apply(&mut x, together);
                each(Encoded {
                    memory: &x,
                    spans,
                    finals: &[],
                });
            }
            Stack::Recurrent(stack) => {
                let mut memory = buffers.take(ids.len() * stack.d_out());
                let finals = stack.apply(&x, spans, &mut memory, buffers);
                each(Encoded {
                    memory: &memory,
                    spans,
                    finals: &finals,
                });
            }
        }
    }
}
