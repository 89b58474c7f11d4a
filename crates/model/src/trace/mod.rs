//! A pass that shows everything: every operation with its formula and its values, one after the other, not
//! fused. It is a [`Backend`](crate::nn::Backend) of its own, which computes sentence by sentence as the
//! formulas say, and equals the passes of the program up to rounding.

mod attention;
mod cells;
mod decode;
mod encode;
mod filter;
mod gradients;
mod matrix;
mod operation;
mod tracer;

pub use attention::unweighted_self_attention;
pub use filter::TraceFilter;
pub use gradients::{GradientNorms, PositionNorms};
pub use matrix::TraceMatrix;
pub use operation::{TracedOperation, TracedValues};

use attentive_architecture::{self as architecture, Body, LabelLayer, Pooling};
use attentive_base::batch::{Batch, Src};

use self::tracer::Tracer;
use crate::model::Model;
use crate::nn::{Decoder, Encoded, Encoder, Head, Labels, OutputProjection, Stack, Trained};

/// What a trace shows.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The operations that are kept; all are computed.
    pub only: TraceFilter,
    /// Also softmax(X·Xᵀ)·X of the first input X; see [`unweighted_self_attention`].
    pub unweighted: bool,
}

impl Model {
    /// Runs the model on the only sentence of `batch`, under teacher forcing, and returns every operation in
    /// the order of computation. Positions of recurrent decoders are computed one after the other.
    ///
    /// # Panics
    /// If the batch has more than one sentence, has vectors in place of tokens, or is for a model with other
    /// parts.
    pub fn trace(&self, batch: &Batch, options: TraceOptions) -> Vec<TracedOperation> {
        let mut tracer = Tracer::new(options);
        let x = match (&self.layers.body, &batch.inputs) {
            (Body::Encoder(encoder), Body::Encoder(src)) => {
                let Encoded { memory, finals } = self.trace_encoder(encoder, src, &mut tracer);
                match self.architecture().head {
                    architecture::HeadSpec::Sequence { pooling, .. }
                    | architecture::HeadSpec::Vector { pooling, .. } => {
                        pool(pooling, memory, &finals, &mut tracer)
                    }
                    _ => memory,
                }
            }
            (Body::Decoder(decoder), Body::Decoder(tgt_in)) => {
                tracer.begin("tgt", tgt_in.ids.len());
                self.trace_decoder(decoder, &tgt_in.ids, &[], &mut tracer)
            }
            (Body::EncoderDecoder(encoder, decoder), Body::EncoderDecoder(src, tgt_in)) => {
                let Encoded { memory, finals } = self.trace_encoder(encoder, src, &mut tracer);
                tracer.memory = Some(memory);
                tracer.begin("tgt", tgt_in.ids.len());
                self.trace_decoder(decoder, &tgt_in.ids, &finals, &mut tracer)
            }
            _ => panic!("a batch for a model with other parts"),
        };
        if let Some(head) = &self.layers.head {
            self.trace_head(head, x, &mut tracer);
        }
        tracer.into_operations()
    }

    fn trace_encoder(
        &self,
        encoder: &Stack<Trained, Encoder<Trained>>,
        src: &Src,
        tracer: &mut Tracer,
    ) -> Encoded<TraceMatrix> {
        let ids = &src.tokens().expect("tokens").ids;
        tracer.begin("src", ids.len());
        let x = encoder.input.forward(ids, self.layers.src_table(), tracer);
        encoder.layers.forward(x, tracer)
    }

    /// The output of the last layer at every position.
    fn trace_decoder(
        &self,
        decoder: &Stack<Trained, Decoder<Trained>>,
        ids: &[u32],
        finals: &[TraceMatrix],
        tracer: &mut Tracer,
    ) -> TraceMatrix {
        let x = decoder.input.forward(ids, self.layers.tgt_table(), tracer);
        let stack = match &decoder.layers {
            Decoder::Transformer(stack) => return stack.forward(x, tracer),
            Decoder::Recurrent(stack) => stack,
        };
        let starts = stack.starts(finals).into_iter().chain([None]).zip(stack.state_widths());
        tracer.states = starts
            .map(|(start, width)| start.cloned().unwrap_or_else(|| TraceMatrix::zeros("zeros", [1, width])))
            .collect();
        let outputs: Vec<TraceMatrix> = (0..x.rows())
            .map(|position| {
                tracer.position = Some(position);
                stack.forward(x.row_alone(position), tracer)
            })
            .collect();
        tracer.position = None;
        let formula = "the outputs of all positions, one below the other";
        tracer.record("decoder.output", formula, TraceMatrix::stacked("", &outputs))
    }

    fn trace_head(&self, head: &Head<Trained>, x: TraceMatrix, tracer: &mut Tracer) {
        let x = match head {
            Head::Vocabulary(head) => prepared(head, x, tracer),
            Head::Positions(labels) | Head::Sequence(labels) => labeled(labels, x, tracer),
        };
        let map = self.layers.projection();
        let logits = tracer.map(&x, &map, "head.logits");
        let probabilities = logits.softmax_rows();
        let formula = match head {
            Head::Vocabulary(_) if self.layers.body.decoder().is_some() => {
                "softmax of each row of the logits: the probability of each token as the next"
            }
            _ => "softmax of each row of the logits: the probability of each column",
        };
        tracer.record("head.probabilities", formula, probabilities);
    }
}

/// The input of the projection to logits.
fn prepared(head: &OutputProjection<Trained>, x: TraceMatrix, tracer: &mut Tracer) -> TraceMatrix {
    let x = match &head.transform {
        Some(transform) => transform.forward(&x, tracer),
        None => x,
    };
    if head.scale == 1.0 {
        return x;
    }
    let formula = format!("{} · {x}", head.scale);
    tracer.record("head.scaled", &formula, x.map(|x| x * head.scale as f32))
}

/// The input of the map to labels.
fn labeled(labels: &Labels<Trained>, x: TraceMatrix, tracer: &mut Tracer) -> TraceMatrix {
    let Some(layer) = &labels.layer else {
        return x;
    };
    let x = layer.forward(&x, tracer);
    let (name, f): (_, fn(f32) -> f32) = match labels.function {
        LabelLayer::None => return x,
        LabelLayer::Tanh => ("tanh", f32::tanh),
        LabelLayer::Relu => ("relu", |x| x.max(0.0)),
    };
    tracer.record("head.layer.activation", &format!("{name}({x})"), x.map(f))
}

/// The vector of the whole sequence.
fn pool(pooling: Pooling, x: TraceMatrix, finals: &[TraceMatrix], tracer: &mut Tracer) -> TraceMatrix {
    let last = x.rows().saturating_sub(1);
    let (formula, pooled) = match (pooling, finals.last()) {
        (Pooling::Mean, _) => ("the mean of all rows of", x.mean_row()),
        (Pooling::First, _) => ("the first row of", x.row_alone(0)),
        (Pooling::Last, Some(state)) => ("the final state behind", state.columns(0..x.columns_count())),
        (Pooling::Last, None) => ("the last row of", x.row_alone(last)),
    };
    tracer.record("pooled", &format!("{formula} {x}"), pooled)
}

#[cfg(test)]
mod tests;
