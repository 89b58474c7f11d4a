//! What ends the work of a device.

use std::panic::{self, AssertUnwindSafe};

/// The reason why a device cannot go on, such as a GPU that is lost or has no memory left.
///
/// Operations return no errors, since hardly anything can be done about one in the midst of a pass. A device
/// that fails [raises](Self::raise) the reason instead, which ends all work up to where it is
/// [caught](Self::caught).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A description of the failure.
    pub problem: String,
    /// A suggested remedy.
    pub hint: String,
}

impl Failure {
    /// Ends the work in which it is caught; without one, this thread.
    pub fn raise(self) -> ! {
        panic::resume_unwind(Box::new(self))
    }

    /// Runs `work`, which should not be continued after a failure.
    ///
    /// # Errors
    /// The failure that ends it.
    pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, Self> {
        panic::catch_unwind(AssertUnwindSafe(work)).map_err(|reason| match reason.downcast() {
            Ok(failure) => *failure,
            Err(reason) => panic::resume_unwind(reason),
        })
    }
}
