//! Attention of a recurrent decoder to the memory.

use attentive_architecture::{self as architecture, AttentionKind};
use attentive_kernels::cached_attention::Heads;

use super::{Linear, ParameterInit, Scope, Storage};

/// Attention of a recurrent decoder to the memory.
#[derive(Clone, Debug)]
pub enum RecurrentAttention<S: Storage> {
    /// Bahdanau's.
    Additive(AdditiveAttention<S>),
    /// The scores of Bahdanau's with the current state of the top layer ("concat" in Luong et al. 2015,
    /// section 3.1).
    Concat(AdditiveScores<S>),
    /// Luong's.
    Multiplicative(MultiplicativeAttention<S>),
}

/// Scores e_j = vᵀ tanh(W s + U h_j) of a state s and outputs h_j of the encoder (Bahdanau et al. 2015,
/// appendix A.1.2).
#[derive(Clone, Debug)]
pub struct AdditiveScores<S: Storage> {
    /// `[d_hidden, d_hidden]`: W.
    pub query: Linear<S>,
    /// `[d_hidden, d_memory]`: U.
    pub key: Linear<S>,
    /// `[d_hidden]`: v.
    pub score: S::Vector,
    pub(crate) d_key: usize,
    pub(crate) d_memory: usize,
}

/// Attention of the bottom layer (Bahdanau et al. 2015, appendix A.1.2): the scores are those of the previous
/// state, and the context Σ softmax(e)_j h_j enters the gates.
#[derive(Clone, Debug)]
pub struct AdditiveAttention<S: Storage> {
    pub scores: AdditiveScores<S>,
    /// `[gates · d_hidden, d_memory]`: maps the context to the gates.
    pub context: Linear<S>,
}

/// Attention of the top layer (Luong et al. 2015, section 3.1): e_j = sᵀ W h_j with the current state s;
/// without W for "dot".
#[derive(Clone, Debug)]
pub struct MultiplicativeAttention<S: Storage> {
    /// `[d_memory, d_hidden]`: Wᵀ of "general".
    pub query: Option<Linear<S>>,
    pub(crate) d_memory: usize,
}

impl<S: Storage> RecurrentAttention<S> {
    /// Makes the attention of `stack` at `scope`, if it has one.
    pub fn new(stack: &architecture::RecurrentDecoderSpec, scope: Scope<'_, S>) -> Option<Self> {
        let (d, d_memory) = (stack.d_hidden, stack.d_memory);
        let linear = |name, d_in, d_out| Linear::new(d_in, d_out, false, &scope.at(name));
        let scores = || AdditiveScores {
            query: linear("query", d, d),
            key: linear("key", d_memory, d),
            score: scope.vector("score", [d], ParameterInit::Vector),
            d_key: d,
            d_memory,
        };
        let multiplicative = |query| Self::Multiplicative(MultiplicativeAttention { query, d_memory });
        match stack.attention {
            AttentionKind::None => None,
            AttentionKind::Dot => Some(multiplicative(None)),
            AttentionKind::General => Some(multiplicative(Some(linear("query", d, d_memory)))),
            AttentionKind::Concat => Some(Self::Concat(scores())),
            AttentionKind::Additive => Some(Self::Additive(AdditiveAttention {
                scores: scores(),
                context: linear("context", d_memory, stack.cell.gates() * d),
            })),
        }
    }
}

impl<S: Storage> MultiplicativeAttention<S> {
    /// The only head, whose keys and values are both the memory.
    pub(crate) fn heads(&self) -> Heads {
        Heads { n_heads: 1, n_kv_heads: 1, d_head: self.d_memory, scale: 1.0 / (self.d_memory as f32).sqrt() }
    }

    /// A factor of the queries, which cancels the scale of the scores. The bits of such models depend on
    /// both.
    pub(crate) fn factor(&self) -> f32 {
        (self.d_memory as f64).sqrt() as f32
    }
}
