//! Recurrent layers compared with PyTorch's `nn.RNN`, `nn.LSTM` and `nn.GRU` on packed sequences: states and gradients
//! (`scripts/fixtures/recurrent.py`).

use attentive::architecture::{self, CellKind};
use attentive::device;
use attentive::model::take_gradients;
use attentive::nn::{Construction, Pass, RecurrentEncoder};
use attentive::ops::Lengths;
use burn::tensor::{Tensor, TensorData};
use safetensors::SafeTensors;

use crate::fixture::{self, assert_close};

const D_IN: usize = 3;
const LENS: [usize; 3] = [5, 2, 3];
const LAYERS: usize = 2;
const D_HIDDEN: usize = 8;

fn check(name: &str, cell: CellKind, states: usize) {
    let bytes = fixture::read("recurrent");
    let file = SafeTensors::deserialize(&bytes).expect("the fixture is whole");
    let expected = |key: &str| fixture::values(&file, &format!("{name}.{key}"));
    let device = device::cpu().autodiff();
    let tensor = |key: &str, columns: usize| -> Tensor<2> {
        let values = expected(key);
        let shape = [values.len() / columns, columns];
        Tensor::from_data(TensorData::new(values, shape), &device)
    };
    let stack = architecture::RecurrentEncoder {
        n_layers: LAYERS,
        d_in: D_IN,
        d_hidden: D_HIDDEN,
        cell,
        bidirectional: true,
        dropout: 0.0,
    };
    let mut values = |parameter: &str| {
        let key = format!("weights.{parameter}");
        let stored = file.tensor(&format!("{name}.{key}"));
        let shape = stored.expect("the fixture has it").shape().to_vec();
        TensorData::new(expected(&key), shape)
    };
    let construction = Construction::new(&device, &mut values);
    let model = RecurrentEncoder::new(&stack, construction.root());
    let lengths = Lengths::new(LENS, LENS[0]);
    let x = tensor("x", D_IN).require_grad();
    let encoded = model.forward(x.clone(), &lengths, &Pass::inference());
    let finals = Tensor::cat(encoded.finals, 0);
    let numbers = |tensor: Tensor<2>| tensor.into_data().iter::<f32>().collect::<Vec<_>>();
    assert_close(
        "output",
        &numbers(encoded.memory.clone()),
        &expected("output"),
        2e-6,
    );
    assert_close(
        "final states",
        &numbers(finals.clone()),
        &expected("finals"),
        2e-6,
    );

    let loss = (encoded.memory * tensor("a", D_HIDDEN)).sum()
        + (finals * tensor("b", states * D_HIDDEN)).sum();
    let mut gradients = loss.backward();
    let slope = x.grad(&gradients).expect("x has a gradient");
    assert_close(
        "gradient of x",
        &numbers(slope),
        &expected("x_gradient"),
        1e-5,
    );
    for gradient in take_gradients(&model, &mut gradients) {
        let key = format!("gradients.{}", gradient.name);
        assert_close(&key, &gradient.values, &expected(&key), 1e-5);
    }
}

#[test]
fn rnn_matches_pytorch() {
    check("rnn", CellKind::Rnn, 1);
}

#[test]
fn lstm_matches_pytorch() {
    check("lstm", CellKind::Lstm, 2);
}

#[test]
fn gru_matches_pytorch() {
    check("gru", CellKind::Gru, 1);
}
