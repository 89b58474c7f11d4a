use super::*;

fn refused(text: &str) -> Option<Error> {
    let limits: Limits = toml::from_str(text).unwrap();
    limits.check().err()
}

/// The error for these `[limits]`, if there is one.
fn problem(text: &str) -> Option<String> {
    refused(text).map(|error| error.to_string())
}

#[test]
fn limits_are_in_range() {
    for fine in ["", "timeout = 0.5", "drain_timeout = 0", "body = 536870912"] {
        assert_eq!(problem(fine), None, "{fine}");
    }
    let names = [
        "queue",
        "batch",
        "body",
        "bodies",
        "characters",
        "in_progress",
        "texts",
        "tokens",
        "phrases",
        "stop",
        "new_tokens",
        "alternatives",
        "beam_width",
        "connections",
        "connections_per_address",
    ];
    for name in names {
        for value in ["0", "9223372036854775807"] {
            let problem = problem(&format!("{name} = {value}")).unwrap();
            assert!(problem.contains(&format!("`{name}`")), "{name} {value}: {problem}");
        }
    }
    for name in ["timeout", "head_timeout", "stall_timeout", "drain_timeout"] {
        for value in ["nan", "inf", "-inf", "-1.0", "1e300"] {
            let text = format!("{name} = {value}");
            let problem = toml::from_str::<Limits>(&text).unwrap_err().to_string();
            assert!(problem.contains(&text), "{problem}");
            assert!(problem.contains("use a number of seconds"), "{problem}");
        }
    }
    for text in ["timeout = 0", "head_timeout = 0", "stall_timeout = 1e-12"] {
        let refused = refused(text).unwrap();
        assert!(refused.hint().unwrap().contains("positive"), "{refused}");
    }
    assert_eq!(problem("drain_timeout = 0"), None);
    assert!(problem("body = 2000\nbodies = 1000").is_some());
    let too_few = problem("in_progress = 499999").unwrap();
    assert!(too_few.contains("`in_progress`"), "{too_few}");
    // A configuration that sets only one of the two keys is accepted.
    for fine in ["in_progress = 500000", "characters = 5000000"] {
        assert_eq!(problem(fine), None, "{fine}");
    }
}

#[test]
fn a_request_has_no_more_texts_than_the_queue_holds() {
    let most = |queue| {
        let limits = Limits { queue, ..Limits::default() };
        limits.check().unwrap();
        limits.most_texts()
    };
    assert_eq!([64, 2048, 4096].map(most), [64, 2048, 2048]);
    for fine in ["queue = 64\ntexts = 64", "texts = 4096", "queue = 64"] {
        assert_eq!(problem(fine), None, "{fine}");
    }
    for (text, words) in [
        ("texts = 10000", "`texts` is 10000, but the limit `queue` is 4096"),
        ("queue = 64\ntexts = 65", "`texts` is 65, but the limit `queue` is 64"),
    ] {
        let problem = problem(text).unwrap();
        assert!(problem.contains(words), "{problem}");
    }
}

#[test]
fn a_time_that_must_be_positive_is_not_zero() {
    let mut limits = Limits::default();
    for seconds in [0.0, -0.0, 1e-12, -1.0, f64::NAN] {
        assert!(limits.set_timeout(seconds).is_err(), "{seconds}");
    }
    assert_eq!(limits.timeout, Limits::default().timeout);
    limits.set_timeout(1e-9).unwrap();
    assert_eq!(limits.timeout, INSTANT);
}

#[test]
fn nobody_has_everything() {
    let limits = |connections, body| Limits { connections, body, ..Limits::default() };
    assert_eq!(limits(1024, 1).share_of_connections(), 768);
    let queued = |queue, texts| Limits { queue, texts: Some(texts), ..Limits::default() };
    assert_eq!(queued(4096, 2048).share_of_queue(), 3072);
    // The largest request fits.
    assert_eq!(queued(4096, 4000).share_of_queue(), 4000);
    assert_eq!(queued(100, 100).share_of_queue(), 100);
    assert_eq!([1, 2, 3].map(most_of), [1, 2, 3]);
    assert_eq!(limits(1, 2 << 20).all_bodies(), [64 << 20, 48 << 20]);
    assert_eq!(limits(1, 100 << 20).all_bodies(), [400 << 20, 300 << 20]);
    let said = |characters, in_progress| Limits { characters, in_progress, ..Limits::default() };
    assert_eq!(said(500, None).all_characters(), [3_000_000, 2_250_000]);
    assert_eq!(said(1_000_000, None).all_characters()[0], 4_000_000);
    let said = |characters, in_progress| said(characters, Some(in_progress));
    assert_eq!(said(500, 3000).all_characters(), [3000, 2250]);
    assert_eq!(said(500, 600).all_characters(), [600, 500]);
}
