//! Operations of training.

use attentive_device::{
    AdditiveAttentionShape, AttentiveRecurrentCall, Lengths, LinearCall, NormCall, PositionRows,
    ProjectionShape, RecurrentCall, ResidualNormCall,
};
use attentive_kernels::attention::Causality;
use attentive_kernels::cross_entropy::IGNORE;
use attentive_kernels::gemm::Activation;
use attentive_kernels::norm::NormKind;

use super::*;
use crate::attention::Case;

pub(super) const ALL: [fn(&mut Random); 9] =
    [linear, embedding, attention, additive, norm, nonlinear, cross_entropy, recurrent, optimizer];

fn linear(random: &mut Random) {
    let shape = [150, 90, 150].map(|end| below(random, end));
    let shape = [shape[0], 1 + shape[1], shape[2]];
    let plain = products::call(shape);
    let call = one_of(
        random,
        &[
            plain,
            LinearCall { activation: Activation::Relu, ..plain },
            LinearCall { activation: Activation::Relu, dropout: Some(dropout(0.3)), ..plain },
        ],
    );
    let (maps, biased) = (one_of(random, &[1, 2, 3]), one_of(random, &[true, false]));
    let stored = one_of(random, &STORED);
    let what = format!("{call:?} · {maps} in {stored:?}, {biased}");
    agree(&what, |device| products::both(device, call, stored, maps, biased));
}

fn embedding(random: &mut Random) {
    let [vocab, d, sequences, len] = [40, 300, 20, 20].map(|end| 1 + below(random, end));
    let ids = (0..sequences * len).map(|_| below(random, vocab) as u32);
    let ids = Vec::from_iter(ids);
    let table = numbers(9, len * d);
    let table = &table;
    let positions = one_of(random, &[None, Some(PositionRows { table, len })]);
    let stored = one_of(random, &STORED);
    agree(&format!("{ids:?} of {vocab} · {d} in {stored:?}"), |device| {
        rows::embedded(device, &ids, [vocab, d], stored, positions)
    });
}

fn attention(random: &mut Random) {
    let joined = one_of(random, &[true, false]);
    let group = one_of(random, &[1, 2, 3]);
    let [batch, heads, tgt, src, d_head] = [4, 3, 50, 50, 70].map(|end| below(random, end));
    let src = if joined { tgt } else { src };
    let shape = [batch, (1 + heads) * group, 1 + heads, tgt, src, 1 + d_head];
    let lens = (0..batch).map(|_| below(random, src + 1));
    let lengths = Lengths::new(Vec::from_iter(lens), src);
    let case = Case {
        shape: crate::attention::shape(shape),
        lengths: one_of(random, &[None, Some(&lengths)]),
        causality: one_of(random, &[Causality::Full, Causality::Causal]),
        biased: one_of(random, &[true, false]),
        dropout: one_of(random, &[None, Some(dropout(0.3))]),
        joined,
    };
    agree(&format!("attention {shape:?}"), |device| case.both(device));
}

fn norm(random: &mut Random) {
    let norm = NormCall {
        kind: one_of(random, &[NormKind::Layer, NormKind::Rms, NormKind::Scalar]),
        rows: below(random, 150),
        d: 2 + below(random, 600),
        epsilon: 1e-5,
    };
    agree(&format!("{norm:?}"), |device| layers::norm_of(device, norm));
    let dropout = one_of(random, &[None, Some(dropout(0.3))]);
    let call = ResidualNormCall { norm, dropout };
    agree(&format!("{call:?}"), |device| layers::residual_norm_of(device, call));
}

fn nonlinear(random: &mut Random) {
    let f = one_of(random, &layers::NONLINEARITIES);
    let [rows, d] = [60, 300].map(|end| below(random, end));
    agree(&format!("{f:?} of [{rows}, {d}]"), |device| layers::nonlinear_of(device, f, rows, 1 + d));
}

fn optimizer(random: &mut Random) {
    let n = 1 + below(random, 9000);
    match one_of(random, &[None, Some(0.0), Some(0.9)]) {
        None => _ = agree(&format!("Adam, {n}"), |device| crate::optimizer::adam(device, n)),
        Some(momentum) => {
            _ = agree(&format!("SGD, {n}, {momentum}"), |device| crate::optimizer::sgd(device, n, momentum));
        }
    }
}

fn cross_entropy(random: &mut Random) {
    let shape = ProjectionShape {
        rows: 1 + below(random, 100),
        d_model: 1 + below(random, 50),
        vocab: 1 + below(random, 1000),
        precision: Float::F32,
    };
    let target = |_| match random.uniform() {
        part if part < 0.2 => IGNORE,
        _ => below(random, shape.vocab) as u32,
    };
    let targets: Vec<u32> = (0..shape.rows).map(target).collect();
    let smoothing = one_of(random, &[0.0, 0.1]);
    let flags = [(); 2].map(|()| one_of(random, &[true, false]));
    let stored = one_of(random, &STORED);
    let what = format!("{shape:?} in {stored:?}, {smoothing}, {flags:?}");
    agree(&what, |device| loss::both(device, shape, stored, &targets, smoothing, flags).0);
}

/// Additive attention with one query per sentence.
fn additive(random: &mut Random) {
    let [rows, src_len, d_key, d_value] = [20, 150, 40, 40].map(|end| 1 + below(random, end));
    let shape = AdditiveAttentionShape { rows, src_len, d_key, d_value };
    let lens = (0..rows).map(|_| below(random, src_len + 1));
    let lengths = Lengths::new(Vec::from_iter(lens), src_len);
    let lengths = one_of(random, &[None, Some(&lengths)]);
    agree_roughly(&format!("{shape:?}, {lengths:?}"), |device| {
        crate::recurrent::additive(device, shape, lengths)
    });
}

/// A recurrent layer, or one that attends.
fn recurrent(random: &mut Random) {
    use crate::recurrent as of;
    use of::{CELLS, DIRECTIONS, FEWEST, SOME, attentive_layer, layer};

    let [batch, width, d] = [20, 12, 50].map(|end| below(random, end));
    let lens = (0..batch).map(|_| below(random, width + 1));
    let lengths = &Lengths::new(Vec::from_iter(lens), width);
    let call = RecurrentCall {
        cell: one_of(random, &CELLS),
        direction: one_of(random, &DIRECTIONS),
        lengths,
        d: 1 + d,
        precision: Float::F32,
    };
    let options = one_of(random, &[of::ALL, SOME, FEWEST]).stored(one_of(random, &STORED));
    if one_of(random, &[true, false]) {
        let other = RecurrentCall { direction: one_of(random, &DIRECTIONS), ..call };
        let both = [call, other];
        let calls = &both[..1 + below(random, 2)];
        agree_roughly(&format!("{calls:?}, {options:?}"), |device| layer(device, calls, options));
        return;
    }
    let [src_len, d_key, d_value] = [12, 40, 40].map(|end| 1 + below(random, end));
    let call = AttentiveRecurrentCall { recurrent: call, src_len, d_key, d_value };
    let lens = (0..batch).map(|_| below(random, src_len + 1));
    let keys = Lengths::new(Vec::from_iter(lens), src_len);
    let keys = one_of(random, &[None, Some(&keys)]);
    let what = format!("{call:?}, {keys:?}, {options:?}");
    agree_roughly(&what, |device| attentive_layer(device, call, keys, options));
}
