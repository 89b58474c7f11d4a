//! Tests of the outputs of models.

use attentive_decode::Strategy;

use super::*;

/// The maximum length of the outputs of language models, in tokens.
const LONGEST: usize = 12;

#[test]
fn logits_are_those_of_transformers() {
    for kind in KINDS {
        let (_folder, dir) = imported(kind);
        let loaded = checkpoint::load(&dir).unwrap();
        let LoadedWeights::Dense(weights) = &loaded.weights else { panic!("not quantized") };
        let model = checkpoint::build(&loaded.architecture, weights.clone());
        let file = fs::read(fixture(kind).join("logits.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&file).unwrap();
        let ids = |name: &str| -> Padded {
            let tensor = tensors.tensor(name).unwrap();
            let ids: Vec<i32> = bytemuck::pod_collect_to_vec(tensor.data());
            let ids: Vec<TokenId> = ids.into_iter().map(|id| id as TokenId).collect();
            Padded::single(&ids)
        };
        for number in 0..5 {
            let input = ids(&format!("{number}.input"));
            let batch = Batch::of(match loaded.architecture.body {
                Body::Encoder(_) => Body::Encoder(input.into()),
                Body::Decoder(_) => Body::Decoder(input),
                Body::EncoderDecoder(..) => {
                    Body::EncoderDecoder(input.into(), ids(&format!("{number}.decoder")))
                }
            });
            let pass = Pass::inference();
            let found = match loaded.architecture.task() {
                Task::Embed => model.encode(&batch, &pass).unwrap().sequence.x,
                _ => model.forward(&batch, &pass),
            };
            let found = labels_alone(rows(found), &loaded).concat();
            let tensor = tensors.tensor(&format!("{number}.logits")).unwrap();
            let expected: Vec<f32> = bytemuck::pod_collect_to_vec(tensor.data());
            assert_eq!(found.len(), expected.len(), "{kind}");
            let pairs = found.iter().zip(&expected);
            // Barred tokens have probability 0 here.
            let pairs = pairs.filter(|(found, _)| !kind.starts_with("marian") || **found > -100.0);
            let (mut worst, mut largest) = (0.0_f32, 1.0_f32);
            for (found, expected) in pairs {
                worst = worst.max((found - expected).abs());
                largest = largest.max(expected.abs());
            }
            // The instruction sets round sums of large logits differently.
            assert!(worst < 1e-4 * largest, "{kind}: {worst} of {largest}");
        }
    }
}

/// Logits without those of the special tokens, which follow the labels in their vocabulary.
fn labels_alone(mut logits: Vec<Vec<f32>>, loaded: &checkpoint::LoadedModel) -> Vec<Vec<f32>> {
    let tokenizer = loaded.tokenizers.tgt();
    if let Task::Tag | Task::Classify = loaded.architecture.task() {
        let n = tokenizer.special().n_ordinary(tokenizer.vocab_size());
        logits.iter_mut().for_each(|row| row.truncate(n));
    }
    logits
}

/// An output of `transformers`.
#[derive(serde::Deserialize)]
struct Expected {
    text: String,
    #[serde(default)]
    greedy: Vec<TokenId>,
    beam: Option<Vec<TokenId>>,
    score: Option<f64>,
    /// The likeliest tokens of the hidden words.
    #[serde(default)]
    filled: Vec<TokenId>,
    /// The vector of the text.
    #[serde(default)]
    vector: Vec<f32>,
    /// The probability of each label.
    #[serde(default)]
    labels: BTreeMap<String, f64>,
    /// The label of each word.
    #[serde(default)]
    tags: Vec<String>,
}

#[test]
fn outputs_are_those_of_transformers() {
    for kind in KINDS {
        let (_folder, dir) = imported(kind);
        let pipeline = Pipeline::load(&dir).unwrap();
        let text = fs::read(fixture(kind).join("outputs.json")).unwrap();
        let expected: Vec<Expected> = serde_json::from_slice(&text).unwrap();
        assert_eq!(expected.len(), 50, "{kind}");
        match pipeline.architecture().task() {
            Task::Generate => generates(kind, &pipeline, &expected),
            Task::Fill => fills(kind, &pipeline, &expected),
            Task::Embed => embeds(kind, &pipeline, &expected),
            Task::Classify => classifies(kind, &pipeline, &expected),
            Task::Tag => tags(kind, &pipeline, &expected),
            Task::Translate => translates(kind, &pipeline, &expected),
        }
    }
}

/// `ids` without the special tokens at the ends.
fn inner(ids: &[TokenId], pipeline: &Pipeline) -> Vec<TokenId> {
    let eos = pipeline.tokenizers().tgt().special().eos;
    let ids = &ids[1..];
    let end = ids.iter().position(|&id| id == eos).unwrap_or(ids.len());
    ids[..end].to_vec()
}

fn translates(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let lines: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
    for beam_width in [1, 4] {
        let mut options = TranslateOptions::from(&pipeline.config().decode);
        assert_eq!(options.search.strategy.rows(), 4);
        let early_stopping = pipeline.config().decode.early_stopping;
        options.search.strategy = Strategy::beam(beam_width, 1, early_stopping);
        let found = pipeline.translate_lines(&lines, &options).unwrap();
        for (found, expected) in found.iter().zip(expected) {
            let best = &found.hypotheses[0];
            let theirs = match beam_width {
                1 => &expected.greedy,
                _ => expected.beam.as_ref().unwrap(),
            };
            let same = best.tokens == inner(theirs, pipeline);
            let tied =
                beam_width == 4 && expected.score.is_some_and(|score| (score - best.score).abs() < 1e-4);
            assert!(
                same || tied,
                "{kind}, beam {beam_width}: {:?} ({}), expected {theirs:?} ({:?}) for {}",
                best.tokens,
                best.score,
                expected.score,
                expected.text
            );
        }
    }
}

fn generates(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let options = GenerateOptions {
        sample: SampleOptions {
            sampling: Sampling { temperature: 0.0, ..Sampling::default() },
            max_new_tokens: LONGEST,
            ..SampleOptions::default()
        },
        stop: [].into(),
    };
    for expected in expected {
        let prompt = pipeline.prompt(&expected.text).unwrap();
        let start = usize::from(kind.starts_with("llama")); // `<s>`
        let n_read = start + expected.text.split(' ').count();
        let found = pipeline.generate(&prompt, &options, &mut |_| Ok(()));
        let mut found = found.unwrap().tokens;
        let eos = pipeline.tokenizers().tgt().special().eos;
        let theirs = &expected.greedy[n_read..];
        if theirs.last() == Some(&eos) {
            found.push(eos);
        }
        assert_eq!(found, theirs, "{kind}: {}", expected.text);
    }
}

fn fills(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    for expected in expected {
        let found = pipeline.fill(&expected.text, 1).unwrap();
        let tokenizer = pipeline.tokenizers().tgt();
        let words = found.gaps.iter().map(|best| best[0].text.clone());
        let theirs = expected.filled.iter().map(|&id| tokenizer.token(id).unwrap());
        assert_eq!(words.collect::<Vec<_>>(), theirs.collect::<Vec<_>>(), "{kind}: {}", expected.text);
    }
}

fn embeds(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let texts: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
    let found = pipeline.embed(1, &texts).unwrap();
    for (found, expected) in found.iter().zip(expected) {
        let found = found.vector.as_ref().unwrap();
        assert_eq!(found.len(), expected.vector.len());
        let pairs = found.iter().zip(&expected.vector);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst < 1e-5, "{kind}: {worst} for {}", expected.text);
    }
}

fn classifies(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let texts: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
    let found = pipeline.classify(1, &texts, 9).unwrap();
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.labels.len(), expected.labels.len(), "{kind}");
        let probabilities = found.labels.iter().map(|label| label.probability);
        assert!(probabilities.is_sorted_by(|a, b| a >= b), "{kind}");
        for label in &found.labels {
            let theirs = expected.labels[&label.label];
            let difference = (label.probability - theirs).abs();
            assert!(difference < 1e-5, "{kind}: {difference} for {}", expected.text);
        }
    }
}

fn tags(kind: &str, pipeline: &Pipeline, expected: &[Expected]) {
    let texts: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
    let found = pipeline.tag(1, &texts).unwrap();
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.tags, expected.tags, "{kind}: {}", expected.text);
        assert_eq!(found.tokens.as_ref().unwrap().len(), found.tags.len(), "{kind}");
        assert_eq!(found.unknown, 0, "{kind}");
    }
}
