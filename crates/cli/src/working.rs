//! Progress of a translation on a terminal; nothing elsewhere.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attentive_pipeline::Pipeline;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};

use super::message;

/// Time between two drawings.
const BETWEEN: Duration = Duration::from_millis(200);

/// A line on standard error that counts the sentences that a model has translated, until it is dropped.
pub(super) struct Working(Option<ProgressBar>);

impl Working {
    /// Counts the sentences that `pipeline` translates, out of `of` if that is known.
    pub(super) fn shown(pipeline: &Pipeline, of: Option<usize>) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let done = pipeline.translated();
        let text = move |state: &ProgressState, out: &mut dyn Write| {
            // The next drawing may succeed.
            let _ = out.write_str(&text(&done, of, state.elapsed()));
        };
        let style = ProgressStyle::with_template("{spinner} {text}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style.with_key("text", text));
        bar.enable_steady_tick(BETWEEN);
        message::beside(Some(bar.clone()));
        Self(Some(bar))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            message::beside(None);
            bar.finish_and_clear();
        }
    }
}

/// The text that is shown after `time`.
fn text(done: &Arc<AtomicUsize>, of: Option<usize>, time: Duration) -> String {
    let done = done.load(Ordering::Relaxed);
    let count = |n: usize| HumanCount(n as u64);
    let of = of.map_or(String::new(), |of| format!(" of {}", count(of)));
    let speed = done as f64 / time.as_secs_f64().max(1e-3);
    format!("{}{of} sentences translated, {speed:.1} per second", count(done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_and_gives_the_speed() {
        let done = Arc::new(AtomicUsize::new(1500));
        let text = |of| text(&done, of, Duration::from_secs(10));
        assert_eq!(text(Some(2000)), "1,500 of 2,000 sentences translated, 150.0 per second");
        assert_eq!(text(None), "1,500 sentences translated, 150.0 per second");
    }
}
