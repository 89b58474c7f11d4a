//! Ensembles.

use super::*;

/// A model with other weights.
fn another(family: Family) -> Pipeline {
    let pipeline = of(family);
    for parameter in pipeline.model().parameters() {
        parameter.change(|values| values.iter_mut().for_each(|value| *value *= 1.3));
    }
    pipeline
}

#[test]
fn an_ensemble_mixes_architectures_and_scores_what_it_finds() {
    let lines = ["a dog runs over the green field", "two cats", "", "the dog"];
    let members = || [of(Family::Transformer), another(Family::Seq2seq), another(Family::Transformer)];
    let [one, two, three] = members();
    let together = one.with(two).unwrap().with(three).unwrap();
    let found = together.translate_lines(&lines, &options(&together, 2)).unwrap();
    let alone = together.translate_lines(&lines[..1], &options(&together, 1)).unwrap();
    assert_eq!(found[0], alone[0]);
    let texts: Vec<&str> = found.iter().map(|line| line.hypotheses[0].text.as_str()).collect();
    let scored = together.rescore(1, &lines, &texts).unwrap();
    let of_members = members().map(|member| member.rescore(1, &lines, &texts).unwrap());
    for line in [0, 1, 3] {
        let best = &found[line].hypotheses[0];
        for (place, log_prob) in best.token_log_probs.iter().enumerate() {
            let probabilities = of_members.iter().map(|member| member[line].token_log_probs[place].exp());
            let mean = probabilities.sum::<f64>() / 3.0;
            assert!((f64::from(*log_prob) - mean.ln()).abs() < 1e-3);
            assert!((scored[line].token_log_probs[place] - mean.ln()).abs() < 1e-9);
        }
    }
}

#[test]
fn number_types_are_those_of_all_members() {
    let converted = |pipeline: Pipeline| {
        let bf16 = pipeline.with_cache_precision(Float::Bf16).unwrap();
        bf16.into_precision(Precision::Int8).unwrap()
    };
    let members = || [of(Family::Transformer), another(Family::Transformer)];
    let [one, two] = members();
    let together = converted(one.with(two).unwrap());
    for member in together.members() {
        assert_eq!(member.engine().precision(), Precision::Int8);
        let kept = member.config().decode.cache_precision;
        assert_eq!(kept, Float::Bf16);
    }
    let [one, two] = members().map(converted);
    let before = one.with(two).unwrap();
    let lines = ["a dog runs over the green field", "two cats"];
    let [found, expected] = [together, before].map(|ensemble| {
        let options = options(&ensemble, 2);
        ensemble.translate_lines(&lines, &options).unwrap()
    });
    assert_eq!(found, expected);
}

#[test]
fn ensembles_that_do_not_match_are_refused() {
    let refused = |other: Pipeline, words: &str| {
        let error = of(Family::Transformer).with(other).unwrap_err();
        assert!(error.exit_code() == 2 && error.hint().is_some());
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(of(Family::DecoderOnly), "continues texts");
    let other_start = with("decoder_start_token = '<pad>'");
    refused(other_start, "starts or ends translations");
    let mut other = of(Family::Transformer);
    let text = [WORDS[1..].join(" ")];
    other.tokenizers = text::learn(&other.config.tokenizer, Masks::Without, &text, &text).unwrap();
    refused(other, "its source vocabulary differs from the first model's: 15 tokens, not 16");
    let mut other = of(Family::Transformer);
    let text = [["cats"; 3].join(" "), WORDS.join(" ")];
    other.tokenizers = text::learn(&other.config.tokenizer, Masks::Without, &text, &text).unwrap();
    refused(other, "token 4 is `cats`, not");
}
