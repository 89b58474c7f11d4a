//! Tagging, classification, gap filling and text vectors.

use attentive_base::batch::{Batch, Padded};
use attentive_base::body::Body;
use attentive_samples::TAGS;

use super::*;

/// A tagger whose encoder is a Transformer.
const TRANSFORMER: &str = "family = 'tagger', encoder = 'transformer'";

/// Lines of various lengths, some blank and one too long for the model.
fn lines(random: &mut Random) -> Vec<String> {
    let mut lines: Vec<String> = (0..40).map(|_| sentence(random)).collect();
    lines[4] = String::new();
    lines[7] = " \t".into();
    lines[20] = "a dog unheard of ".repeat(8);
    lines
}

#[test]
fn tags_do_not_depend_on_the_batch_and_are_as_many_as_tokens() {
    let pipeline = of(Family::Tagger);
    let lines = lines(&mut Random::new(1, 0));
    let together = pipeline.tag(11, &lines).unwrap();
    for (number, (line, tagged)) in (11..).zip(lines.iter().zip(&together)) {
        let tokens: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(tagged.tokens.as_deref().unwrap(), tokens);
        assert_eq!(tagged.tags.len(), tokens.len(), "{line}");
        assert!(tagged.tags.iter().all(|tag| TAGS.contains(&tag.as_str())));
        assert_eq!(pipeline.tag(number, &[line]).unwrap()[0], *tagged);
    }
    let warnings = together.iter().flat_map(|tagged| &tagged.warnings);
    let warnings: Vec<String> = warnings.map(Warning::to_string).collect();
    assert_eq!(warnings, ["line 31: 32 positions were read in pieces of 24, the model's maximum"]);
    assert_eq!(together[20].unknown, 16);
    let mut seen: Vec<&String> = together.iter().flat_map(|tagged| &tagged.tags).collect();
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 1, "always {seen:?}");
    // The spelling of a special token is an ordinary token.
    let special = pipeline.tag(1, &["<s> a<unk>b \u{b4}"]).unwrap();
    assert_eq!(special[0].tags.len(), 3);
    let control = &pipeline.tag(1, &["a\u{1}dog\u{7}"]).unwrap()[0];
    assert_eq!(control.tokens.as_deref().unwrap(), ["a", "dog"]);
    assert_eq!(control.tags.len(), 2);
    let problem = &control.warnings[0].problem;
    assert_eq!(problem, "2 control characters were read as blanks");
}

#[test]
fn vectors_are_tagged_alone_as_in_a_batch() {
    let pipeline = with("family = 'tagger', recurrent = { d_input = 3 }");
    let mut random = Random::new(2, 0);
    let mut vectors = |n: usize| -> Vec<f32> {
        let numbers = std::iter::repeat_with(|| random.normal() as f32);
        numbers.take(n * 3).collect()
    };
    let sequences: Vec<Vec<f32>> = [5, 0, 24, 1, 60, 7].into_iter().map(&mut vectors).collect();
    let together = pipeline.tag_vectors(1, &sequences).unwrap();
    for (number, (sequence, tagged)) in (1..).zip(sequences.iter().zip(&together)) {
        assert_eq!(tagged.tags.len() * 3, sequence.len());
        let alone = pipeline.tag_vectors(number, std::slice::from_ref(sequence)).unwrap();
        assert_eq!(alone[0], *tagged);
    }
    for wrong in [vec![1.0; 4], vec![0.0, f32::NAN, 1.0]] {
        let error = pipeline.tag_vectors(1, &[vec![1.0; 3], wrong]).unwrap_err();
        assert!(error.to_string().starts_with("sequence 2 does not consist of"), "{error}");
    }
    assert_eq!(pipeline.tag(1, &["a dog"]).unwrap_err().exit_code(), 2);
    let tokens = of(Family::Tagger);
    assert_eq!(tokens.tag_vectors(1, &sequences).unwrap_err().exit_code(), 2);
}

