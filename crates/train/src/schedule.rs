//! The learning rate at each update.

use std::f64::consts::PI;

use attentive_base::error::{Error, Result};
use attentive_config::{Config, ScheduleConfig, ScheduleKind};
use serde::{Deserialize, Serialize};

/// The highest learning rate of `noam` below which there is a warning.
const MIN_NOAM_PEAK: f64 = 1e-5;

/// The learning rate as a function of the update and, for `plateau`, of the validations so far.
///
/// With peak p, lowest factor m, update s from 1, w warm-up updates, c updates of cool-down, end e and the
/// linear warm-up u(s) = min(1, s/w):
///
/// | kind | learning rate |
/// |---|---|
/// | constant | p · u(s) |
/// | noam | p · d_model^-½ · min(s^-½, s · w^-1½) (Vaswani et al. 2017, equation 3) |
/// | inverse_sqrt | p · u(s) up to w, then p · √(w/s): `noam` scaled to reach p, as in fairseq and Marian |
/// | cosine | p · u(s) up to w, then p · (m + (1 − m) · ½(1 + cos(π(s − w)/(e − w)))), m · p from update e on (Loshchilov and Hutter 2017, equation 5, one period) |
/// | linear | p · u(s) up to w, then p · (m + (1 − m) · (e − s)/(e − w)), m · p from update e on |
/// | wsd | p · u(s) up to update e − c, then p · (m + (1 − m) · (e − s)/c), m · p from update e on (Hägele et al. 2024, section 3) |
/// | plateau | p · u(s) · f, with f from [`Plateau::observe`] (the idea of PyTorch's `ReduceLROnPlateau`) |
#[derive(Clone, Debug)]
pub struct Schedule {
    config: ScheduleConfig,
    peak: f64,
    d_model: usize,
    end: u64,
}

/// The state of `plateau`, which checkpoints store for exact resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plateau {
    /// The lowest validation loss so far, if any.
    pub best: Option<f64>,
    /// The number of validations since `best` or since the last reduction of the learning rate.
    pub bad: u64,
    /// The current factor of the learning rate, at most 1.
    pub factor: f64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { best: None, bad: 0, factor: 1.0 }
    }
}

impl Plateau {
    /// Records a validation: after `plateau_patience` of them in a row without a lower loss, the factor is
    /// multiplied by `plateau_factor`, down to `min_factor`. A NaN loss counts as no improvement.
    pub fn observe(&mut self, config: &ScheduleConfig, validation_loss: f64) {
        if validation_loss < self.best.unwrap_or(f64::INFINITY) {
            self.best = Some(validation_loss);
            self.bad = 0;
            return;
        }
        self.bad += 1;
        if self.bad >= config.plateau_patience {
            self.bad = 0;
            self.factor = (self.factor * config.plateau_factor).max(config.min_factor);
        }
    }
}

impl Schedule {
    /// Creates the schedule of a run.
    pub fn of(config: &Config) -> Self {
        let Config { model, train, .. } = config;
        let peak = train.optimizer.learning_rate;
        Self::new(&train.schedule, peak, model.d_model, train.max_steps)
    }

    /// Returns warnings about learning rates with which a run with this `config` learns little.
    pub fn warnings(config: &Config) -> Vec<String> {
        let warnings = [Self::unfinished_warmup(config), Self::low_noam(config)];
        warnings.into_iter().flatten().collect()
    }

    /// A warning if the run ends before the learning rate has risen to its peak.
    fn unfinished_warmup(config: &Config) -> Option<String> {
        let (steps, warmup) = (config.train.max_steps, config.train.schedule.warmup_steps);
        (steps <= warmup).then(|| {
            let reached = 100.0 * steps as f64 / warmup.max(1) as f64;
            let tenth = (steps / 10).max(1);
            format!(
                "`train.schedule.warmup_steps` = {warmup} is not below `train.max_steps` = {steps}: the \
                 learning rate reaches only {reached:.0} % of its peak, so the model learns little; for a \
                 run of this length, set it to about {tenth}"
            )
        })
    }

