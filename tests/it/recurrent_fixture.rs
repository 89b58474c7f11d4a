//! Recurrent layers compared with PyTorch's `nn.RNN`, `nn.LSTM` and `nn.GRU` on packed sequences: states and
//! gradients (`scripts/fixtures/recurrent.py`).

use attentive::architecture::{self, CellKind};
use attentive::nn::{Construction, ParameterDeclaration, Parameters, Pass, RecurrentEncoder, Sequences};
use attentive::tape::{AffineMap, Float, Lengths, Param, TapeEpilogue, Value, join, linear, select_rows};
use safetensors::SafeTensors;

use crate::fixture::{self, assert_close};

const D_IN: usize = 3;
const LENS: [usize; 3] = [5, 2, 3];
const LAYERS: usize = 2;
const D_HIDDEN: usize = 8;

fn check(name: &str, cell: CellKind) {
    let bytes = fixture::read("recurrent");
    let file = SafeTensors::deserialize(&bytes).expect("the fixture is whole");
    let expected = |key: &str| fixture::values(&file, &format!("{name}.{key}"));
    let stack = architecture::RecurrentEncoderSpec {
        n_layers: LAYERS,
        d_in: D_IN,
        d_hidden: D_HIDDEN,
        cell,
        bidirectional: true,
        dropout: 0.0,
    };
    let mut values = |declared: &ParameterDeclaration| {
        let key = format!("weights.{}", declared.name);
        let stored = file.tensor(&format!("{name}.{key}")).expect("the fixture has it");
        assert_eq!(stored.shape(), declared.shape);
        expected(&key).into()
    };
    let mut parameters = Parameters::new(&mut values);
    let model = RecurrentEncoder::new(&stack, Construction::new(&mut parameters).root());
    let parameters = parameters.into_made();
    let lengths = Lengths::new(LENS, LENS[0]);
    let x = Param::new("x", vec![lengths.positions(), D_IN], expected("x"));
    let pass = Pass::inference().recorded();
    let encoded = model.forward(x.value(), &mut Sequences::new(&lengths, &pass));
    let output = encoded.memory.values();
    assert_close("output", &output, &expected("output"), 2e-6);
    let finals = encoded.finals.iter();
    let finals: Vec<f32> = finals.flat_map(|state| state.values().to_vec()).collect();
    assert_close("final states", &finals, &expected("finals"), 2e-6);

    // Σ output · a + Σ finals · b
    let results = [vec![encoded.memory], encoded.finals].concat();
    let results = join(results.iter().map(row).collect());
    let weight = Value::new([expected("a"), expected("b")].concat(), results.shape());
    let bias = None;
    let map = AffineMap { weight, bias };
    let loss = linear(results, vec![map], TapeEpilogue::plain(Float::F32));
    let mut gradients = loss.backward();
    let slope = gradients.take(&x);
    assert_close("gradient of x", &slope.values(), &expected("x_gradient"), 1e-5);
    for parameter in parameters {
        let key = format!("gradients.{}", parameter.name());
        let gradient = gradients.take(&parameter);
        assert_close(&key, &gradient.values(), &expected(&key), 1e-5);
    }
}

/// All rows one after another.
fn row(x: &Value) -> Value {
    let rows = (0..x.shape()[0]).map(|row| select_rows(x.clone(), &[row]));
    join(rows.collect())
}

#[test]
fn rnn_matches_pytorch() {
    check("rnn", CellKind::Rnn);
}

#[test]
fn lstm_matches_pytorch() {
    check("lstm", CellKind::Lstm);
}

#[test]
fn gru_matches_pytorch() {
    check("gru", CellKind::Gru);
}
