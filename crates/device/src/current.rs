//! The device on which a thread computes.

use std::cell::Cell;

use crate::{Cpu, Device};

thread_local! {
    static CURRENT: Cell<&'static dyn Device> = const { Cell::new(&Cpu) };
}

/// Returns the device on which this thread computes: the innermost of [`on`], or else the CPU.
pub fn current() -> &'static dyn Device {
    CURRENT.get()
}

/// Runs `work`, in which this thread computes on `device`. Values of one device cannot be used on another.
pub fn on<R>(device: &'static dyn Device, work: impl FnOnce() -> R) -> R {
    /// Returns to the device before, even if `work` panics.
    struct Back(&'static dyn Device);
    impl Drop for Back {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }

    let _back = Back(CURRENT.replace(device));
    work()
}