#[test]
fn a_transformer_tags_tokens_and_vectors_alone_as_in_a_batch() {
    let transformer = |d_input| with(&format!("{TRANSFORMER}, recurrent = {{ d_input = {d_input} }}"));
    let pipeline = transformer(0);
    let lines = lines(&mut Random::new(4, 0));
    let together = pipeline.tag(1, &lines).unwrap();
    for (line, tagged) in lines.iter().zip(&together) {
        assert_eq!(tagged.tags.len(), line.split_whitespace().count(), "{line}");
        assert_eq!(pipeline.tag(1, &[line]).unwrap()[0].tags, tagged.tags);
    }
    let pipeline = transformer(16);
    let mut random = Random::new(5, 0);
    let mut vectors = |n: usize| -> Vec<f32> {
        let numbers = std::iter::repeat_with(|| random.normal() as f32);
        numbers.take(n * 16).collect()
    };
    let sequences: Vec<Vec<f32>> = [5, 0, 24, 1, 60, 7].into_iter().map(&mut vectors).collect();
    let together = pipeline.tag_vectors(1, &sequences).unwrap();
    for (sequence, tagged) in sequences.iter().zip(&together) {
        assert_eq!(tagged.tags.len() * 16, sequence.len());
        let alone = pipeline.tag_vectors(1, std::slice::from_ref(sequence));
        assert_eq!(alone.unwrap()[0].tags, tagged.tags);
    }
}

#[test]
fn labels_do_not_depend_on_the_batch() {
    let lines = lines(&mut Random::new(6, 0));
    for encoder in ["transformer", "recurrent"] {
        for pooling in ["mean", "first", "last"] {
            let keys = format!("encoder = '{encoder}', pooling = '{pooling}'");
            let pipeline = with(&format!("family = 'classifier', {keys}"));
            let together = pipeline.classify(11, &lines, 9).unwrap();
            for (number, (line, classified)) in lines.iter().zip(&together).enumerate() {
                let alone = pipeline.classify(11 + number, &[line], 9).unwrap();
                assert_eq!(alone[0], *classified, "{keys}");
                let labels = &classified.labels;
                assert_eq!(labels.is_empty(), line.trim().is_empty());
                if !labels.is_empty() {
                    let sum: f64 = labels.iter().map(|label| label.probability).sum();
                    assert!(labels.len() == 3 && (sum - 1.0).abs() < 1e-9, "{labels:?}");
                }
            }
            let warnings = together.iter().flat_map(|line| &line.warnings);
            let mut warned: Vec<Option<usize>> = warnings.map(|warning| warning.line).collect();
            warned.dedup();
            assert_eq!(warned, [Some(31)]);
        }
    }
    let nan = pipeline(Sample::of(Family::Classifier).damaged("head.weight", 0));
    let error = nan.classify(1, &["a dog"], 1).unwrap_err();
    assert!(error.to_string().contains("any label"), "{error}");
    assert_eq!(untrained().classify(1, &["a"], 1).unwrap_err().exit_code(), 2);
}

#[test]
fn an_inspection_shows_the_labels() {
    let tagger = with(TRANSFORMER);
    let inspection = tagger.inspect("a dog runs", None).unwrap();
    assert_eq!(inspection.src, ["a", "dog", "runs"]);
    let Some(Predicted::Tags(tags)) = inspection.predicted else {
        panic!("{inspection:?}");
    };
    let tags: Vec<String> = tags.into_iter().map(|tag| tag.label).collect();
    assert_eq!(tags, tagger.tag(1, &["a dog runs"]).unwrap()[0].tags);
    assert_eq!(inspection.maps.len(), 1);

    let classifier = of(Family::Classifier);
    let inspection = classifier.inspect("a dog runs", None).unwrap();
    let found = classifier.classify(1, &["a dog runs"], 3).unwrap();
    assert_eq!(inspection.predicted, Some(Predicted::Labels(found[0].labels.clone())));
    assert_eq!(untrained().inspect("a dog", None).unwrap().predicted, None);
    let recurrent = of(Family::Tagger).inspect("a dog", None).unwrap_err();
    assert_eq!(recurrent.exit_code(), 2);
}