    /// A warning if the factor of `noam` is a learning rate by mistake, so that the real one is hardly
    /// above 0.
    fn low_noam(config: &Config) -> Option<String> {
        let (schedule, factor) = (&config.train.schedule, config.train.optimizer.learning_rate);
        let peak = Self::of(config).learning_rate(schedule.warmup_steps.max(1), &Plateau::default());
        (schedule.kind == ScheduleKind::Noam && peak < MIN_NOAM_PEAK).then(|| {
            format!(
                "the learning rate never exceeds {peak:.1e}, so the model learns next to nothing: with \
                 `train.schedule.kind` = `noam`, `train.optimizer.learning_rate` = {factor} is a factor, not \
                 the highest rate; with `train.optimizer.learning_rate = 1.0`, the highest rate is {:.1e}",
                peak / factor
            )
        })
    }

    /// Creates a schedule with the given `peak` (for `noam`, a factor); `cosine`, `linear` and `wsd` end at
    /// `max_steps` unless configured otherwise.
    pub fn new(config: &ScheduleConfig, peak: f64, d_model: usize, max_steps: u64) -> Self {
        let end = if config.decay_steps == 0 { max_steps } else { config.decay_steps };
        Self { config: config.clone(), peak, d_model, end }
    }

    /// Refuses to go on after update `step` of a run that began with `stored` if the learning rate would jump:
    /// `wsd` has begun to fall, or would have with `config`, and the fall is another one.
    ///
    /// # Errors
    /// [`Error::Config`] that names `train.max_steps` or `train.schedule.cooldown_steps`.
    pub fn check_resumed(stored: &Config, config: &Config, step: u64) -> Result<()> {
        let [before, now] = [stored, config].map(Self::of);
        let [fell, falls] = [&before, &now].map(|schedule| step > schedule.cooldown());
        let is_same = before.end == now.end && before.cooldown() == now.cooldown();
        if before.config.kind != ScheduleKind::Wsd || is_same || !(fell || falls) {
            return Ok(());
        }
        let (key, [ours, theirs]) = if before.end == now.end {
            let steps = [&before, &now].map(|schedule| schedule.config.cooldown_steps);
            ("train.schedule.cooldown_steps", steps)
        } else {
            ("train.max_steps", [before.end, now.end])
        };
        let (reason, hint) = if fell {
            let reason =
                format!("since the learning rate has been falling since update {}", before.cooldown() + 1);
            (reason, "to train further, start a new run with `model.from`")
        } else {
            let reason =
                format!("since otherwise the learning rate would have begun to fall before update {step}");
            (reason, "choose a later end, or a shorter fall")
        };
        let expected = format!("{ours}, as before, {reason}");
        Err(Error::Config { key: key.into(), expected, found: theirs.to_string(), hint: Some(hint.into()) })
    }

    /// Returns the learning rate of update `step`, counted from 1.
    ///
    /// # Panics
    /// If `step` is 0.
    pub fn learning_rate(&self, step: u64, plateau: &Plateau) -> f64 {
        assert!(step > 0, "updates are counted from 1, found {step}");
        let (s, w) = (step as f64, self.config.warmup_steps as f64);
        if self.config.kind == ScheduleKind::Noam {
            return self.peak * (self.d_model as f64).powf(-0.5) * s.powf(-0.5).min(s * w.powf(-1.5));
        }
        let warming_up = step < self.config.warmup_steps;
        let warmup = if warming_up { s / w } else { 1.0 };
        let decay = match self.config.kind {
            ScheduleKind::Plateau => plateau.factor,
            ScheduleKind::InverseSqrt if !warming_up => (w / s).sqrt(),
            ScheduleKind::Cosine if !warming_up => {
                self.fall(self.config.warmup_steps, step, |progress| 0.5 * (1.0 + (PI * progress).cos()))
            }
            ScheduleKind::Linear if !warming_up => {
                self.fall(self.config.warmup_steps, step, |progress| 1.0 - progress)
            }
            ScheduleKind::Wsd if step > self.cooldown() => {
                self.fall(self.cooldown(), step, |progress| 1.0 - progress)
            }
            _ => 1.0,
        };
        self.peak * warmup * decay
    }

