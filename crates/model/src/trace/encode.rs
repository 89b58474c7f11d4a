//! What a trace computes across the positions of whole sequences.

use attentive_tape::Direction;

use super::matrix::TraceMatrix;
use super::tracer::{Tracer, without_position};
use crate::nn::{Attention, Encode, RecurrentLayer, RecurrentStates, RelativeEncoding, Trained};

impl Encode for Tracer {
    fn attend_whole(
        &mut self,
        x: &TraceMatrix,
        attention: &Attention<Trained>,
        relative: &RelativeEncoding,
    ) -> TraceMatrix {
        self.self_attention(x, attention, relative, false)
    }

    fn read(&mut self, x: &TraceMatrix, layer: &RecurrentLayer<Trained>) -> RecurrentStates<TraceMatrix> {
        let projected = self.projected(x, layer);
        let before = TraceMatrix::zeros("zeros", [1, layer.state_width()]);
        let RecurrentStates { hidden, last } = self.cell(layer, &projected, &before);
        let behind = match layer.direction {
            Direction::Forward => "last",
            Direction::Backward => "first",
        };
        let parts = if layer.cell.states() == 1 { "h" } else { "h and c, side by side," };
        let place = without_position(hidden.name()).trim_end_matches(".h").to_owned();
        let last = self.record(&format!("{place}.final"), &format!("{parts} at the {behind} position"), last);
        RecurrentStates { hidden, last }
    }

    fn read_both(
        &mut self,
        x: &TraceMatrix,
        layers: [&RecurrentLayer<Trained>; 2],
    ) -> RecurrentStates<TraceMatrix> {
        let d = layers[0].d;
        let [forward, backward] = layers.map(|layer| self.read(x, layer));
        let parts = (0..layers[0].cell.states())
            .flat_map(|n| [&forward.last, &backward.last].map(|last| last.columns(n * d..(n + 1) * d)));
        let last = TraceMatrix::joined("", &Vec::from_iter(parts));
        let place = layers[0].place().trim_end_matches(".forward").to_owned();
        let both = [forward.hidden, backward.hidden];
        let formula = format!("[{}; {}], side by side", both[0], both[1]);
        let hidden = self.record(&format!("{place}.h"), &formula, TraceMatrix::joined("", &both));
        let of_c = if layers[0].cell.states() == 1 { "" } else { "; then c of both" };
        let finals = format!("h of {} and of {}, side by side{of_c}", forward.last, backward.last);
        let last = self.record(&format!("{place}.final"), &finals, last);
        RecurrentStates { hidden, last }
    }
}