#[test]
fn vectors_of_texts_do_not_depend_on_the_batch() {
    let lines = lines(&mut Random::new(3, 0));
    for family in [Family::EncoderOnly, Family::Transformer, Family::Seq2seq] {
        let pipeline = of(family);
        let together = pipeline.embed(11, &lines).unwrap();
        for (number, (line, embedded)) in lines.iter().zip(&together).enumerate() {
            let alone = pipeline.embed(11 + number, &[line]).unwrap();
            assert_eq!(alone[0], *embedded, "{family:?}");
            assert_eq!(embedded.vector.is_none(), line.trim().is_empty());
            let vector = embedded.vector.iter().flatten();
            assert!(vector.clone().all(|x| x.is_finite()));
            assert!(embedded.vector.is_none() || vector.count() == 16);
        }
        let warnings = together.iter().flat_map(|embedded| &embedded.warnings);
        let mut lines: Vec<Option<usize>> = warnings.map(|warning| warning.line).collect();
        lines.dedup();
        assert_eq!(lines, [Some(31)]);
    }
    for family in [Family::DecoderOnly, Family::Tagger] {
        let error = of(family).embed(1, &["a"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn the_vector_of_a_text_is_the_mean_over_its_tokens() {
    let pipeline = of(Family::EncoderOnly);
    let mut ids = pipeline.tokenizers.tgt().encode("two cats").unwrap();
    ids.push(pipeline.tokenizers.tgt().special().eos);
    let batch = Batch::of(Body::Encoder(Padded::new(&[ids], 0).into()));
    let memory = pipeline.model().encode(&batch, &attentive_model::nn::Pass::inference()).unwrap();
    let rows = memory.sequence.x.values();
    let (first, second) = rows[..32].split_at(16);
    let mean = first.iter().zip(second).map(|(a, b)| (a + b) / 2.0);
    let found = pipeline.embed(1, &["two cats"]).unwrap()[0].vector.clone();
    for (found, mean) in found.unwrap().iter().zip(mean) {
        assert!((found - mean).abs() < 1e-6);
    }
}

#[test]
fn each_gap_has_its_likeliest_tokens() {
    let pipeline = of(Family::EncoderOnly);
    let filled = pipeline.fill("a <mask> runs <mask>", 3).unwrap();
    assert_eq!(filled.gaps.len(), 2);
    for gap in &filled.gaps {
        assert_eq!(gap.len(), 3);
        assert!(gap.iter().all(|guess| WORDS.contains(&guess.text.as_str())));
        let falling = gap.windows(2).all(|pair| pair[0].probability >= pair[1].probability);
        assert!(falling, "{gap:?}");
    }
    let best: Vec<&str> = filled.gaps.iter().map(|gap| gap[0].text.as_str()).collect();
    assert_eq!(filled.text, format!("a {} runs {}", best[0], best[1]));
    // All candidates. Their probabilities sum to less than 1, since special tokens keep their share.
    let all = &pipeline.fill("a <mask>", 1000).unwrap().gaps[0];
    assert_eq!(all.len(), WORDS.len());
    let sum: f64 = all.iter().map(|guess| guess.probability).sum();
    assert!(sum > 0.3 && sum < 1.0, "{sum}");
}

#[test]
fn gaps_that_cannot_be_filled_are_refused() {
    let pipeline = of(Family::EncoderOnly);
    let long = format!("{}<mask>", "a ".repeat(23));
    for (text, count, problem) in [
        ("a dog", 1, "there is no `<mask>` in the text"),
        ("<mask>", 0, "the number of guesses for each gap is 0"),
        (&*long, 1, "the text has 25 tokens including `</s>`, but the model reads at most 24"),
    ] {
        let error = pipeline.fill(text, count).unwrap_err();
        assert_eq!((error.exit_code(), error.hint().is_some()), (2, true));
        assert!(error.to_string().starts_with(problem), "{error}");
    }
    assert_eq!(pipeline.fill(" ", 1).unwrap(), Filled::default());
    assert_eq!(untrained().fill("<mask>", 1).unwrap_err().exit_code(), 2);
    assert_eq!(untrained().tag(1, &["a"]).unwrap_err().exit_code(), 2);
}

#[test]
fn a_text_in_pieces_has_the_tags_of_the_whole() {
    for tagger in [of(Family::Tagger), with(TRANSFORMER)] {
        let long = " a \u{1}dog\n runs".repeat(30);
        for text in ["", " \u{7} ", "a dog", "a\u{7}dog", &long] {
            let expected = tagger.tag(1, &[text]).unwrap().remove(0);
            let pieces = tagger.pieces_to_tag(text).into_iter();
            let pieces: Vec<&str> = pieces.map(|piece| &text[piece]).collect();
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() >= expected.tags.len().div_ceil(24));
            let found = tagger.tag(1, &pieces).unwrap();
            assert_eq!(tagger.join_tagged(text, found), expected);
        }
    }
}
