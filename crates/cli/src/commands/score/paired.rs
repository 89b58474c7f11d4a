//! Comparison of systems with a baseline.

use std::num::NonZeroUsize;

use attentive_base::count::count;
use attentive_metrics::{
    Bootstrap, Difference, Estimate, Measure, Randomization, SIGNIFICANCE_LEVEL, Segments,
};
use serde::Serialize;

use crate::table::aligned;

/// A paired test with its options. Intervals come from the bootstrap in either case.
#[derive(Clone, Copy)]
pub(super) enum PairedTest {
    Bootstrap(Bootstrap),
    Randomization(Bootstrap, Randomization),
}

impl PairedTest {
    fn bootstrap(&self) -> &Bootstrap {
        match self {
            Self::Bootstrap(bootstrap) | Self::Randomization(bootstrap, _) => bootstrap,
        }
    }

    fn difference(&self, baseline: &Segments<Measure>, system: &Segments<Measure>) -> (Estimate, Difference) {
        let paired = self.bootstrap().paired(baseline, system);
        let p_value = match self {
            Self::Bootstrap(_) => paired.difference.p_value,
            Self::Randomization(_, randomization) => randomization.p_value(baseline, system),
        };
        let difference = Difference { p_value, ..paired.difference };
        (paired.system, difference)
    }

    /// The settings in sacreBLEU's signatures.
    fn settings(&self) -> Vec<(&'static str, u64)> {
        let count = |n: NonZeroUsize| n.get() as u64;
        let bootstrap = self.bootstrap();
        let mut settings = vec![("bs", count(bootstrap.resamples))];
        if let Self::Randomization(_, randomization) = self {
            settings.push(("ar", count(randomization.trials)));
        }
        settings.push(("seed", bootstrap.seed));
        settings
    }

    fn description(&self) -> String {
        match self {
            Self::Bootstrap(bootstrap) => {
                let resamples = count(bootstrap.resamples.get(), "resample");
                format!("paired bootstrap with {resamples}")
            }
            Self::Randomization(_, randomization) => {
                let trials = count(randomization.trials.get(), "trial");
                format!("paired approximate randomization with {trials}")
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Bootstrap(_) => "bootstrap",
            Self::Randomization(..) => "randomization",
        }
    }
}

/// Systems under several metrics, compared with the first.
#[derive(Serialize)]
pub(super) struct SystemComparison {
    test: &'static str,
    resamples: NonZeroUsize,
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<NonZeroUsize>,
    seed: u64,
    baseline: String,
    metrics: Vec<UnderMetric>,
    #[serde(skip)]
    description: String,
}

/// All systems under one metric, the baseline first.
#[derive(Serialize)]
struct UnderMetric {
    name: String,
    signature: String,
    systems: Vec<System>,
}

/// A system under one metric.
#[derive(Serialize)]
struct System {
    system: String,
    #[serde(flatten)]
    score: Estimate,
    /// `None` for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
}

impl SystemComparison {
    /// Scores `systems`, which are names with translations, and tests the difference between each of them and
    /// the first.
    pub(super) fn new(
        measures: &[Measure],
        systems: &[(String, Vec<String>)],
        references: &[Vec<String>],
        test: PairedTest,
    ) -> Self {
        let trials = match test {
            PairedTest::Bootstrap(_) => None,
            PairedTest::Randomization(_, randomization) => Some(randomization.trials),
        };
        let metrics = measures.iter();
        Self {
            test: test.name(),
            resamples: test.bootstrap().resamples,
            trials,
            seed: test.bootstrap().seed,
            baseline: systems[0].0.clone(),
            metrics: metrics.map(|&measure| UnderMetric::new(measure, systems, references, test)).collect(),
            description: test.description(),
        }
    }

    /// One table for each metric, and notes.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for metric in &self.metrics {
            lines.push(format!("{}|{}", metric.name, metric.signature));
            lines.extend(metric.table());
            lines.push(String::new());
        }
        lines.push(format!("baseline: {}", self.baseline));
        lines.push(format!("* p < {SIGNIFICANCE_LEVEL}, {}", self.description));
        lines
    }
}

impl UnderMetric {
    fn new(
        measure: Measure,
        systems: &[(String, Vec<String>)],
        references: &[Vec<String>],
        test: PairedTest,
    ) -> Self {
        let segments = |lines: &[String]| Segments::new(measure, lines, references);
        let baseline = segments(&systems[0].1);
        let score = baseline.score().signed(&test.settings());
        let first = System {
            system: systems[0].0.clone(),
            score: test.bootstrap().estimate(&baseline),
            difference: None,
        };
        let others = systems[1..].iter().map(|(name, lines)| {
            let (score, difference) = test.difference(&baseline, &segments(lines));
            System { system: name.clone(), score, difference: Some(difference) }
        });
        Self {
            name: score.name,
            signature: score.signature,
            systems: [first].into_iter().chain(others).collect(),
        }
    }

    fn table(&self) -> Vec<String> {
        let title = ["system", &self.name, "95 % interval", "difference", "95 % interval", "p", ""];
        let mut rows = vec![title.map(String::from).to_vec()];
        rows.extend(self.systems.iter().map(System::row));
        let lines = aligned(&rows);
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }
}

impl System {
    fn row(&self) -> Vec<String> {
        let Estimate { value, interval } = &self.score;
        let mut row = vec![self.system.clone(), format!("{value:.2}"), interval.to_string()];
        if let Some(difference) = &self.difference {
            let interval = &difference.interval;
            row.extend([
                format!("{:+.2}", difference.value),
                format!("[{:+.2}, {:+.2}]", interval.lower, interval.upper),
                format!("{:.4}", difference.p_value),
                if difference.is_significant() { "*" } else { "" }.to_owned(),
            ]);
        }
        row
    }
}
