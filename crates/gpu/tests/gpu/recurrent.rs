use attentive_device::{
    AdditiveAttentionGradients, AdditiveAttentionInputs, AdditiveAttentionShape, Affine,
    AttentiveRecurrentCall, AttentiveRecurrentGradients, AttentiveRecurrentInputs, AttentiveRecurrentResult,
    Device, Lengths, Recurrence, RecurrentBackward, RecurrentCall, RecurrentForward, RecurrentGradients, on,
};
use attentive_kernels::gemm::Float;
use attentive_kernels::recurrent::{CellKind, Direction};

use super::*;

pub(crate) const CELLS: [CellKind; 5] =
    [CellKind::Rnn, CellKind::Lstm, CellKind::CoupledLstm, CellKind::Gru, CellKind::Ssru];
pub(crate) const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];

/// Which of the optional operands there are, which of the optional gradients are wanted, and how weights are
/// stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    stored: Float,
    bias: bool,
    initial: bool,
    gradients: bool,
}

impl Options {
    pub(crate) fn stored(self, stored: Float) -> Self {
        Self { stored, ..self }
    }
}

pub(crate) const ALL: Options = Options { stored: Float::F32, bias: true, initial: true, gradients: true };
pub(crate) const FEWEST: Options =
    Options { stored: Float::F32, bias: false, initial: false, gradients: false };
pub(crate) const SOME: Options = Options { stored: Float::F32, bias: false, initial: false, gradients: true };

const IN_BF16: Options = Options { stored: Float::Bf16, ..ALL };

/// The operands of the recurrence of any layer.
struct Operands {
    weight: Option<Buffer>,
    bias: Option<Buffer>,
    initial: Option<Buffer>,
}

impl Operands {
    fn new(call: RecurrentCall<'_>, options: Options) -> Self {
        let (cell, d) = (call.cell, call.d);
        let gates = cell.hidden_gates() * d;
        let has_hidden = gates > 0;
        let initial = call.lengths.rows() * cell.states() * d;
        Self {
            weight: has_hidden.then(|| weights(options.stored, 11, gates * d)),
            bias: (has_hidden && options.bias).then(|| random(12, gates)),
            initial: options.initial.then(|| random(13, initial)),
        }
    }

    fn recurrence(&self) -> Recurrence<&Buffer> {
        Recurrence {
            hidden: self.weight.as_ref().map(|weight| Affine { weight, bias: self.bias.as_ref() }),
            initial: self.initial.as_ref(),
        }
    }

    /// Room for the gradients.
    fn gradients(&self, call: RecurrentCall<'_>, options: Options) -> RecurrentGradients<Buffer> {
        let wanted = |operand: &Option<Buffer>| {
            let operand = operand.as_ref().filter(|_| options.gradients);
            operand.map(|operand| room(operand.len()))
        };
        RecurrentGradients {
            projected: room(call.lengths.positions() * call.cell.gates() * call.d),
            weight: wanted(&self.weight),
            bias: wanted(&self.bias),
            initial: wanted(&self.initial),
        }
    }
}

fn borrowed(gradients: &mut RecurrentGradients<Buffer>) -> RecurrentGradients<&mut Buffer> {
    RecurrentGradients {
        projected: &mut gradients.projected,
        weight: gradients.weight.as_mut(),
        bias: gradients.bias.as_mut(),
        initial: gradients.initial.as_mut(),
    }
}

fn listed(gradients: RecurrentGradients<Buffer>) -> impl Iterator<Item = Buffer> {
    let RecurrentGradients { projected, weight, bias, initial } = gradients;
    [Some(projected), weight, bias, initial].into_iter().flatten()
}

