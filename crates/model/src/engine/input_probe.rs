//! What is done with the inputs of products besides multiplying them.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

/// The largest of the integers to which an input is rounded.
const LARGEST: f32 = 127.0;

/// Measures or rounds the input of a product with a matrix.
#[derive(Debug)]
pub enum InputProbe {
    /// Keeps the largest magnitude of the inputs of each call.
    Measures(Mutex<Vec<f32>>),
    /// Rounds each input x to the nearest of −127..=127 divided by this factor, as a product of 8-bit
    /// integers with a static scale does.
    Rounds(f32),
}

impl InputProbe {
    /// Measures the inputs.
    pub fn measures() -> Self {
        Self::Measures(Mutex::default())
    }

    /// Returns what was measured, one number a call.
    pub fn measured(&self) -> Vec<f32> {
        match self {
            Self::Measures(all) => all.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Self::Rounds(_) => Vec::new(),
        }
    }

    /// Returns `x`, measured or rounded.
    pub(super) fn applied<'a>(&self, x: &'a [f32]) -> Cow<'a, [f32]> {
        match self {
            Self::Measures(all) => {
                let largest = x.iter().fold(0.0, |largest: f32, x| largest.max(x.abs()));
                all.lock().unwrap_or_else(PoisonError::into_inner).push(largest);
                x.into()
            }
            Self::Rounds(factor) => {
                let rounded = |x: &f32| (x * factor).round_ties_even().clamp(-LARGEST, LARGEST) / factor;
                x.iter().map(rounded).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_measured_and_rounded() {
        let probe = InputProbe::measures();
        for x in [&[0.5, -2.0][..], &[], &[1.0]] {
            assert_eq!(*probe.applied(x), *x);
        }
        assert_eq!(probe.measured(), [2.0, 0.0, 1.0]);
        assert_eq!(*InputProbe::Rounds(2.0).applied(&[0.3, 0.25, -0.8, 1e3]), [0.5, 0.0, -1.0, 63.5]);
    }
}
