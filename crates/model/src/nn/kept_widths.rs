//! What incremental decoding keeps of a row.

use attentive_kernels::cached_attention::Heads;

use super::{AdditiveAttention, Decoder, Mixer, RecurrentAttention, Storage};

/// The widths of what incremental decoding keeps of a row, for each layer that keeps it.
#[derive(Clone, Debug, Default)]
pub struct KeptWidths {
    /// Keys and values of an earlier position.
    pub earlier: Vec<Heads>,
    /// Keys and values of a position of the source.
    pub memory: Vec<usize>,
    /// The state of a recurrent layer; behind them, what input feeding feeds.
    pub cells: Vec<usize>,
}

impl<S: Storage> Decoder<S> {
    /// Returns what is kept of a row.
    pub fn kept_widths(&self) -> KeptWidths {
        let mut widths = KeptWidths::default();
        match self {
            Self::Transformer(stack) => {
                for layer in &stack.layers {
                    match &layer.mixer {
                        Mixer::Attention(own) => widths.earlier.push(own.heads),
                        Mixer::Recurrent(layer) => widths.cells.push(layer.state_width()),
                    }
                    let cross = layer.cross.as_ref().map(|cross| cross.attention.heads);
                    widths.memory.extend(cross.map(|heads| 2 * heads.kv_width()));
                }
            }
            Self::Recurrent(stack) => {
                widths.cells = stack.state_widths();
                widths.memory.extend(stack.attention.as_ref().map(|attention| match attention {
                    RecurrentAttention::Additive(AdditiveAttention { scores, .. })
                    | RecurrentAttention::Concat(scores) => scores.d_key + scores.d_memory,
                    RecurrentAttention::Multiplicative(attention) => 2 * attention.d_memory,
                }));
            }
        }
        widths
    }
}
