//! The gradients of parameters as soon as a backward pass has completed them.
//!
//! The gradient of a parameter is the sum of what all operations that use it contribute, and Burn returns the gradients
//! when all are complete. Here the uses are counted in the forward pass, and the contributions in the backward pass. Only
//! fused operations are counted: a parameter must be used by them alone, or by other operations alone, whose
//! contributions are not seen here.

use std::cell::RefCell;
use std::collections::HashMap;

use burn::tensor::Tensor;
use scoped_tls_hkt::scoped_thread_local;

use super::fused::node;

/// Identifies a parameter in a forward and the following backward pass.
pub type Leaf = u64;

/// How many more contributions the gradient of each parameter needs.
#[derive(Debug, Default)]
pub struct Uses(RefCell<HashMap<Leaf, usize>>);

scoped_thread_local!(static COUNTED: Uses);
scoped_thread_local!(static WATCHED: for<'a> &'a (dyn Watch + 'a));

/// Watches a backward pass. A trait, since a reference to it may outlive less than what it refers to.
trait Watch {
    /// Counts a contribution to the gradient of `leaf`. Returns whether it is complete.
    fn count(&self, leaf: Leaf) -> bool;

    /// Sees a complete gradient.
    fn see(&self, leaf: Leaf, gradient: &[f32]);
}

type See<'a> = dyn FnMut(Leaf, &[f32]) + 'a;

struct Watcher<'a> {
    uses: Uses,
    complete: RefCell<&'a mut See<'a>>,
}

impl Watch for Watcher<'_> {
    fn count(&self, leaf: Leaf) -> bool {
        let mut uses = self.uses.0.borrow_mut();
        let Some(left) = uses.get_mut(&leaf) else {
            return false;
        };
        assert!(
            *left > 0,
            "more contributions than uses: a gradient was taken too early"
        );
        *left -= 1;
        *left == 0
    }

    fn see(&self, leaf: Leaf, gradient: &[f32]) {
        (self.complete.borrow_mut())(leaf, gradient);
    }
}

/// What identifies a parameter; `None` if gradients are not computed, or not by fused operations.
pub fn leaf<const D: usize>(parameter: &Tensor<D>) -> Option<Leaf> {
    node(parameter.clone())
}

/// Runs `forward` and counts the uses of parameters.
pub fn count_uses<R>(forward: impl FnOnce() -> R) -> (R, Uses) {
    let uses = Uses::default();
    let result = COUNTED.set(&uses, forward);
    (result, uses)
}

/// Runs `backward` and calls `complete` with each gradient that is complete: no contribution follows, as far as fused
/// operations are concerned. `uses` are those of the forward pass.
pub fn watch_gradients<'a, R>(
    uses: Uses,
    complete: &'a mut (dyn FnMut(Leaf, &[f32]) + 'a),
    backward: impl FnOnce() -> R,
) -> R {
    let watcher = Watcher {
        uses,
        complete: RefCell::new(complete),
    };
    WATCHED.set(&watcher, backward)
}

/// Counts a use of `leaf`.
pub(super) fn used(leaf: Leaf) {
    if COUNTED.is_set() {
        COUNTED.with(|uses| *uses.0.borrow_mut().entry(leaf).or_default() += 1);
    }
}

/// Counts a contribution to the gradient of `leaf`. Returns whether it is complete, and watched.
pub(super) fn contributed(leaf: Leaf) -> bool {
    WATCHED.is_set() && WATCHED.with(|watch| watch.count(leaf))
}

/// Shows the complete gradient of `leaf` to whoever watches.
pub(super) fn show(leaf: Leaf, gradient: &[f32]) {
    WATCHED.with(|watch| watch.see(leaf, gradient));
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution};

    use super::*;
    use crate::ops::{Epilogue, Map, Precision, linear};

    fn random(shape: [usize; 2]) -> Tensor<2> {
        let device = Device::flex().autodiff();
        Tensor::random(shape, Distribution::Default, &device).require_grad()
    }

    fn apply(x: &Tensor<2>, weight: &Tensor<2>) -> Tensor<2> {
        let map = Map {
            weight: weight.clone(),
            bias: None,
        };
        linear(x.clone(), vec![map], Epilogue::plain(Precision::F32))
    }

    #[test]
    fn each_gradient_is_seen_once_and_whole_and_in_the_order_of_the_backward_pass() {
        let (first, second, unused) = (random([3, 3]), random([3, 3]), random([3, 3]));
        let (loss, uses) = count_uses(|| {
            let x = random([4, 3]);
            // `first` is used twice.
            let x = apply(&apply(&x, &first), &first);
            apply(&x, &second).sum()
        });
        let mut seen = Vec::new();
        let mut gradients = watch_gradients(
            uses,
            &mut |leaf, gradient| seen.push((leaf, gradient.to_vec())),
            || loss.backward(),
        );
        let mut expected = |tensor: &Tensor<2>| {
            let gradient = tensor.grad_remove(&mut gradients).unwrap();
            (
                leaf(tensor).unwrap(),
                gradient.into_data().try_into_vec().unwrap(),
            )
        };
        let expected = [expected(&second), expected(&first)];
        seen.retain(|(leaf, _)| expected.iter().any(|(other, _)| other == leaf));
        assert_eq!(seen, expected);
        assert!(leaf(&unused).is_some() && leaf(&unused.inner()).is_none());
    }
}
