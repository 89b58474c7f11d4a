//! Inspection of attention and predictions.

use super::*;
use crate::{Inspection, InspectionTarget};

#[test]
fn the_number_of_weights_is_known_before_they_are_computed() {
    let (recurrent, blind) = (recurrent("dot"), recurrent("none"));
    let classifier = of(Family::Classifier);
    let written = untrained_language_model(TokenizerKind::Bpe, Units::Lines);
    for (pipeline, target) in [
        (untrained(), InspectionTarget::Text("a dog over the field")),
        (untrained(), InspectionTarget::Own),
        (&recurrent, InspectionTarget::Text("a dog")),
        (&blind, InspectionTarget::Own),
        (&classifier, InspectionTarget::Own),
        (&written, InspectionTarget::Own),
    ] {
        let shown = pipeline.show("a dog runs over", target).unwrap();
        let predicted = shown.weights(pipeline);
        let maps = shown.inspect(pipeline).unwrap().maps;
        let weights = maps.iter().map(|map| map.weights.values.len());
        assert_eq!(predicted, weights.sum::<usize>());
    }
}

#[test]
fn an_inspection_shows_the_result_of_the_search() {
    let pipeline = untrained();
    let sentence = "a dog runs over the green field";
    let inspection = pipeline.inspect(sentence, None).unwrap();
    let mut best = pipeline.translate_lines(&[sentence], &options(pipeline, 1)).unwrap();
    let best = best.remove(0).hypotheses.remove(0);
    let text = pipeline.tokenizers().tgt().decode(&best.tokens).unwrap();
    assert_eq!(inspection.tgt[1..].join(" "), text);
    assert_eq!(inspection.src.join(" "), format!("{sentence} </s>"));
    // Teacher forcing gives the tokens the same probabilities as the search.
    let seen = inspection.written.iter().take(best.tokens.len() + usize::from(best.finished));
    let log_prob: f64 = seen.map(|written| written.probability.ln()).sum();
    assert!((log_prob - best.log_prob).abs() < 1e-3, "{log_prob} {}", best.log_prob);
    let shapes: Vec<(&str, [usize; 4])> =
        inspection.maps.iter().map(|map| (map.name.as_str(), map.weights.shape)).collect();
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
        assert_eq!(pipeline.inspect(blank, Some("a dog")).unwrap_err().exit_code(), 2);
    }
}

/// The tokens that `inspection` shows as written.
fn written(inspection: &Inspection) -> Vec<String> {
    let written = inspection.written.iter();
    written.map(|written| written.token.clone()).collect()
}

/// Checks the alternatives to `written` where the tokens `tokens` are all that can be written.
fn check_alternatives(written: &GeneratedToken, tokens: usize) {
    let alternatives = &written.alternatives;
    assert_eq!(alternatives.len(), 8.min(tokens - 1));
    assert!(alternatives.is_sorted_by(|a, b| a.probability >= b.probability));
    let mut all: Vec<&str> = alternatives.iter().map(|other| &*other.token).collect();
    all.push(&written.token);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), alternatives.len() + 1);
    assert!(!all.contains(&"<pad>") && !all.contains(&"<s>"));
    let total: f64 = alternatives.iter().map(|other| other.probability).sum();
    assert!(total + written.probability <= 1.0 + 1e-6);
}

#[test]
fn the_alternatives_have_the_probabilities_of_their_own_inspection() {
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        let inspection = pipeline.inspect("two cats", Some("a dog")).unwrap();
        assert_eq!(written(&inspection), ["a", "dog", "</s>"]);
        // 12 words, `</s>` and `<unk>`.
        (inspection.written.iter()).for_each(|written| check_alternatives(written, 14));
        let second = &inspection.written[1];
        let others = second.alternatives.iter();
        for other in others.filter(|other| WORDS.contains(&&*other.token)) {
            let target = format!("a {}", other.token);
            let own = pipeline.inspect("two cats", Some(&target)).unwrap();
            assert!((own.written[1].probability - other.probability).abs() < 1e-6);
            let back = &own.written[1].alternatives;
            let lists_dog = back.iter().any(|one| one.token == "dog");
            assert_eq!(lists_dog, second.probability >= back[7].probability);
        }
    }
}

#[test]
fn language_models_have_alternatives() {
    for (units, ends) in [(Units::Lines, true), (Units::Stream, false)] {
        let pipeline = untrained_language_model(TokenizerKind::Word, units);
        let inspection = pipeline.inspect("Ein Hund rennt", None).unwrap();
        let tokenizer = pipeline.tokenizers().tgt();
        let ordinary = tokenizer.vocab_size() - 4;
        let expected: &[&str] = if ends { &["Ein", "Hund", "rennt", "</s>"] } else { &["Hund", "rennt"] };
        assert_eq!(written(&inspection), expected);
        for written in &inspection.written {
            check_alternatives(written, ordinary + usize::from(ends));
        }
    }
}

fn inspect_tokens(pipeline: &Pipeline, src: &str, tokens: &[String]) -> Result<Inspection> {
    pipeline.show(src, InspectionTarget::Tokens(tokens))?.inspect(pipeline)
}

#[test]
fn exact_tokens_are_inspected_as_they_are() {
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|&w| w.into()).collect() };
    let pipeline = untrained();
    let exact = inspect_tokens(pipeline, "two cats", &words(&["a", "dog"]));
    let exact = exact.unwrap();
    let of_text = pipeline.inspect("two cats", Some("a dog")).unwrap();
    assert_eq!((exact.tgt, exact.written), (of_text.tgt, of_text.written));
    let long = vec!["cats".to_owned(); 30];
    let cut = inspect_tokens(pipeline, "two cats", &long).unwrap();
    assert_eq!((cut.tgt.len(), cut.warnings.len()), (24, 1));
    for (wrong, named) in [("x", "`x`"), ("</s>", "`</s>`")] {
        let error = inspect_tokens(pipeline, "two cats", &words(&["a", wrong]));
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Data { .. }) && error.hint().is_some());
        assert!(error.to_string().contains(named), "{error}");
    }

    // Whole words for the text, single letters for what follows.
    let subwords = untrained_language_model(TokenizerKind::Bpe, Units::Lines);
    let letters = words(&["H", "u", "n", "d"]);
    let found = inspect_tokens(&subwords, "Ein", &letters).unwrap();
    let ids = subwords.tokenizers().tgt().encode("Ein").unwrap();
    let text = subwords.tokenizers().tgt().spelled(&ids);
    assert_eq!(found.tgt, [words(&["<s>"]), text, letters].concat());
    // Line breaks are kept, as in a prompt.
    let stream = untrained_language_model(TokenizerKind::Char, Units::Stream);
    let found = inspect_tokens(&stream, "d\nu", &words(&["\n"])).unwrap();
    assert_eq!(found.tgt, ["d", "\n", "u", "\n"]);
    assert_eq!(inspect_tokens(&stream, "", &words(&["d"])).unwrap().tgt, ["d"]);
    assert_eq!(inspect_tokens(&stream, "", &[]).unwrap_err().exit_code(), 2);
    let tagger = of(Family::Classifier);
    assert_eq!(inspect_tokens(&tagger, "a", &[]).unwrap_err().exit_code(), 2);
}
