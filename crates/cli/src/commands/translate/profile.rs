//! `attentive translate --profile`: shows how the time was spent.

use std::fmt::Write as _;
use std::time::Duration;

use attentive_base::count::count;
use attentive_kernels::threads::Threads;
use attentive_model::profile::{Counts, Profile, ProfileSection};
use attentive_pipeline::Pipeline;

use crate::message;

/// Writes the profile to standard error.
pub(super) fn show(pipeline: &Pipeline, profile: &Profile) {
    let numbers = pipeline.stepper().numbers();
    let threads = count(Threads::current().count(), "thread");
    message::say(format_args!(
        "\n{}\n{numbers}, {threads}\n\n{}",
        summary(profile),
        table(profile).trim_end()
    ));
}

/// Summarizes the amount of text and the speed.
fn summary(profile: &Profile) -> String {
    let Counts { sentences, src_tokens, tgt_tokens, steps, rows } = profile.counts;
    // Reading the input may include waiting for it.
    let around = profile.time(ProfileSection::Loading) + profile.time(ProfileSection::Rest);
    let seconds = profile.total().saturating_sub(around).as_secs_f64();
    let per_second = |n: usize| n as f64 / seconds.max(1e-9);
    let mut out =
        format!("{} in {seconds:.3} s, without loading, reading and writing", count(sentences, "sentence"));
    let lines = [
        ("sentences", sentences, "sentences/s"),
        ("source tokens", src_tokens, "tokens/s"),
        ("output tokens", tgt_tokens, "tokens/s"),
    ];
    // Writing to a string cannot fail.
    for (name, n, unit) in lines {
        let _ = write!(out, "\n{name:<26}{n:>9}{:>11.1} {unit}", per_second(n));
    }
    let rows = rows as f64 / steps.max(1) as f64;
    let _ = write!(out, "\n{:<26}{steps:>9}{rows:>11.1} rows each", "decoding steps");
    out
}

/// A line for each part that took any time.
fn table(profile: &Profile) -> String {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let total = milliseconds(profile.total());
    let mut out = format!("{:<26}{:>9}{:>10}\n", "part", "ms", "share");
    let parts = ProfileSection::ALL.map(|part| (name(part), milliseconds(profile.time(part))));
    let taken = parts.into_iter().filter(|(_, time)| *time > 0.0);
    for (name, time) in taken.chain([("total", total)]) {
        let share = 100.0 * time / total;
        let _ = writeln!(out, "{name:<26}{time:>9.1}{share:>8.1} %");
    }
    out
}

fn name(part: ProfileSection) -> &'static str {
    match part {
        ProfileSection::Loading => "loading",
        ProfileSection::Tokenization => "tokenizing",
        ProfileSection::Encoder => "encoder",
        ProfileSection::Linear => "decoder: linear maps",
        ProfileSection::SelfAttention => "decoder: self-attention",
        ProfileSection::CrossAttention => "decoder: cross-attention",
        ProfileSection::Cells => "decoder: recurrent cells",
        ProfileSection::DecoderRest => "decoder: norms, the rest",
        ProfileSection::Projection => "output projection, top-k",
        ProfileSection::Search => "search",
        ProfileSection::Detokenization => "detokenizing",
        ProfileSection::Alignment => "alignments",
        ProfileSection::Waiting => "waiting for other threads",
        ProfileSection::Rest => "reading, writing, the rest",
    }
}