    /// The last update of `wsd` before its cool-down.
    fn cooldown(&self) -> u64 {
        let steps = match self.config.cooldown_steps {
            0 => (self.end / 5).max(1),
            steps => steps,
        };
        self.end - steps.min(self.end - self.config.warmup_steps.min(self.end))
    }

    /// The factor at update `step`, which falls along `curve` from 1 after update `start` to `min_factor` at
    /// the end. `curve` maps the progress from 0 to 1 to a factor from 1 to 0.
    fn fall(&self, start: u64, step: u64, curve: impl Fn(f64) -> f64) -> f64 {
        let min_factor = self.config.min_factor;
        if step >= self.end {
            return min_factor;
        }
        let progress = (step - start) as f64 / (self.end - start) as f64;
        min_factor + (1.0 - min_factor) * curve(progress)
    }
}

#[cfg(test)]
mod tests {
    use attentive_config::{Config, ScheduleConfig, ScheduleKind};

    use super::{Plateau, Schedule};

    fn schedule(kind: ScheduleKind, warmup_steps: u64) -> Schedule {
        let config = ScheduleConfig { kind, warmup_steps, min_factor: 0.1, ..ScheduleConfig::default() };
        Schedule::new(&config, 0.004, 256, 300)
    }

    #[track_caller]
    fn assert_rates(schedule: &Schedule, expected: &[(u64, f64)]) {
        for &(step, rate) in expected {
            let found = schedule.learning_rate(step, &Plateau::default());
            assert!((found - rate).abs() < 1e-12, "step {step}: expected {rate}, found {found}");
        }
    }

    #[test]
    fn constant_warms_up_and_stays() {
        assert_rates(
            &schedule(ScheduleKind::Constant, 100),
            &[(1, 4e-5), (50, 2e-3), (100, 4e-3), (10_000, 4e-3)],
        );
        assert_rates(&schedule(ScheduleKind::Constant, 0), &[(1, 4e-3)]);
    }

    #[test]
    fn noam_peaks_at_the_end_of_warm_up() {
        // 0.004 / √256 = 0.00025, times 1/√100 at the peak.
        let noam = schedule(ScheduleKind::Noam, 100);
        assert_rates(&noam, &[(1, 2.5e-7), (50, 1.25e-5), (100, 2.5e-5), (400, 1.25e-5)]);
        let rate = |step| noam.learning_rate(step, &Plateau::default());
        assert!(rate(99) < rate(100) && rate(101) < rate(100));
    }

    #[test]
    fn a_factor_of_noam_that_is_a_learning_rate_is_warned_of() {
        let warnings = |lines: &str| {
            let text = format!("data.train = {{ src = 'a', tgt = 'b' }}\n{lines}");
            let config = Config::parse(&text, "c.toml".as_ref(), &[]).expect("a configuration");
            Schedule::warnings(&config)
        };
        // 0.001 / √256 / √4000
        let noam = "train.schedule = { kind = 'noam', warmup_steps = 4000 }";
        let [warning] = &warnings(noam)[..] else {
            panic!("one warning");
        };
        for part in [
            "never exceeds 9.9e-7",
            "`train.optimizer.learning_rate` = 0.001 is a factor",
            "`train.optimizer.learning_rate = 1.0`, the highest rate is 9.9e-4",
        ] {
            assert!(warning.contains(part), "{warning}");
        }
        let paper = format!("{noam}\ntrain.optimizer.learning_rate = 1.0");
        assert_eq!(warnings(&paper), [""; 0]);
        let low = "train.optimizer.learning_rate = 1e-6";
        assert_eq!(warnings(low), [""; 0]);
    }

    #[test]
    fn inverse_sqrt_halves_after_four_times_the_warm_up() {
        let expected = [(1, 4e-5), (25, 1e-3), (100, 4e-3), (400, 2e-3), (10_000, 4e-4)];
        assert_rates(&schedule(ScheduleKind::InverseSqrt, 100), &expected);
    }

