use std::collections::BTreeMap;

use attentive_config::{SpecialNames, TokenizerConfig, TokenizerKind, Vocabulary};
use serde_json::{Value, json};

use super::*;
use crate::learn::{Masks, learn};

const TEXTS: [&str; 4] = [
    "the cat sees the dog in the garden, and the dog sees the cat.",
    "singing birds and sleeping cats are in the small gardens of small houses",
    "a small bird sings; the dogs sing (in the garden) of the house!",
    "Häuser, Gärten und Vögel",
];

fn learned(kind: TokenizerKind) -> Tokenizer {
    let config =
        TokenizerConfig { kind, vocab_size: 90, vocabulary: Vocabulary::Shared, ..Default::default() };
    let texts = TEXTS.map(str::to_owned);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    learn(&config, Masks::Without, &texts, &texts).unwrap().tgt().clone()
}

fn sampling(kind: TokenizerKind) -> SubwordSampling {
    match kind {
        TokenizerKind::Bpe => SubwordSampling::BpeDropout(0.3),
        _ => SubwordSampling::UnigramAlpha(0.3),
    }
}

#[test]
fn samples_differ_but_spell_the_same_text() {
    for kind in [TokenizerKind::Bpe, TokenizerKind::Unigram] {
        let tokenizer = learned(kind);
        let sampler = SubwordSampler::new(&tokenizer, sampling(kind)).unwrap();
        let mut n_other = 0;
        for text in TEXTS {
            let special = tokenizer.special();
            let ids = special.framed(tokenizer.encode(text).unwrap());
            let mut random = Random::new(3, 0);
            let samples: Vec<Vec<TokenId>> = (0..20).map(|_| sampler.sample(&ids, &mut random)).collect();
            for sample in &samples {
                assert_eq!(tokenizer.decode(sample).unwrap(), tokenizer.decode(&ids).unwrap(), "{kind:?}");
                assert_eq!(sample.last(), ids.last(), "the end stays");
            }
            n_other += samples.iter().filter(|sample| **sample != ids).count();
            assert_eq!(sampler.sample(&ids, &mut Random::new(3, 0)), samples[0]);
        }
        assert!(n_other > 20, "{kind:?}: {n_other} of 80 samples differ");
    }
}

#[test]
fn without_dropout_merges_give_the_tokens_of_the_tokenizer() {
    let tokenizer = learned(TokenizerKind::Bpe);
    let sampler = |dropout| SubwordSampler::new(&tokenizer, SubwordSampling::BpeDropout(dropout)).unwrap();
    for text in TEXTS {
        let ids = tokenizer.encode(text).unwrap();
        let random = || Random::new(1, 1);
        assert_eq!(sampler(0.0).sample(&ids, &mut random()), ids);
        let characters = sampler(1.0).sample(&ids, &mut random());
        let text = text.replace(' ', "");
        let n_words = text.chars().count();
        assert!(characters.len() >= n_words, "{} of {n_words}", characters.len());
    }
}

/// A tokenizer with the `model` section of a file of Hugging Face's library.
fn of_model(model: Value) -> Tokenizer {
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": null, "post_processor": null, "decoder": null, "model": model,
    });
    let names = SpecialNames { unk: "<unk>".into(), ..SpecialNames::default() };
    Tokenizer::from_json(file.to_string().into_bytes(), &names).unwrap()
}

/// How often each segmentation of the tokens of `text` is drawn, in percent.
fn shares(tokenizer: &Tokenizer, sampling: SubwordSampling, text: &str) -> BTreeMap<String, f64> {
    const N: usize = 20_000;
    let sampler = SubwordSampler::new(tokenizer, sampling).unwrap();
    let ids = tokenizer.encode(text).unwrap();
    let mut random = Random::new(9, 0);
    let mut shares = BTreeMap::new();
    for _ in 0..N {
        let sample = sampler.sample(&ids, &mut random);
        let tokens: Vec<String> = sample.iter().map(|&id| tokenizer.token(id).unwrap()).collect();
        *shares.entry(tokens.join(" ")).or_insert(0.0) += 100.0 / N as f64;
    }
    shares
}

