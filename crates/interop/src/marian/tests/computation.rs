//! Tests of the outputs of models.

use super::*;

/// The logits of the model directory `dir`, one row after another.
fn logits(dir: &Path, source: &[TokenId], target: &[TokenId]) -> Vec<Vec<f32>> {
    let loaded = checkpoint::load(dir).unwrap();
    let LoadedWeights::Dense(weights) = loaded.weights else { panic!("not quantized") };
    let model = checkpoint::build(&loaded.architecture, weights);
    let start = loaded.tokenizers.tgt().special().start;
    let target = Padded::single(&[&[start], target].concat());
    let batch = Batch::of(Body::EncoderDecoder(Padded::single(source).into(), target));
    rows(model.forward(&batch, &Pass::inference()))
}

/// The maximum difference between the logits of `dir` and those expected of `kind`.
pub(super) fn distance(dir: &Path, kind: &str) -> f32 {
    let expected = Tensors::npz(&fixture("expected.npz")).unwrap();
    let tokens = |name: &str| -> Vec<TokenId> {
        let values = expected.values(name).unwrap();
        values.iter().map(|&value| value as TokenId).collect()
    };
    let mut worst = 0.0f32;
    for length in LENGTHS {
        let name = |what: &str| format!("{kind}.{length}.{what}");
        let found = logits(dir, &tokens(&name("source")), &tokens(&name("target")));
        let theirs = expected.values(&name("logits")).unwrap();
        let n_tokens = expected.shape(&name("logits")).unwrap()[1];
        assert_eq!(found.len(), length + 1, "{kind}");
        for (found, theirs) in found.iter().zip(theirs.chunks_exact(n_tokens)) {
            // One token is added by the import.
            let (added, found) = found.split_last().unwrap();
            assert!(*added < -900.0, "{kind}: {added}");
            assert_eq!(found.len(), n_tokens, "{kind}");
            let pairs = found.iter().zip(theirs);
            worst = pairs.map(|(a, b)| (a - b).abs()).fold(worst, f32::max);
        }
    }
    worst
}

#[test]
fn logits_are_those_of_the_formulas() {
    for kind in KINDS {
        let (_folder, dir) = imported(&fixture(kind));
        let worst = distance(&dir, kind);
        assert!(worst < 1e-4, "{kind}: {worst}");
    }
}

/// Quantization changes no logit by more than a quarter of the logits' standard deviation, which is 1.
#[test]
fn integers_are_close_to_the_weights() {
    let exact = Tensors::npz(&fixture("ssru").join("model.npz")).unwrap();
    let integers = Tensors::binary(&fixture("firefox").join(FIREFOX)).unwrap();
    let names = exact.names().filter(|name| *name != OPTIONS);
    let mut n_rounded = 0;
    for name in names {
        assert_eq!(exact.shape(name).unwrap(), integers.shape(name).unwrap());
        let [ours, theirs] = [&integers, &exact].map(|tensors| tensors.values(name).unwrap());
        let largest = theirs.iter().fold(0.0f32, |max, value| max.max(value.abs()));
        let half_step = if ours == theirs { 0.0 } else { largest / 127.0 / 2.0 * 1.0001 };
        n_rounded += usize::from(half_step > 0.0);
        let far = |(a, b): (&f32, &f32)| (a - b).abs() > half_step;
        assert!(!ours.iter().zip(&*theirs).any(far), "{name}");
    }
    assert_eq!(n_rounded, 23, "the embeddings and all matrices");
    let (_folder, dir) = imported(&fixture("firefox"));
    let distance = distance(&dir, "ssru");
    assert!(0.0 < distance && distance < 0.25, "{distance}");
}

#[test]
fn models_translate() {
    for kind in KINDS {
        let (_folder, dir) = imported(&fixture(kind));
        let pipeline = Pipeline::load(&dir).unwrap();
        let start = pipeline.tokenizers().tgt().special().start;
        let unk = pipeline.tokenizers().tgt().special().unk;
        let lines = ["w1 w2 it's w3", "w4 </s> :", "ein Haus"];
        let options = (&pipeline.config().decode).into();
        for translation in pipeline.translate_lines(&lines, &options).unwrap() {
            assert!(!translation.hypotheses.is_empty());
            for best in translation.hypotheses {
                assert!(!best.tokens.contains(&start) && !best.tokens.contains(&unk));
            }
        }
    }
}

#[test]
fn a_model_without_output_bias_has_one_for_the_new_token() {
    let folder = changed("npz", |options| options.replace("omit-bias: false", "omit-bias: true"), &[]);
    assert!(refusal(folder.path()).contains("tensor `decoder_ff_logit_out_b` is unknown"));
    // This name is not read.
    let path = folder.path().join("model.bin");
    let mut file = fs::read(&path).unwrap();
    let name = b"decoder_ff_logit_out_b\0";
    let at = file.windows(name.len()).position(|part| part == name).unwrap();
    file[at..at + name.len()].copy_from_slice(b"decoder_ffXX_QuantMultA");
    file[at + name.len() - 1] = 0;
    let end = b"X_QuantMultA";
    file[at + name.len() - 1 - end.len()..at + name.len() - 1].copy_from_slice(end);
    fs::write(&path, file).unwrap();
    let (_folder, dir) = imported(folder.path());
    let row = logits(&dir, &[3, 0], &[]).remove(0);
    assert_eq!(row.len(), 38);
    assert!(row[37] < -900.0);
}
