//! Reference implementation of [`mod@crate::attentive_recurrent`].

use super::recurrent::ReferenceTimestep;
use super::{AdditiveAttentionShape, Recurrent, ReferenceAdditiveAttention};

/// Operands of a layer, as in [`crate::attentive_recurrent::AttentiveRecurrentInputs`].
#[derive(Clone, Copy, Debug)]
pub struct AttentiveRecurrent<'a> {
    /// The cell and its projected inputs.
    pub recurrent: Recurrent<'a>,
    /// The attended sequences, one row each. The queries are not read.
    pub attention: ReferenceAdditiveAttention<'a>,
    /// Projection from h to the query.
    pub query_weight: &'a [f64],
    /// Projection from the context to the gates.
    pub context_weight: &'a [f64],
}

/// One sequence at one position.
struct Attended {
    query: Vec<f64>,
    weights: Vec<f64>,
    context: Vec<f64>,
    timestep: ReferenceTimestep,
}

/// `sums` += `terms`
fn add(sums: &mut [f64], terms: &[f64]) {
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// W x with `rows` rows.
fn times(rows: usize, weight: &[f64], x: &[f64]) -> Vec<f64> {
    let row = |i: usize| &weight[i * x.len()..][..x.len()];
    (0..rows).map(|i| row(i).iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

/// Returns the gradient of x given the gradient `dy` of W x, and adds that of W to `dweight`.
fn times_backward(weight: &[f64], x: &[f64], dy: &[f64], dweight: &mut [f64]) -> Vec<f64> {
    let mut dx = vec![0.0; x.len()];
    for (i, dy) in dy.iter().enumerate() {
        for (j, x) in x.iter().enumerate() {
            dweight[i * dx.len() + j] += dy * x;
            dx[j] += dy * weight[i * dx.len() + j];
        }
    }
    dx
}

impl AttentiveRecurrent<'_> {
    /// Columns of h, of the states, of the gates and of the output.
    fn widths(&self) -> (usize, usize, usize, usize) {
        let (d, n_states, n_gates) = self.recurrent.widths();
        (d, n_states, n_gates, n_states + self.attention.shape.d_value)
    }

    /// The attention of one query over the sentence of sequence `number`.
    fn attention_of<'b>(&'b self, number: usize, queries: &'b [f64]) -> ReferenceAdditiveAttention<'b> {
        let AdditiveAttentionShape { src_len, d_key, d_value, .. } = self.attention.shape;
        let first = number * src_len;
        ReferenceAdditiveAttention {
            shape: AdditiveAttentionShape { rows: 1, ..self.attention.shape },
            queries,
            keys: &self.attention.keys[first * d_key..][..src_len * d_key],
            values: &self.attention.values[first * d_value..][..src_len * d_value],
            lens: self.attention.lens.map(|lens| &lens[number..][..1]),
            v: self.attention.v,
        }
    }

    /// One sequence in time order.
    fn sequence(&self, number: usize) -> Vec<Attended> {
        let (d, _, n_gates, _) = self.widths();
        let mut state = self.recurrent.initial_state(number);
        let mut positions = Vec::new();
        for row in self.recurrent.rows_in_time(number) {
            let query = times(self.attention.shape.d_key, self.query_weight, &state[..d]);
            let attention = self.attention_of(number, &query);
            let (weights, context) = (attention.weights(), attention.forward());
            let mut x = times(n_gates, self.context_weight, &context);
            add(&mut x, &self.recurrent.projected[row * n_gates..]);
            let timestep = self.recurrent.timestep(row, &x, state);
            state = timestep.state.clone();
            positions.push(Attended { query, weights, context, timestep });
        }
        positions
    }

    /// [`crate::attentive_recurrent::attentive_recurrent`]: the output and the attention weights.
    pub fn forward(&self) -> [Vec<f64>; 2] {
        let (_, n_states, _, n_out) = self.widths();
        let (call, src_len) = (self.recurrent.call, self.attention.shape.src_len);
        let rows = call.lengths.positions();
        let [mut out, mut weights] = [n_out, src_len].map(|cols| vec![0.0; rows * cols]);
        for number in 0..call.lengths.rows() {
            for position in self.sequence(number) {
                let row = position.timestep.row;
                let (state, context) = out[row * n_out..][..n_out].split_at_mut(n_states);
                state.copy_from_slice(&position.timestep.state);
                context.copy_from_slice(&position.context);
                weights[row * src_len..][..src_len].copy_from_slice(&position.weights);
            }
        }
        [out, weights]
    }

    /// [`crate::attentive_recurrent::attentive_recurrent_backward`]: the gradients of projections, hidden weight, bias,
    /// initial states, query weight, context weight, keys, values and v.
    pub fn backward(&self, grad_out: &[f64]) -> [Vec<f64>; 9] {
        let (_, n_states, _, n_out) = self.widths();
        let batch = self.recurrent.call.lengths.rows();
        let mut gradients = [
            self.recurrent.projected.len(),
            self.recurrent.weight.map_or(0, <[f64]>::len),
            self.recurrent.call.cell.hidden_gates() * self.recurrent.call.d,
            batch * n_states,
            self.query_weight.len(),
            self.context_weight.len(),
            self.attention.keys.len(),
            self.attention.values.len(),
            self.attention.shape.d_key,
        ]
        .map(|len| vec![0.0; len]);
        for number in 0..batch {
            let mut dstate = vec![0.0; n_states];
            for position in self.sequence(number).iter().rev() {
                let (dnext, dcontext) = grad_out[position.timestep.row * n_out..][..n_out].split_at(n_states);
                add(&mut dstate, dnext);
                dstate = self.position_backward(number, position, &dstate, dcontext, &mut gradients);
            }
            gradients[3][number * n_states..][..n_states].copy_from_slice(&dstate);
        }
        gradients
    }

    /// Returns the gradient of the previous state given those of the state and context at a position; adds
    /// the other gradients to `gradients`.
    fn position_backward(
        &self,
        number: usize,
        position: &Attended,
        dstate: &[f64],
        dcontext: &[f64],
        gradients: &mut [Vec<f64>; 9],
    ) -> Vec<f64> {
        let [dprojected, dweight, dbias, _, dquery_weight, dcontext_weight, dkeys, dvalues, dv] = gradients;
        let (d, _, n_gates, _) = self.widths();
        let Attended { query, context, timestep, .. } = position;
        let h = &timestep.before[..d];
        let [dx, dhidden, mut dbefore] = self.recurrent.timestep_backward(timestep, dstate);
        add(&mut dprojected[timestep.row * n_gates..], &dx);
        if let Some(weight) = self.recurrent.weight {
            add(dbias, &dhidden);
            let through = times_backward(weight, h, &dhidden, dweight);
            add(&mut dbefore, &through);
        }
        let mut dtotal = times_backward(self.context_weight, context, &dx, dcontext_weight);
        add(&mut dtotal, dcontext);
        let [dquery, dkey, dvalue, dv_here] = self.attention_of(number, query).backward(&dtotal);
        add(&mut dkeys[number * dkey.len()..], &dkey);
        add(&mut dvalues[number * dvalue.len()..], &dvalue);
        add(dv, &dv_here);
        add(&mut dbefore, &times_backward(self.query_weight, h, &dquery, dquery_weight));
        dbefore
    }
}