/// The states and all gradients of the directions of a layer.
pub(crate) fn layer(device: &dyn Device, calls: &[RecurrentCall<'_>], options: Options) -> Vec<Buffer> {
    let width: usize = calls.iter().map(|call| call.cell.states() * call.d).sum();
    let positions = calls[0].lengths.positions();
    let grad = random(2, positions * width);
    let [mut unsaved, mut states] = [positions * width; 2].map(room);
    let mut layers: Vec<Layer> = (calls.iter().map(|&call| Layer::new(call, options))).collect();
    for (saves, out) in [(false, &mut unsaved), (true, &mut states)] {
        let directions = layers.iter_mut().zip(calls);
        let directions = directions.map(|(layer, &call)| layer.forward(call, saves));
        device.recurrent(directions.collect(), out);
    }
    let directions = layers.iter_mut().zip(calls);
    let directions = directions.map(|(layer, &call)| layer.backward(call));
    device.recurrent_backward(directions.collect(), &states, &grad);
    let gradients = layers.into_iter().flat_map(|layer| listed(layer.gradients));
    [unsaved, states].into_iter().chain(gradients).collect()
}

/// One direction of a layer.
struct Layer {
    operands: Operands,
    projected: Buffer,
    saved: Buffer,
    gradients: RecurrentGradients<Buffer>,
    tapes: Buffer,
}

impl Layer {
    fn new(call: RecurrentCall<'_>, options: Options) -> Self {
        let (positions, cell, d) = (call.lengths.positions(), call.cell, call.d);
        let operands = Operands::new(call, options);
        Self {
            projected: random(1, positions * cell.gates() * d),
            saved: room(positions * cell.saved() * d),
            gradients: operands.gradients(call, options),
            tapes: room(call.room()),
            operands,
        }
    }

    fn forward<'a>(
        &'a mut self,
        call: RecurrentCall<'a>,
        saves: bool,
    ) -> RecurrentForward<'a, &'a Buffer, &'a mut Buffer> {
        RecurrentForward {
            call,
            recurrence: self.operands.recurrence(),
            projected: &self.projected,
            saved: saves.then_some(&mut self.saved),
        }
    }

    fn backward<'a>(
        &'a mut self,
        call: RecurrentCall<'a>,
    ) -> RecurrentBackward<'a, &'a Buffer, &'a mut Buffer> {
        RecurrentBackward {
            call,
            recurrence: self.operands.recurrence(),
            saved: &self.saved,
            gradients: borrowed(&mut self.gradients),
            room: &mut self.tapes,
        }
    }
}

#[test]
fn layers() {
    let cases: [(&[usize], usize, usize); 8] = [
        (&[1], 1, 1),
        (&[3, 150], 150, 6),
        (&[3, 0, 4, 1], 4, 5),
        (&[2, 7, 7, 5], 9, 33),
        (&[0, 0], 3, 4),
        (&[], 5, 4),
        (&[1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 5, 5, 5, 5, 5, 5, 5, 5, 1], 5, 70),
        (&[2, 1], 2, 0),
    ];
    for cell in CELLS {
        for direction in DIRECTIONS {
            for (lens, width, d) in cases {
                let lengths = &Lengths::new(lens, width);
                let call = RecurrentCall { cell, direction, lengths, d, precision: Float::F32 };
                for options in [ALL, SOME, FEWEST, IN_BF16] {
                    let what = format!("{call:?}, {options:?}");
                    agree(&what, |device| layer(device, &[call], options));
                    let other = RecurrentCall { direction: Direction::Backward, ..call };
                    agree(&what, |device| layer(device, &[call, other], options));
                }
            }
        }
    }
}

#[test]
fn a_sequence_alone_has_the_states_it_has_among_others_with_more_padding() {
    let Some(gpu) = gpu() else {
        return;
    };
    let (len, d) = (6, 40);
    for cell in CELLS {
        for direction in DIRECTIONS {
            let first = |lens: &[usize], width: usize| {
                let lengths = &Lengths::new(lens, width);
                let call = RecurrentCall { cell, direction, lengths, d, precision: Float::F32 };
                on(gpu, || {
                    // The first numbers of those that have the same seed are the same.
                    let projected = random(1, lengths.positions() * cell.gates() * d);
                    let operands = Operands::new(call, ALL);
                    let mut states = room(lengths.positions() * cell.states() * d);
                    let forward = RecurrentForward {
                        call,
                        recurrence: operands.recurrence(),
                        projected: &projected,
                        saved: None,
                    };
                    crate::current().recurrent(vec![forward], &mut states);
                    states.into_vec()[..len * cell.states() * d].to_vec()
                })
            };
            let alone = bits(&[first(&[len], len)]);
            let (more, many) = ([len, 0, 9, 1], [len; 50]);
            for (lens, width) in [(&[len][..], 8), (&more, 9), (&many, 6)] {
                let among = first(lens, width);
                assert_eq!(bits(&[among]), alone, "{cell:?}, {lens:?}");
            }
        }
    }
}

