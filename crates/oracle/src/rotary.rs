//! Rotary position embeddings.

use attentive_device::*;

/// The rows of `x` with their first heads rotated.
pub(super) fn rotary(call: RotaryCall<'_>, turn: Turn, x: &[f64]) -> Vec<f64> {
    let (frequencies, pairs) = (call.table.frequencies(), call.table.pairs());
    let mut out = x.to_vec();
    for (row, out) in out.chunks_exact_mut(call.width.max(1)).enumerate() {
        let position = match call.positions {
            RowPositions::Sequences(len) => row % len,
            RowPositions::Each(positions) => positions[row],
        };
        for head in out.chunks_exact_mut((2 * pairs).max(1)).take(call.heads) {
            for (pair, frequency) in frequencies.iter().enumerate() {
                let angle = match turn {
                    Turn::Forward => position as f64 * frequency,
                    Turn::Back => -(position as f64) * frequency,
                };
                let (a, b) = (head[pair], head[pairs + pair]);
                head[pair] = a * angle.cos() - b * angle.sin();
                head[pairs + pair] = b * angle.cos() + a * angle.sin();
            }
        }
    }
    out
}
