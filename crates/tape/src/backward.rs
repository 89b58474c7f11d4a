//! The backward pass: operations are visited in the reverse of their order, and each adds to the gradients of
//! its operands.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Debug, Formatter};
use std::rc::Rc;

use attentive_device::current;

use crate::Buffer;
use crate::param::{Param, ParamId};
use crate::value::GradientTarget;

/// An operation that was carried out.
pub(crate) struct Node {
    /// Counts the operations of a thread.
    number: u64,
    /// `None` once the backward pass has gone through it.
    step: RefCell<Option<Step>>,
    /// What the operations that use the result have contributed so far.
    gradient: RefCell<Option<Buffer>>,
}

/// How to go back through an operation.
pub(crate) struct Step {
    /// Where the operands come from; `None` for constants.
    pub(crate) parents: Vec<Option<GradientTarget>>,
    pub(crate) backward: BackwardFn,
}

/// Computes the gradient of each operand that has a parent from the gradient of the result.
pub(crate) type BackwardFn = Box<dyn FnOnce(Buffer) -> Vec<Option<Buffer>>>;

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

impl Node {
    pub(crate) fn new(step: Step) -> Rc<Self> {
        let number = NEXT.get();
        NEXT.set(number + 1);
        Rc::new(Self { number, step: RefCell::new(Some(step)), gradient: RefCell::default() })
    }
}

impl Drop for Node {
    /// Drops the operations that nothing else refers to one by one: recursion would overflow the stack.
    fn drop(&mut self) {
        let parents = |node: &mut Self| {
            let step = node.step.get_mut().take();
            let parents = step.into_iter().flat_map(|step| step.parents);
            parents.flatten().filter_map(|parent| match parent {
                GradientTarget::Node(node) => Some(node),
                GradientTarget::Param(_) => None,
            })
        };
        let mut left: Vec<Rc<Self>> = parents(self).collect();
        while let Some(node) = left.pop() {
            if let Ok(mut node) = Rc::try_unwrap(node) {
                left.extend(parents(&mut node));
            }
        }
    }
}

impl Debug for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "operation {}", self.number)
    }
}

/// The gradients of parameters.
#[derive(Debug, Default)]
pub struct Gradients(HashMap<ParamId, Buffer>);

impl Gradients {
    pub(crate) fn of(param: ParamId, gradient: Buffer) -> Self {
        Self(HashMap::from([(param, gradient)]))
    }

    /// Removes and returns the gradient of `param`; zeros if the value did not depend on it.
    pub fn take(&mut self, param: &Param) -> Buffer {
        let gradient = self.0.remove(&param.id());
        gradient.unwrap_or_else(|| Buffer::zeros(param.size()))
    }
}

/// Goes back from `root`, whose gradient is `seed`. Calls `complete` with the gradient of a parameter after
/// the last operation that uses it.
pub(crate) fn run(root: Rc<Node>, seed: Buffer, complete: &mut dyn FnMut(ParamId, &Buffer)) -> Gradients {
    *root.gradient.borrow_mut() = Some(seed);
    let nodes = reachable(root);
    let mut uses = uses(&nodes);
    let mut gradients: HashMap<ParamId, Buffer> = HashMap::new();
    for node in nodes {
        let Step { parents, backward } = node.step.take().expect("`reachable` checked it");
        let found = match node.gradient.take() {
            Some(gradient) => backward(gradient),
            // No operation that uses the result wanted its gradient.
            None => parents.iter().map(|_| None).collect(),
        };
        for (parent, contribution) in parents.into_iter().zip(found) {
            match parent {
                Some(GradientTarget::Node(parent)) => add(&mut parent.gradient.borrow_mut(), contribution),
                Some(GradientTarget::Param(param)) => {
                    let id = param.id();
                    if let Some(contribution) = contribution {
                        match gradients.get_mut(&id) {
                            Some(sum) => current().add(sum, &contribution),
                            None => _ = gradients.insert(id, contribution),
                        }
                    }
                    let left = uses.get_mut(&id).expect("every use was counted");
                    *left -= 1;
                    if let (0, Some(gradient)) = (*left, gradients.get_mut(&id)) {
                        param.mask(gradient);
                        complete(id, gradient);
                    }
                }
                None => (),
            }
        }
    }
    Gradients(gradients)
}

fn add(sum: &mut Option<Buffer>, contribution: Option<Buffer>) {
    match (sum, contribution) {
        (Some(sum), Some(contribution)) => current().add(sum, &contribution),
        (sum @ None, contribution) => *sum = contribution,
        (Some(_), None) => (),
    }
}

