//! Ticks at round numbers.

/// A position on an axis and its label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

/// Allowed distances between ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// 1, 2 or 5 times any power of ten.
    Any,
    /// Like [`Steps::Any`], but at least 1.
    Whole,
}

/// Evenly spaced ticks from `low` to `high`, about `most` at most.
pub(super) fn linear(low: f64, high: f64, most: usize, steps: Steps) -> Vec<Tick> {
    let rough = (high - low) / most.max(1) as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0);
    let step = match steps {
        Steps::Any => factor * power,
        Steps::Whole => (factor * power).max(1.0),
    };
    // Tolerates rounding errors of limits that are ticks themselves.
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    let count = (last - first).max(-1.0) as usize + 1;
    (0..count)
        .map(|i| {
            let value = (first + i as f64) * step;
            Tick { value, label: label(value, step, high.abs().max(low.abs())) }
        })
        .collect()
}

/// Ticks of a logarithmic axis between two positive limits, about `most` at most: powers of ten, with
/// multiples in between if there is room, or evenly spaced ticks on a short axis.
pub(super) fn logarithmic(low: f64, high: f64, most: usize) -> Vec<Tick> {
    const MULTIPLES: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let most = most.max(2);
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let values = |multiples: &[f64], stride: i32| -> Vec<f64> {
        powers
            .clone()
            .filter(|power| power % stride == 0)
            .flat_map(|power| multiples.iter().map(move |m| m * 10f64.powi(power)))
            .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
            .collect()
    };
    let candidates = MULTIPLES
        .iter()
        .map(|multiples| values(multiples, 1))
        .chain((2..).take(300).map(|stride| values(&[1.0], stride)));
    let fitting = candidates.into_iter().find(|values| values.len() <= most);
    match fitting {
        Some(values) if values.len() > 2 => {
            values.into_iter().map(|value| Tick { value, label: label(value, value, value) }).collect()
        }
        _ => linear(low, high, most, Steps::Any),
    }
}

/// Formats `value` with as many decimals as `step` needs; uses k and M if all labels allow it.
fn label(value: f64, step: f64, largest: f64) -> String {
    let is_multiple = |of: f64| (step / of).round() >= 1.0 && (step / of).fract().abs() < 1e-6;
    let digits = if value.abs() < step * 1e-6 {
        "0".to_owned()
    } else if step < 0.99e-4 || largest >= 1e10 {
        scientific(value)
    } else if largest >= 1e7 && is_multiple(1e6) {
        format!("{}M", value.abs() / 1e6)
    } else if largest >= 1e4 && is_multiple(1e3) {
        format!("{}k", value.abs() / 1e3)
    } else {
        let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
        format!("{:.decimals$}", value.abs())
    };
    if value < 0.0 && digits != "0" { format!("−{digits}") } else { digits }
}

/// Scientific notation such as 2.5e−6, with at most two decimals.
fn scientific(value: f64) -> String {
    let text = format!("{:.2e}", value.abs());
    match text.split_once('e') {
        Some((digits, power)) => {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e{}", power.replace('-', "−"))
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| &*tick.label).collect()
    }

    fn line(low: f64, high: f64, most: usize) -> Vec<String> {
        let ticks = linear(low, high, most, Steps::Any);
        labels(&ticks).into_iter().map(String::from).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(line(0.0, 10.0, 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(line(-1.0, 1.0, 4), ["−1.0", "−0.5", "0", "0.5", "1.0"]);
        assert_eq!(line(0.93, 2.2, 3), ["1.0", "1.5", "2.0"]);
        assert_eq!(line(0.0, 0.3, 3), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(line(0.0, 6000.0, 6)[6], "6000");
        assert_eq!(line(0.0, 30_000.0, 3), ["0", "10k", "20k", "30k"]);
        assert_eq!(line(0.0, 3e7, 3), ["0", "10M", "20M", "30M"]);
        assert_eq!(line(0.0, 6e-6, 3), ["0", "2e−6", "4e−6", "6e−6"]);
        assert_eq!(line(0.0, 4e-4, 4), ["0", "0.0001", "0.0002", "0.0003", "0.0004"]);
    }

    #[test]
    fn integer_axes_have_no_fractional_ticks() {
        assert_eq!(labels(&linear(0.0, 2.0, 9, Steps::Whole)), ["0", "1", "2"]);
        assert_eq!(labels(&linear(-0.5, 0.5, 9, Steps::Whole)), ["0"]);
    }

    #[test]
    fn empty_ranges_have_no_ticks() {
        assert_eq!(linear(1.0, 1.0, 5, Steps::Any), []);
        assert_eq!(linear(2.0, 1.0, 5, Steps::Any), []);
        assert_eq!(linear(f64::NAN, 1.0, 5, Steps::Any), []);
        assert_eq!(linear(0.0, f64::INFINITY, 5, Steps::Any), []);
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        let log = |low, high, most| {
            let ticks = logarithmic(low, high, most);
            labels(&ticks).join(" ")
        };
        assert_eq!(log(5.0, 16_000.0, 6), "10 100 1000 10k");
        assert_eq!(log(0.9, 100.0, 9), "1 2 5 10 20 50 100");
        assert_eq!(log(0.001, 1.0, 5), "0.001 0.01 0.1 1");
        assert_eq!(log(1e-6, 1.0, 4), "1e−6 0.0001 0.01 1");
        assert_eq!(log(3.2, 4.1, 5), "3.2 3.4 3.6 3.8 4.0");
    }
}
