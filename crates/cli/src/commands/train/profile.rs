//! `attentive train --profile`: shows how long each part of an update takes.

use std::fmt::Write as _;
use std::time::Duration;

use attentive_base::count::count;
use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_config::Config;
use attentive_tape::OpTimings;
use attentive_train::{TrainingProfile, profile};

use crate::output::OutputWriter;
use crate::progress::ProgressDisplay;

pub(super) fn run(config: &Config, updates: u64) -> Result<()> {
    let interrupt = Interrupt::install()?;
    let profile = profile(config, updates, &interrupt, &mut ProgressDisplay::new())?;
    let mut out = OutputWriter::stdout();
    out.line(table(&profile).trim_end())?;
    out.flush()
}

/// One line for each part of an update, in milliseconds per update.
fn table(profile: &TrainingProfile) -> String {
    let total = profile.total().as_secs_f64();
    let updates = profile.updates as f64;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3 / updates;
    let mut out = String::new();
    let mut line = |name: &str, calls: String, forward: Duration, backward: Duration, speed: String| {
        let (forward, backward) = (milliseconds(forward), milliseconds(backward));
        let all = forward + backward;
        let share = all * updates / 1e3 / total * 100.0;
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{name:<22}{calls:>7}{forward:>12.1}{backward:>12.1}{all:>12.1}{share:>8.1} %{speed:>10}"
        );
    };
    let (mut forward, mut backward) = (profile.forward, profile.backward);
    for (name, spent) in &profile.operations {
        let OpTimings { calls, .. } = *spent;
        let calls = format!("{:.0}", calls as f64 / updates);
        line(name, calls, spent.forward, spent.backward, speed(spent));
        forward = forward.saturating_sub(spent.forward);
        backward = backward.saturating_sub(spent.backward);
    }
    let none = String::new;
    line("everything between", none(), forward, backward, none());
    line("optimizer", none(), profile.optimizer, Duration::ZERO, none());
    line("data", none(), profile.data, Duration::ZERO, none());
    format!(
        "{}, {:.1} ms and {:.0} target tokens each: {:.0} tokens/s\n\n\
         {:<22}{:>7}{:>12}{:>12}{:>12}{:>10}{:>10}\n{out}\n{}\n",
        count(profile.updates as usize, "update"),
        total * 1e3 / updates,
        profile.tgt_tokens as f64 / updates,
        profile.tgt_tokens as f64 / total,
        "operation",
        "calls",
        "forward ms",
        "backward ms",
        "both ms",
        "share",
        "GFLOP/s",
        memory(profile),
    )
}

/// Predicted and actual peak memory use.
fn memory(profile: &TrainingProfile) -> String {
    let megabytes = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    let predicted = megabytes(profile.predicted_memory);
    match profile.memory {
        Some(peak) => format!("RAM: {} at the peak, {predicted} predicted", megabytes(peak)),
        None => format!("RAM: {predicted} predicted"),
    }
}

/// The speed of the matrix products, including the time of everything else in the operation.
fn speed(spent: &OpTimings) -> String {
    let seconds = (spent.forward + spent.backward).as_secs_f64();
    if spent.flops == 0.0 || seconds == 0.0 {
        return String::new();
    }
    format!("{:.1}", spent.flops / seconds / 1e9)
}
