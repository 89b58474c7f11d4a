//! Inspection of attention and predictions.

use super::*;

#[test]
fn an_inspection_shows_the_result_of_the_search() {
    let pipeline = untrained();
    let sentence = "a dog runs over the green field";
    let inspection = pipeline.inspect(sentence, None).unwrap();
    let mut best = pipeline
        .translate_with(&[sentence], &options(pipeline, 1))
        .unwrap();
    let best = best.remove(0).hypotheses.remove(0);
    let text = pipeline.tokenizers().tgt().decode(&best.tokens);
    assert_eq!(inspection.tgt[1..].join(" "), text);
    assert_eq!(inspection.src.join(" "), format!("{sentence} </s>"));
    // Teacher forcing gives the tokens the same probabilities as the search.
    let seen = inspection
        .written
        .iter()
        .take(best.tokens.len() + usize::from(best.finished));
    let log_prob: f64 = seen.map(|written| written.probability.ln()).sum();
    assert!(
        (log_prob - best.log_prob).abs() < 1e-3,
        "{log_prob} {}",
        best.log_prob
    );
    let shapes: Vec<(&str, [usize; 4])> = inspection
        .maps
        .iter()
        .map(|map| (map.name.as_str(), map.weights.dims()))
        .collect();
    let tgt = inspection.tgt.len();
    assert_eq!(
        shapes,
        [
            ("encoder.layers.0.self_attention", [1, 2, 8, 8]),
            ("decoder.layers.0.self_attention", [1, 2, tgt, tgt]),
            ("decoder.layers.0.cross_attention", [1, 2, tgt, 8]),
            ("decoder.layers.1.self_attention", [1, 2, tgt, tgt]),
            ("decoder.layers.1.cross_attention", [1, 2, tgt, 8]),
        ]
    );
}

#[test]
fn an_inspection_takes_any_target() {
    let pipeline = untrained();
    let inspect = |target: &str| pipeline.inspect("two cats", Some(target)).unwrap();
    assert_eq!(inspect("a  dog\u{7}").tgt, ["<s>", "a", "dog"]);
    assert_eq!(inspect("a  dog\u{7}").warnings.len(), 1);
    assert_eq!(inspect("  ").written[0].token, "</s>");
    assert_eq!(inspect(&"cats ".repeat(99)).tgt.len(), 24);
    for blank in ["", " \t", "\u{1}"] {
        assert_eq!(
            pipeline
                .inspect(blank, Some("a dog"))
                .unwrap_err()
                .exit_code(),
            2
        );
    }
}
