//! The boundary around other libraries that read what users bring.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

thread_local! {
    /// The number of calls of [`contain`] on this thread that have not returned.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Calls `work`, most of which is done by another library. A panic in it does not spread, and is not printed:
/// the values that `work` changes should not be used any more.
///
/// # Errors
/// What the library said when it panicked.
///
/// ```
/// use attentive_base::foreign::contain;
///
/// let parse = |text: &str| text.parse::<u32>().unwrap();
/// assert_eq!(contain(|| parse("7")), Ok(7));
/// assert!(contain(|| parse("seven")).unwrap_err().contains("InvalidDigit"));
/// ```
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    keep_quiet();
    let _depth = Depth::enter();
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(problem)
}

/// [`contain`] for work that can fail.
///
/// # Errors
/// Those of `work` and of [`contain`].
pub fn try_contain<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    contain(work).unwrap_or_else(Err)
}

fn problem(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("the library that reads it failed: {}", text.unwrap_or("an unknown problem"))
}

/// Counts a call of [`contain`].
struct Depth;

impl Depth {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Self
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Makes the present panic hook ignore panics that are contained.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    // A thread that panics must not touch the hook.
    if thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if DEPTH.get() == 0 {
                hook(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_problems() {
        assert_eq!(contain(|| 1), Ok(1));
        let failed = "the library that reads it failed: ";
        assert_eq!(contain(|| panic!("a {}", "mistake")), Err::<(), _>(format!("{failed}a mistake")));
        assert_eq!(contain(|| panic!("plain")), Err::<(), _>(format!("{failed}plain")));
        let other = contain(|| panic::panic_any(7));
        assert_eq!(other, Err::<(), _>(format!("{failed}an unknown problem")));
        assert_eq!(try_contain(|| Err::<(), _>("its own".into())), Err("its own".into()));
    }

    #[test]
    fn the_innermost_boundary_catches_and_the_outer_one_goes_on() {
        let outer = contain(|| {
            contain(|| panic!("inside")).unwrap_err();
            assert_eq!(DEPTH.get(), 1);
            2
        });
        assert_eq!((outer, DEPTH.get()), (Ok(2), 0));
    }
}
