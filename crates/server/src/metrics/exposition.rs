//! The text format of Prometheus.

use std::fmt::{self, Display, Write as _};
use std::time::Duration;

/// The upper bounds of the buckets of histograms, in seconds.
const BOUNDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// The kind of a metric.
#[derive(Clone, Copy, Debug)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl MetricKind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The names and values of the labels of a sample.
pub(super) type MetricLabels<'a> = &'a [(&'static str, &'a str)];

/// Metrics as text.
#[derive(Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Begins the metric `name`, whose samples follow.
    pub(super) fn metric(&mut self, kind: MetricKind, name: &'static str, help: &str) -> Samples<'_> {
        let text = &mut self.0;
        *text += &format!("# HELP {name} {help}\n# TYPE {name} {}\n", kind.name());
        Samples { text, name }
    }

    /// Adds a metric that has one sample, without labels.
    pub(super) fn single(&mut self, kind: MetricKind, name: &'static str, help: &str, value: u64) {
        self.metric(kind, name, help).add(&[], value);
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// The samples of a metric.
pub(super) struct Samples<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Samples<'_> {
    /// Adds a sample.
    pub(super) fn add(&mut self, labels: MetricLabels<'_>, value: u64) {
        self.line("", labels, value);
    }

    /// Adds the samples of a histogram.
    pub(super) fn add_histogram(&mut self, labels: MetricLabels<'_>, histogram: &Histogram) {
        let mut up_to = 0;
        let bounds = BOUNDS.iter().map(f64::to_string);
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&histogram.buckets) {
            up_to += count;
            let labels = [labels, &[("le", bound.as_str())]].concat();
            self.line("_bucket", &labels, up_to);
        }
        self.line("_sum", labels, histogram.sum);
        self.line("_count", labels, up_to);
    }

    fn line(&mut self, suffix: &str, labels: MetricLabels<'_>, value: impl Display) {
        let labels = fmt::from_fn(|f| {
            for (number, (name, value)) in labels.iter().enumerate() {
                let before = if number == 0 { '{' } else { ',' };
                write!(f, "{before}{name}=\"{}\"", escaped(value))?;
            }
            f.write_str(if labels.is_empty() { "" } else { "}" })
        });
        *self.text += &format!("{}{suffix}{labels} {value}\n", self.name);
    }
}

/// The value of a label as it stands between quotes.
fn escaped(value: &str) -> impl Display {
    fmt::from_fn(move |f| {
        value.chars().try_for_each(|c| match c {
            '\\' => f.write_str("\\\\"),
            '"' => f.write_str("\\\""),
            '\n' => f.write_str("\\n"),
            c => f.write_char(c),
        })
    })
}

/// How many durations were at most as long as each bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// The numbers of durations between two bounds.
    buckets: [u64; BOUNDS.len() + 1],
    /// The sum of all durations, in seconds.
    sum: f64,
}

impl Histogram {
    pub(super) fn record(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.buckets[BOUNDS.partition_point(|&bound| bound < seconds)] += 1;
        self.sum += seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Exposition::default();
        text.metric(MetricKind::Gauge, "jobs", "Jobs.").add(&[("model", "a\\\"\nb"), ("side", "src")], 7);
        let expected = "# HELP jobs Jobs.\n# TYPE jobs gauge\njobs{model=\"a\\\\\\\"\\nb\",side=\"src\"} 7\n";
        assert_eq!(text.into_text(), expected);
    }

    #[test]
    fn buckets_count_all_that_is_at_most_their_bound() {
        let mut histogram = Histogram::default();
        for milliseconds in [0, 5, 6, 120_000, 500_000] {
            histogram.record(Duration::from_millis(milliseconds));
        }
        let mut text = Exposition::default();
        text.metric(MetricKind::Histogram, "took", "Time.").add_histogram(&[("api", "own")], &histogram);
        let text = text.into_text();
        for line in [
            "# TYPE took histogram",
            "took_bucket{api=\"own\",le=\"0.005\"} 2",
            "took_bucket{api=\"own\",le=\"0.01\"} 3",
            "took_bucket{api=\"own\",le=\"60\"} 3",
            "took_bucket{api=\"own\",le=\"120\"} 4",
            "took_bucket{api=\"own\",le=\"+Inf\"} 5",
            "took_sum{api=\"own\"} 620.011",
            "took_count{api=\"own\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(text.lines().count(), 2 + 15 + 2);
    }
}
