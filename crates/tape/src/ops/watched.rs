//! Gradients of values within a computation.

use std::cell::RefCell;
use std::rc::Rc;

use attentive_device::current;

use crate::op::{Context, Mode, OpOutput, TapeOp, apply};
use crate::{Buffer, Value};

/// Receives the gradient of a value in the backward pass.
#[derive(Clone, Debug, Default)]
pub struct GradientSlot(Rc<RefCell<Option<Vec<f32>>>>);

impl GradientSlot {
    /// Returns the gradient; `None` before the backward pass, and if nothing depends on the value.
    pub fn take(&self) -> Option<Vec<f32>> {
        self.0.borrow_mut().take()
    }
}

/// A copy of `x`, whose gradient `slot` receives in the backward pass.
pub fn watched(x: Value, slot: &GradientSlot) -> Value {
    let shape = x.shape();
    apply(Watched { slot: slot.clone() }, WatchedOperands { x }, shape)
}

operands! {
    struct WatchedOperands {
        x: One,
    }
}

struct Watched {
    slot: GradientSlot,
}

impl TapeOp for Watched {
    const NAME: &'static str = "watched";
    type Operands = WatchedOperands<()>;
    type Saved = ();
    type Side = ();

    fn forward(&self, inputs: WatchedOperands<&Buffer>, _: Mode<Self>) -> OpOutput<Self> {
        let mut out = Buffer::take(inputs.x.len());
        current().copy(inputs.x, &mut out);
        OpOutput::new(out, ())
    }

    fn backward(&self, context: Context<'_, Self>) -> WatchedOperands<Option<Buffer>> {
        *self.slot.0.borrow_mut() = Some(context.grad.values().into_owned());
        WatchedOperands { x: Some(context.grad) }
    }
}