fn assert_shares(found: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for &(segmentation, share) in expected {
        let found = found[segmentation];
        assert!((found - share).abs() < 1.2, "{segmentation}: {found} %, not {share} %");
    }
}

#[test]
fn segmentations_have_the_probabilities_of_the_unigram_model() {
    let (one, two, three) = (0.5_f64, 0.2_f64, 0.05_f64);
    let vocab = json!([
        ["<unk>", 0.0],
        ["<s>", 0.0],
        ["</s>", 0.0],
        ["<pad>", 0.0],
        ["a", one.ln()],
        ["aa", two.ln()],
        ["aaa", three.ln()],
    ]);
    for sums in [json!("f32"), Value::Null] {
        let tokenizer = of_model(json!({"type": "Unigram", "unk_id": 0, "vocab": vocab, "sums": sums}));
        for alpha in [1.0, 0.5] {
            let weights = [
                ("a a a", one.powi(3).powf(alpha)),
                ("a aa", (one * two).powf(alpha)),
                ("aa a", (one * two).powf(alpha)),
                ("aaa", three.powf(alpha)),
            ];
            let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
            let expected = weights.map(|(text, weight)| (text, 100.0 * weight / total));
            let found = shares(&tokenizer, SubwordSampling::UnigramAlpha(alpha), "aaa");
            assert_shares(&found, &expected);
        }
    }
}

#[test]
fn each_merge_is_left_out_with_the_probability_of_the_dropout() {
    let vocab =
        json!({"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3, "a": 4, "b": 5, "c": 6, "ab": 7, "abc": 8});
    // In the first step, only `a b` can be merged; in the second, only `ab c`.
    for merges in [json!([["a", "b"], ["ab", "c"]]), json!(["a b", "ab c"])] {
        let model = json!({"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": merges});
        let tokenizer = of_model(model);
        let found = shares(&tokenizer, SubwordSampling::BpeDropout(0.2), "abc");
        assert_shares(&found, &[("a b c", 20.0), ("ab c", 16.0), ("abc", 64.0)]);
    }
}

#[test]
fn parts_of_words_may_be_marked_in_other_ways() {
    let special = [("<unk>", 0), ("<s>", 1), ("</s>", 2), ("<pad>", 3)];
    let vocab = |tokens: &[&str]| -> Value {
        let tokens = tokens.iter().map(|token| token.to_string()).zip(4..);
        let special = special.iter().map(|&(token, id)| (token.to_owned(), id));
        special.chain(tokens).map(|(token, id)| (token, json!(id))).collect::<serde_json::Map<_, _>>().into()
    };
    let prefix = of_model(json!({
        "type": "BPE", "unk_token": "<unk>", "continuing_subword_prefix": "##",
        "vocab": vocab(&["a", "##b", "##c", "##bc", "abc"]), "merges": ["##b ##c", "a ##bc"],
    }));
    let found = shares(&prefix, SubwordSampling::BpeDropout(0.2), "abc");
    assert_shares(&found, &[("a ##b ##c", 20.0), ("a ##bc", 16.0), ("abc", 64.0)]);
    let suffix = of_model(json!({
        "type": "BPE", "unk_token": "<unk>", "end_of_word_suffix": "</w>",
        "vocab": vocab(&["a", "b", "c</w>", "ab", "abc</w>"]), "merges": ["a b", "ab c</w>"],
    }));
    let found = shares(&suffix, SubwordSampling::BpeDropout(0.2), "abc");
    assert_shares(&found, &[("a b c</w>", 20.0), ("ab c</w>", 16.0), ("abc</w>", 64.0)]);
}

#[test]
fn tokenizers_without_the_method_are_refused() {
    let refused = |kind, sampling| SubwordSampler::new(&learned(kind), sampling).is_err();
    assert!(refused(TokenizerKind::Unigram, SubwordSampling::BpeDropout(0.1)));
    assert!(refused(TokenizerKind::Bpe, SubwordSampling::UnigramAlpha(0.1)));
    assert!(refused(TokenizerKind::Word, SubwordSampling::BpeDropout(0.1)));
}
