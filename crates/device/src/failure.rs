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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Device, PLAIN, Plain, current, on};

    fn lost() -> Failure {
        Failure { problem: "the GPU was lost".into(), hint: "continue from the last checkpoint".into() }
    }

    #[test]
    fn a_failure_ends_the_work_in_which_it_is_caught() {
        let before = format!("{:?}", current());
        assert_eq!(Failure::caught(|| 1), Ok(1));
        let work = || on(&PLAIN, || lost().raise());
        assert_eq!(Failure::caught(work), Err::<(), _>(lost()));
        assert_eq!(format!("{:?}", current()), before);
    }

    #[test]
    fn a_device_is_lost_alone() {
        static LOST: Plain = Plain::new();
        LOST.lose(lost());
        let work = |device| Failure::caught(|| on(device, || Buffer::zeros(1).len()));
        assert_eq!((work(&LOST), LOST.failure()), (Err(lost()), Some(lost())));
        assert_eq!((work(&PLAIN), PLAIN.failure()), (Ok(1), None));
    }

    #[test]
    #[should_panic(expected = "a mistake")]
    fn other_panics_go_on() {
        let _ = Failure::caught(|| panic!("a mistake"));
    }
}
