use super::*;

/// Training that needs 60 MB plus 10 kB per token, on a corpus of 3000 tokens.
fn with_budget(tokens: usize) -> Memory {
    Memory {
        model: 10.0 * MB,
        activations: 1e4 * tokens.min(3000) as f64,
        data: 5.0 * MB,
        rest: 45.0 * MB,
    }
}

/// The key and message of the expected error.
fn refused(budget: usize, megabytes: f64) -> (String, String) {
    let result = with_budget(budget).check(budget, megabytes * MB, 20, with_budget);
    match result {
        Err(Error::Config {
            key,
            expected,
            found,
            ..
        }) => (key, format!("{expected}; {found}")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_largest_budget_that_fits_is_reported() {
    // A budget above the corpus's size makes no difference.
    for budget in [2001, 3000, 1_000_000] {
        let (key, message) = refused(budget, 80.0);
        assert_eq!(key, "train.batch_tokens");
        assert!(message.starts_with("at most 2000, "), "{budget}: {message}");
    }
    for budget in [20, 2000] {
        let fits = with_budget(budget).check(budget, 80.0 * MB, 20, with_budget);
        assert!(fits.is_ok(), "{budget}: {fits:?}");
    }
    let (_, message) = refused(1_000_000, 60.2);
    assert!(message.starts_with("at most 20, "), "{message}");
}

#[test]
fn without_a_fitting_budget_another_cause_is_reported() {
    let (key, message) = refused(1000, 60.1);
    assert_eq!(key, "data.max_len");
    assert!(message.contains("one of 20 tokens, which needs about 60 MB"));
    let (key, message) = refused(1000, 59.9);
    assert_eq!(key, "model");
    assert!(message.contains("60 MB for weights"), "{message}");
}