/// The operations on which the result of `root` depends, the last one first.
///
/// # Panics
/// If a backward pass has gone through one of them.
fn reachable(root: Rc<Node>) -> Vec<Rc<Node>> {
    let mut seen = HashSet::from([root.number]);
    let mut found = vec![root];
    let mut next = 0;
    while let Some(node) = found.get(next).cloned() {
        next += 1;
        let step = node.step.borrow();
        let step = step.as_ref().expect("only one backward pass goes through an operation");
        for parent in step.parents.iter().flatten() {
            if let GradientTarget::Node(parent) = parent
                && seen.insert(parent.number)
            {
                found.push(Rc::clone(parent));
            }
        }
    }
    found.sort_unstable_by_key(|node| std::cmp::Reverse(node.number));
    found
}

/// How often each parameter is used.
fn uses(nodes: &[Rc<Node>]) -> HashMap<ParamId, usize> {
    let mut uses = HashMap::new();
    for node in nodes {
        let step = node.step.borrow();
        let parents = step.iter().flat_map(|step| step.parents.iter().flatten());
        for parent in parents {
            if let GradientTarget::Param(param) = parent {
                *uses.entry(param.id()).or_default() += 1;
            }
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{numbers, on_each_device, random};
    use crate::{AffineMap, Float, TapeEpilogue, Value, linear, scale};

    fn apply(x: Value, weight: &Param) -> Value {
        let map = AffineMap { weight: weight.value(), bias: None };
        linear(x, vec![map], TapeEpilogue::plain(Float::F32))
    }

    fn square(seed: u64) -> Param {
        Param::new("weight", vec![3, 3], numbers(seed, 9))
    }

    #[test]
    fn each_gradient_is_seen_once_and_whole_and_in_the_order_of_the_backward_pass() {
        on_each_device(|| {
            let (first, second, unused) = (square(1), square(2), square(3));
            // `first` is used twice.
            let x = apply(apply(random(4, [4, 3]), &first), &first);
            let result = apply(x, &second);
            let mut seen = Vec::new();
            let mut gradients =
                result.backward_watched(&mut |id, gradient| seen.push((id, gradient.clone().into_vec())));
            let expected = [&second, &first].map(|param| (param.id(), gradients.take(param).into_vec()));
            assert_eq!(seen, expected);
            assert_eq!(gradients.take(&unused).into_vec(), [0.0; 9]);
        });
    }

    #[test]
    fn frozen_parameters_and_constants_have_no_history() {
        on_each_device(|| {
            let weight = square(1);
            assert!(apply(random(2, [4, 3]), &weight).target.is_some());
            let map = |weight| AffineMap { weight, bias: None };
            let plain = |weight| {
                let epilogue = TapeEpilogue::plain(Float::F32);
                linear(random(2, [4, 3]), vec![map(weight)], epilogue)
            };
            assert!(plain(weight.constant()).target.is_none());
            weight.freeze();
            assert!(plain(weight.value()).target.is_none());
        });
    }

    #[test]
    fn a_row_that_is_kept_at_zero_has_no_gradient() {
        on_each_device(|| {
            let (free, kept) = (square(1), square(1));
            kept.keep_at_zero(1);
            let gradient = |weight: &Param| {
                let x = apply(apply(random(2, [4, 3]), weight), weight);
                x.backward().take(weight).into_vec()
            };
            assert!(gradient(&free).chunks(3).all(|row| row.iter().any(|&x| x != 0.0)));
            let rows = |values: Vec<f32>| -> Vec<bool> {
                values.chunks(3).map(|row| row.iter().all(|&x| x == 0.0)).collect()
            };
            assert_eq!(rows(kept.to_vec()), [false, true, false]);
            assert_eq!(rows(gradient(&kept)), [false, true, false]);
            let root = kept.value().backward().take(&kept).into_vec();
            assert_eq!(rows(root), [false, true, false]);
        });
    }

    #[test]
    fn parameters_are_changed_in_place_after_a_backward_pass() {
        let weight = square(1);
        let address = |param: &Param| param.values().values().as_ptr().addr();
        let before = address(&weight);
        let mut gradients = apply(random(2, [4, 3]), &weight).backward();
        let gradient = gradients.take(&weight);
        weight.update(|values| current().add(values, &gradient));
        assert_eq!(address(&weight), before, "nothing was copied");
    }

    #[test]
    #[should_panic(expected = "only one backward pass")]
    fn a_second_backward_pass_is_refused() {
        let result = apply(random(2, [4, 3]), &square(1));
        let (once, again) = (scale(result.clone(), 2.0), scale(result, 3.0));
        once.backward();
        again.backward();
    }

    /// A chain as long as that of a deep model must not overflow the stack when it is dropped.
    #[test]
    fn long_histories_can_be_dropped() {
        let weight = square(1);
        let mut x = random(2, [1, 3]);
        for _ in 0..100_000 {
            x = scale(apply(x, &weight), 0.5);
        }
        drop(x);
    }
}