/// The operands of a layer that attends.
struct AttentiveOperands {
    state: Operands,
    projected: Buffer,
    query_weight: Buffer,
    context_weight: Buffer,
    keys: Buffer,
    values: Buffer,
    v: Buffer,
}

impl AttentiveOperands {
    fn new(call: AttentiveRecurrentCall<'_>, options: Options) -> Self {
        let AttentiveRecurrentCall { recurrent, src_len, d_key, d_value } = call;
        let gates = recurrent.cell.gates() * recurrent.d;
        let sources = recurrent.lengths.rows() * src_len;
        Self {
            state: Operands::new(recurrent, options),
            projected: random(1, recurrent.lengths.positions() * gates),
            query_weight: weights(options.stored, 21, d_key * recurrent.d),
            context_weight: weights(options.stored, 22, gates * d_value),
            keys: random(23, sources * d_key),
            values: random(24, sources * d_value),
            v: random(25, d_key),
        }
    }

    fn inputs<'a>(&'a self, src_lengths: Option<&'a Lengths>) -> AttentiveRecurrentInputs<'a, &'a Buffer> {
        AttentiveRecurrentInputs {
            recurrence: self.state.recurrence(),
            query_weight: &self.query_weight,
            context_weight: &self.context_weight,
            keys: &self.keys,
            values: &self.values,
            src_lengths,
            v: &self.v,
        }
    }
}

/// The output, the attention weights and all gradients of a layer that attends.
pub(crate) fn attentive_layer(
    device: &dyn Device,
    call: AttentiveRecurrentCall<'_>,
    src_lengths: Option<&Lengths>,
    options: Options,
) -> Vec<Buffer> {
    let (recurrent, positions) = (call.recurrent, call.recurrent.lengths.positions());
    let operands = AttentiveOperands::new(call, options);
    let (inputs, projected) = (operands.inputs(src_lengths), &operands.projected);
    let grad = random(2, positions * call.out_cols());
    let [mut unsaved, mut out] = [positions * call.out_cols(); 2].map(room);
    let mut weights = room(positions * call.src_len);
    let mut saved = room(positions * recurrent.cell.saved() * recurrent.d);
    let mut tapes = room(call.room());
    device.attentive_recurrent(call, inputs, projected, &mut unsaved, None);
    let kept = Some([&mut weights, &mut saved]);
    device.attentive_recurrent(call, inputs, projected, &mut out, kept);
    let mut gradients = operands.state.gradients(recurrent, options);
    let wanted = |operand: &Buffer| options.gradients.then(|| room(operand.len()));
    let mut query_weight = wanted(&operands.query_weight);
    let mut context_weight = wanted(&operands.context_weight);
    let [mut keys, mut values, mut v] =
        [&operands.keys, &operands.values, &operands.v].map(|operand| room(operand.len()));
    let result = AttentiveRecurrentResult { out: &out, attention_weights: &weights, saved: &saved };
    let targets = AttentiveRecurrentGradients {
        recurrence: borrowed(&mut gradients),
        query_weight: query_weight.as_mut(),
        context_weight: context_weight.as_mut(),
        keys: &mut keys,
        values: &mut values,
        v: &mut v,
    };
    device.attentive_recurrent_backward(call, inputs, result, &grad, targets, &mut tapes);
    let mut results = vec![unsaved, out, weights, keys, values, v];
    results.extend(listed(gradients));
    results.extend([query_weight, context_weight].into_iter().flatten());
    results
}

/// The contexts, the weights and all gradients of additive attention with one query per sentence.
pub(crate) fn additive(
    device: &dyn Device,
    shape: AdditiveAttentionShape,
    lengths: Option<&Lengths>,
) -> Vec<Buffer> {
    let AdditiveAttentionShape { rows, src_len, d_key, d_value } = shape;
    let sizes = [rows * d_key, rows * src_len * d_key, rows * src_len * d_value, d_key];
    let [queries, keys, values, v] = [0, 1, 2, 3].map(|number| random(number + 1, sizes[number as usize]));
    let inputs = AdditiveAttentionInputs { queries: &queries, keys: &keys, values: &values, lengths, v: &v };
    let (mut out, mut weights) = (room(rows * d_value), room(rows * src_len));
    device.additive_attention(shape, inputs, &mut out, &mut weights);
    let mut gradients = sizes.map(room);
    let [queries, keys, values, v] = gradients.each_mut();
    let targets = AdditiveAttentionGradients { queries, keys, values, v };
    device.additive_attention_backward(shape, inputs, &weights, &random(5, rows * d_value), targets);
    [out, weights].into_iter().chain(gradients).collect()
}

