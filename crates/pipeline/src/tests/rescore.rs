//! Probabilities of given translations.

use super::*;

#[test]
fn scores_are_those_of_an_inspection() {
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        let src = ["a dog runs", "two cats", "the green field and a dog"];
        let tgt = ["two cats", "", "a dog barks over the field"];
        let found = pipeline.rescore(1, &src, &tgt).unwrap();
        for ((src, tgt), found) in src.iter().zip(tgt).zip(&found) {
            let tgt = if tgt.is_empty() { " " } else { tgt };
            let inspection = pipeline.inspect(src, Some(tgt)).unwrap();
            assert_eq!(found.token_log_probs.len(), inspection.written.len());
            assert_eq!(found.tokens.len(), inspection.written.len());
            for (log_prob, written) in found.token_log_probs.iter().zip(&inspection.written) {
                assert!((log_prob - written.probability.ln()).abs() < 1e-4);
            }
            let sum: f64 = found.token_log_probs.iter().sum();
            assert_eq!(found.log_prob, sum);
        }
        // Each pair alone gives the same bits.
        for (number, together) in found.iter().enumerate() {
            let alone = pipeline.rescore(1, &src[number..=number], &tgt[number..=number]);
            assert_eq!(alone.unwrap().first(), Some(together));
        }
    }
}

#[test]
fn what_cannot_be_scored_causes_a_warning() {
    let pipeline = untrained();
    let long = "cats ".repeat(40);
    let found = pipeline.rescore(5, &["", "a dog", "a dog"], &["a", long.as_str(), &long[..5 * 23]]).unwrap();
    assert!(found[0].log_prob.is_nan() && found[0].tokens.is_empty());
    assert_eq!(found[0].warnings[0].line, Some(5));
    assert_eq!(found[1].tokens.len(), 24);
    assert!(found[1].warnings[0].to_string().starts_with("line 6: too long for the model"));
    assert_eq!(found[2].tokens.len(), 24);
    assert!(found[2].warnings.is_empty());
    let error = pipeline.rescore(1, &["a"], &[]).unwrap_err();
    assert!(error.to_string().contains("1 sources, but 0 translations"));
    let damaged = super::pipeline(Sample::of(Family::Transformer).damaged("src.embedding.weight", 0));
    let error = damaged.rescore(1, &["a"], &["a"]).unwrap_err();
    assert!(error.to_string().contains("NaN or infinite"), "{error}");
}