    #[test]
    fn cosine_ends_at_its_minimum() {
        // Halfway between 100 and 300 the factor is the mean of 1 and 0.1; a quarter in, 0.1 + 0.9·(1 +
        // √½)/2.
        let quarter = 0.004 * (0.1 + 0.45 * (1.0 + 0.5_f64.sqrt()));
        let expected = [(50, 2e-3), (100, 4e-3), (150, quarter), (200, 2.2e-3), (300, 4e-4), (999, 4e-4)];
        assert_rates(&schedule(ScheduleKind::Cosine, 100), &expected);
        let own_end = ScheduleConfig { decay_steps: 600, ..schedule(ScheduleKind::Cosine, 0).config };
        assert_rates(&Schedule::new(&own_end, 0.004, 256, 300), &[(300, 2.2e-3), (600, 4e-4)]);
    }

    #[test]
    fn linear_falls_evenly_to_its_minimum() {
        // From 0.004 after 100 updates to a tenth of it after 300.
        let expected = [(50, 2e-3), (100, 4e-3), (150, 3.1e-3), (200, 2.2e-3), (300, 4e-4), (999, 4e-4)];
        assert_rates(&schedule(ScheduleKind::Linear, 100), &expected);
        let to_zero = ScheduleConfig { min_factor: 0.0, ..schedule(ScheduleKind::Linear, 0).config };
        assert_rates(&Schedule::new(&to_zero, 0.004, 256, 4), &[(1, 3e-3), (3, 1e-3), (4, 0.0)]);
    }

    #[test]
    fn wsd_stays_and_falls_at_its_end() {
        // The last 60 of 300 updates are the cool-down, a fifth, unless its length is set.
        let wsd = schedule(ScheduleKind::Wsd, 100);
        assert_rates(&wsd, &[(50, 2e-3), (100, 4e-3), (240, 4e-3), (270, 2.2e-3), (300, 4e-4), (999, 4e-4)]);
        let longer = ScheduleConfig { cooldown_steps: 200, ..wsd.config.clone() };
        let longer = Schedule::new(&longer, 0.004, 256, 300);
        assert_rates(&longer, &[(100, 4e-3), (200, 2.2e-3), (300, 4e-4)]);
        // The cool-down begins after the warm-up, however short the run is.
        let short = Schedule::new(&wsd.config, 0.004, 256, 110);
        assert_rates(&short, &[(50, 2e-3), (100, 4e-3), (110, 4e-4)]);
    }

    #[test]
    fn plateau_lowers_after_its_patience_down_to_its_minimum() {
        let schedule = schedule(ScheduleKind::Plateau, 100);
        let mut plateau = Plateau::default();
        let mut rates = Vec::new();
        for loss in [3.0, 2.0, 2.0, 2.5, 1.9, f64::NAN, 1.9, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0] {
            plateau.observe(&schedule.config, loss);
            rates.push(schedule.learning_rate(100, &plateau) / 0.004);
        }
        assert_eq!(rates, [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.1, 0.1, 0.1]);
        assert_eq!(plateau.best, Some(1.9));
        assert_eq!(schedule.learning_rate(50, &Plateau::default()), 0.002);
    }

    #[test]
    fn a_restored_plateau_continues_unchanged() {
        let schedule = schedule(ScheduleKind::Plateau, 0);
        let mut plateau = Plateau::default();
        let saved = |plateau: &Plateau| serde_json::to_string(plateau).unwrap();
        assert_eq!(serde_json::from_str::<Plateau>(&saved(&plateau)).unwrap(), plateau);
        plateau.observe(&schedule.config, 2.0);
        plateau.observe(&schedule.config, 2.5);
        let mut resumed: Plateau = serde_json::from_str(&saved(&plateau)).unwrap();
        assert_eq!(resumed, plateau);
        resumed.observe(&schedule.config, 2.5);
        assert_eq!(resumed.factor, 0.5);
    }
}