#[test]
fn additive_attention_of_one_query_per_sentence() {
    // The number of keys of each sentence, their width, and the columns of keys and of values.
    type Case = (&'static [usize], usize, [usize; 2]);
    let cases: [Case; 6] = [
        (&[1], 1, [1, 1]),
        (&[3, 0, 4, 1], 4, [4, 5]),
        (&[40, 1, 7], 41, [20, 130]),
        (&[150, 300], 300, [150, 17]),
        (&[0, 0], 0, [3, 2]),
        (&[], 4, [4, 4]),
    ];
    for (lens, src_len, [d_key, d_value]) in cases {
        let shape = AdditiveAttentionShape { rows: lens.len(), src_len, d_key, d_value };
        let lengths = Lengths::new(lens, src_len);
        for lengths in [Some(&lengths), None] {
            agree(&format!("{shape:?}, {lengths:?}"), |device| additive(device, shape, lengths));
        }
    }
}

#[test]
fn layers_that_attend() {
    // Lengths and width of the sequences and of those attended to, and the columns of h, of keys and of
    // values.
    type Case = (&'static [usize], usize, &'static [usize], usize, [usize; 3]);
    let cases: [Case; 8] = [
        (&[1], 1, &[1], 1, [1, 1, 1]),
        (&[3, 150], 150, &[3, 4], 4, [6, 4, 5]),
        (&[3, 0, 4, 1], 4, &[2, 3, 0, 5], 5, [5, 3, 7]),
        (&[2, 7, 6], 9, &[40, 1, 7], 41, [33, 20, 130]),
        (&[2, 3], 3, &[150, 300], 300, [6, 150, 17]),
        (&[0, 0], 3, &[2, 1], 2, [4, 4, 4]),
        (&[2, 1], 2, &[0, 0], 0, [4, 3, 2]),
        (&[], 5, &[], 4, [4, 4, 4]),
    ];
    for cell in CELLS {
        for (lens, width, src_lens, src_len, [d, d_key, d_value]) in cases {
            let (lengths, src_lengths) = (&Lengths::new(lens, width), Lengths::new(src_lens, src_len));
            for (direction, src_lengths, options) in [
                (Direction::Forward, Some(&src_lengths), ALL),
                (Direction::Backward, Some(&src_lengths), SOME),
                (Direction::Forward, None, FEWEST),
                (Direction::Forward, Some(&src_lengths), IN_BF16),
            ] {
                let recurrent = RecurrentCall { cell, direction, lengths, d, precision: Float::F32 };
                let call = AttentiveRecurrentCall { recurrent, src_len, d_key, d_value };
                let what = format!("{call:?}, {src_lengths:?}, {options:?}");
                agree(&what, |device| attentive_layer(device, call, src_lengths, options));
            }
        }
    }
}

#[test]
fn a_sequence_alone_attends_as_it_does_among_others_with_more_padding() {
    let Some(gpu) = gpu() else {
        return;
    };
    let (len, keys, d) = (5, 135, 40);
    for cell in CELLS {
        let first = |lens: &[usize], width: usize, src_len: usize| {
            let lengths = &Lengths::new(lens, width);
            let src_lengths = Lengths::new(vec![keys; lens.len()], src_len);
            let recurrent =
                RecurrentCall { cell, direction: Direction::Forward, lengths, d, precision: Float::F32 };
            let call = AttentiveRecurrentCall { recurrent, src_len, d_key: 24, d_value: 150 };
            on(gpu, || {
                let operands = AttentiveOperands::new(call, ALL);
                let mut out = room(lengths.positions() * call.out_cols());
                let inputs = operands.inputs(Some(&src_lengths));
                crate::current().attentive_recurrent(call, inputs, &operands.projected, &mut out, None);
                out.into_vec()[..len * call.out_cols()].to_vec()
            })
        };
        let alone = bits(&[first(&[len], len, keys)]);
        let (more, many) = ([len, 0, 7, 1], [len; 50]);
        for (lens, width, src_len) in [(&[len][..], 8, 140), (&more, 9, 135), (&many, 6, 260)] {
            let among = first(lens, width, src_len);
            assert_eq!(bits(&[among]), alone, "{cell:?}, {lens:?}");
        }
    }
}
