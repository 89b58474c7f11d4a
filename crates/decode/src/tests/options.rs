//! Tests of the options: what is refused, and how they are written.

use attentive_base::random::Random;
use attentive_config::{DecodeConfig, EarlyStopping, LengthPenaltyFormula};
use serde_json::{Value, json};

use super::toy::options;
use crate::{Sampling, SearchOptions, Strategy};

#[test]
fn invalid_options_are_refused() {
    let fits = options(5, LengthPenaltyFormula::Gnmt, 0.6);
    assert!(fits.check().is_ok());
    let beam = |width, n_best| Strategy::Beam { width, n_best, early_stopping: EarlyStopping::Never };
    let sample =
        |top_p, count| Strategy::Sample { sampling: Sampling { top_p, ..Sampling::default() }, count };
    let strategies = [
        beam(0, 1),
        beam(1, 1),
        beam(1, 2),
        beam(5, 6),
        beam(5, 0),
        beam(1001, 1),
        sample(2.0, 1),
        sample(1.0, 0),
        sample(1.0, 1001),
    ];
    let of_strategy = strategies.map(|strategy| SearchOptions { strategy, ..fits });
    let others = [
        SearchOptions { length_penalty: f64::NAN, ..fits },
        SearchOptions { coverage_penalty: -0.1, ..fits },
    ];
    for wrong in of_strategy.into_iter().chain(others) {
        let error = wrong.check().unwrap_err();
        let says_how = error.hint().is_some() || error.to_string().contains("expected");
        assert!(error.exit_code() == 2 && says_how, "{error}");
    }
}

#[test]
fn options_are_written_with_the_keys_of_the_configuration() {
    let written = |strategy| {
        let options = SearchOptions { strategy, ..SearchOptions::from(&DecodeConfig::default()) };
        serde_json::to_value(options).unwrap()
    };
    let rest = json!({
        "length_penalty_formula": "length",
        "length_penalty": 1.0,
        "max_new_factor": 1.5,
        "max_new_extra": 10,
        "max_new_tokens": null,
    });
    let with = |own: Value| {
        let mut all = rest.clone();
        let keys = own.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(keys);
        all
    };
    let beam = |stopping| written(Strategy::beam(4, 2, stopping));
    let keys = json!({ "beam_width": 4, "n_best": 2 });
    assert_eq!(beam(EarlyStopping::Never), with(keys));
    let keys = json!({ "beam_width": 4, "n_best": 2, "early_stopping": "always" });
    assert_eq!(beam(EarlyStopping::Always), with(keys));
    let keys = json!({ "beam_width": 1, "n_best": 1 });
    assert_eq!(written(Strategy::beam(1, 1, EarlyStopping::Always)), with(keys));
    let sample = Strategy::Sample { sampling: Sampling::default(), count: 3 };
    let sampling = json!({ "temperature": 1.0, "top_k": 0, "top_p": 1.0, "epsilon": 0.0, "seed": 0 });
    assert_eq!(written(sample), with(json!({ "n_best": 3, "sampling": sampling })));
}

#[test]
fn a_length_limit_without_a_constant_is_marians() {
    let limit = |max_new_factor, max_new_extra, src_len| {
        let decode = DecodeConfig { max_new_factor, max_new_extra, ..DecodeConfig::default() };
        SearchOptions::from(&decode).limit(src_len, 100)
    };
    for (factor, extra, src_len, expected) in [
        (2.0, 0, 5, 10),
        (1.5, 0, 5, 8),
        (1.5, 10, 5, 17),
        (1.1, 0, 10, 11),
        (0.0, 7, 5, 7),
        (3.0, 4, 50, 100),
    ] {
        assert_eq!(limit(factor, extra, src_len), expected, "{factor} · {src_len} + {extra}");
    }
}

/// The bound by which hypotheses are dropped holds at every length, whatever the penalties are.
#[test]
fn no_length_has_a_better_score_than_the_bound() {
    let mut random = Random::new(1, 0);
    for _ in 0..2000 {
        let formulas = [LengthPenaltyFormula::Gnmt, LengthPenaltyFormula::Length];
        let decode = DecodeConfig {
            length_penalty_formula: *random.choose(&formulas),
            length_penalty: 2.0 * random.uniform(),
            word_penalty: *random.choose(&[0.0, -2.0, -0.3, 0.1, 0.5, 3.0]),
            ..DecodeConfig::default()
        };
        let options = SearchOptions::from(&decode);
        let log_prob = -20.0 * random.uniform();
        let shortest = 1 + random.below(10);
        let longest = shortest + random.below(60);
        let bound = options.best_score(log_prob, shortest, longest);
        for length in shortest..=longest {
            let score = options.score(log_prob, length);
            assert!(score <= bound + 1e-9, "{options:?}: {score} at {length}, but {bound}");
        }
    }
}
