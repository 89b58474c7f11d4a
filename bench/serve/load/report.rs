//! The report of a measurement, as JSON.

use std::collections::BTreeMap;
use std::error::Error;
use std::process;
use std::time::Duration;

use serde_json::{Value, json};

use crate::check::Verdict;
use crate::clients::{Load, Outcome};
use crate::process::{Watched, cpu};

/// The maximum number of wrong answers that are shown.
const EXAMPLES: usize = 3;

/// The second whose memory use is compared with the end.
const SETTLED: usize = 60;

/// The summary of all requests. Requests of the warm-up count only as wrong, failed or unanswered.
pub(crate) fn summary(load: &Load, outcomes: &[Outcome], watched: Option<&Watched>) -> Value {
    let end = match load.requests {
        Some(_) => outcomes.iter().map(|outcome| outcome.ended).max().unwrap_or_default(),
        None => load.duration(),
    };
    let counts = |outcome: &&Outcome| outcome.arrived >= load.warm_up && outcome.arrived <= end;
    let counted: Vec<&Outcome> = outcomes.iter().filter(counts).collect();
    let right = |outcome: &&&Outcome| matches!(outcome.verdict, Verdict::Right(_));
    let refused = |outcome: &&&Outcome| outcome.verdict == Verdict::Refused;
    // Throughput counts requests that end in the measured time, whenever they began.
    let ended = outcomes.iter().filter(|outcome| {
        let is_right = matches!(outcome.verdict, Verdict::Right(_) | Verdict::Wrong { .. });
        is_right && outcome.ended >= load.warm_up && outcome.ended <= end
    });
    let span = end.saturating_sub(load.warm_up).as_secs_f64();
    let mut summary = json!({
        "clients": load.clients,
        "rate": load.rate,
        "seconds": span,
        "sent": counted.len(),
        "right": counted.iter().filter(right).count(),
        "refused": counted.iter().filter(refused).count(),
        "wrong": outcomes.iter().filter(|one| matches!(one.verdict, Verdict::Wrong { .. })).count(),
        "unanswered": outcomes.iter().filter(|one| one.verdict == Verdict::Unanswered).count(),
        "failed": failures(outcomes),
        "examples_of_wrong": examples(outcomes),
        "throughput": ended.count() as f64 / span,
        "latency": latencies(counted.iter().copied().filter(|one| right(&one))),
        "latency_of_refusals": latencies(counted.iter().copied().filter(|one| refused(&one))),
        "cpu_of_clients": cpu(process::id()),
    });
    if let Some(watched) = watched {
        summary["cpu"] = watched.cpu.into();
        summary["memory"] = memory(&watched.resident);
    }
    summary
}

/// The text of every answer, in the order of the lines.
pub(crate) fn answers(outcomes: &[Outcome], lines: usize) -> Result<String, Box<dyn Error>> {
    let texts = outcomes.iter().take(lines).map(|outcome| match &outcome.verdict {
        Verdict::Right(text) => Ok(format!("{text}\n")),
        other => Err(format!("request {}: {other:?}", outcome.number).into()),
    });
    texts.collect()
}

/// The number of requests without an answer, by reason, excluding timeouts.
fn failures(outcomes: &[Outcome]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        let reason = match &outcome.verdict {
            Verdict::Status(status) => format!("status {status}"),
            Verdict::Broken(error) => error.clone(),
            _ => continue,
        };
        *counts.entry(reason).or_insert(0) += 1;
    }
    counts
}

fn examples(outcomes: &[Outcome]) -> Vec<Value> {
    let wrong = outcomes.iter().filter_map(|outcome| match &outcome.verdict {
        Verdict::Wrong { line, found } => Some(json!({"line": line + 1, "found": found})),
        _ => None,
    });
    wrong.take(EXAMPLES).collect()
}

/// Percentiles in milliseconds; null if there are no requests.
fn latencies<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Value {
    let took = outcomes.map(|outcome| outcome.ended.saturating_sub(outcome.arrived));
    let mut sorted: Vec<Duration> = took.collect();
    sorted.sort_unstable();
    let Some(&last) = sorted.last() else {
        return Value::Null;
    };
    let milliseconds = |time: Duration| 1000.0 * time.as_secs_f64();
    // The smallest time that at least this share of all requests does not exceed.
    let at = |share: f64| {
        let rank = (share * sorted.len() as f64).ceil() as usize;
        milliseconds(sorted[rank.clamp(1, sorted.len()) - 1])
    };
    let sum: f64 = sorted.iter().map(Duration::as_secs_f64).sum();
    json!({
        "mean": 1000.0 * sum / sorted.len() as f64,
        "p50": at(0.5),
        "p90": at(0.9),
        "p99": at(0.99),
        "max": milliseconds(last),
    })
}

/// The resident memory in MB: at the start, after a minute, at the end, and the maximum.
fn memory(resident: &[u64]) -> Value {
    let megabytes = |bytes: Option<&u64>| bytes.map(|&bytes| bytes as f64 / 1e6);
    json!({
        "start": megabytes(resident.first()),
        "minute": megabytes(resident.get(SETTLED)),
        "end": megabytes(resident.last()),
        "most": megabytes(resident.iter().max()),
    })
}
