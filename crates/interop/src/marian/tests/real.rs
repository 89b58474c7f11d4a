//! Tests with files that Marian itself wrote (scripts/fixtures/marian_real.py).

use attentive_pipeline::TranslateOptions;
use serde_json::Value;

use super::*;

/// A copy of the fixture `real` with this `decoder.yml`.
fn real(search: &str) -> tempfile::TempDir {
    searched("real", search)
}

/// A copy of a fixture with this `decoder.yml`.
fn searched(kind: &str, search: &str) -> tempfile::TempDir {
    let folder = copied(kind);
    fs::write(folder.path().join("decoder.yml"), search).unwrap();
    folder
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The models of the folder, as they are used.
fn pipeline(folder: &Path) -> Pipeline {
    let mut foreign = ForeignModel::open(folder, None, &Languages::default()).unwrap();
    let weights = std::mem::take(&mut foreign.log_weights);
    let partners = std::mem::take(&mut foreign.partners);
    let load = |foreign| {
        let (_folder, dir) = written(foreign);
        Pipeline::load(&dir).unwrap()
    };
    let first = load(foreign);
    let is_alone = partners.is_empty();
    let together = partners.into_iter().fold(first, |first, other| first.with(load(other)).unwrap());
    if is_alone { together } else { together.with_log_weights(weights).unwrap() }
}

/// What Marian translated.
fn expected(kind: &str) -> Value {
    let text = fs::read_to_string(fixture(kind).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The directory of a training, with guided alignment, a SentencePiece model for each side and a shortlist.
#[test]
fn a_training_is_imported_as_marian_left_it() {
    let foreign = ForeignModel::open(&fixture("guided"), None, &Languages::default()).unwrap();
    let note =
        "`model.npz.best-ce-mean-words.npz` was imported, the best of 2 checkpoints by `ce-mean-words`";
    assert_eq!(foreign.notes, [note]);
    let translator = foreign.config.model.family.translator().unwrap();
    assert_eq!(translator.alignment_head.map(usize::from), Some(1));
    let expected = expected("guided");
    let lines = strings(&expected["lines"]);
    for (name, of_search) in expected["searches"].as_object().unwrap() {
        let search = of_search["search"].as_str().unwrap();
        let named = "models: [model.npz.best-ce-mean-words.npz]\nvocabs: [vocab.src.spm, vocab.tgt.spm]";
        let folder = searched("guided", &format!("{named}\n{search}"));
        let pipeline = pipeline(folder.path());
        let options = TranslateOptions::from(&pipeline.config().decode);
        let found = pipeline.translate_lines(&lines, &options).unwrap();
        for ((line, found), theirs) in lines.iter().zip(&found).zip(strings(&of_search["translations"])) {
            let ours = &found.hypotheses[0];
            let (text, weights) = theirs.split_once(" ||| ").unwrap_or((&theirs, ""));
            assert_eq!(ours.text, text, "{name}, {line}");
            if name != "alignment" {
                continue;
            }
            let tokens = [&ours.tokens[..], &[pipeline.tokenizers().tgt().special().eos]].concat();
            let soft = &pipeline.soft_alignments(&[(line, &tokens[..])]).unwrap()[0].0;
            let theirs = weights.split(' ').map(|row| row.split(',').map(|weight| weight.parse().unwrap()));
            let theirs: Vec<Vec<f32>> = theirs.map(Iterator::collect).collect();
            assert_eq!(soft.len(), theirs.len(), "{line}");
            for (ours, theirs) in soft.iter().zip(&theirs) {
                assert_eq!(ours.len(), theirs.len(), "{line}");
                for (a, b) in ours.iter().zip(theirs) {
                    assert!((a - b).abs() < 1e-4, "{line}: {a}, not {b}");
                }
            }
        }
    }
}

#[test]
fn translations_are_marians() {
    let expected = expected("real");
    let lines = strings(&expected["lines"]);
    for (name, of_search) in expected["searches"].as_object().unwrap() {
        let models = if name == "ensemble" { "model.npz, model.iter40.npz" } else { "model.npz" };
        let search = of_search["search"].as_str().unwrap();
        let folder = real(&format!("models: [{models}]\nvocabs: [vocab.yml, vocab.yml]\n{search}"));
        let pipeline = pipeline(folder.path());
        let options = TranslateOptions::from(&pipeline.config().decode);
        let found = pipeline.translate_lines(&lines, &options).unwrap();
        let theirs = strings(&of_search["translations"]);
        let mut n_different = 0;
        for ((line, found), theirs) in lines.iter().zip(&found).zip(&theirs) {
            let ours = &found.hypotheses[0];
            if ours.text == *theirs {
                continue;
            }
            n_different += 1;
            // Marian's beam loses a place with each hypothesis that ends, so it may find a worse one; and one
            // that reaches the limit counts as much as those that end.
            let rescored = pipeline.rescore(1, &[line], &[theirs]).unwrap().remove(0);
            if rescored.tokens.len() > options.search.limit(line.split(' ').count() + 1, usize::MAX) {
                continue;
            }
            let score = options.search.score(rescored.log_prob, rescored.tokens.len());
            assert!(ours.score > score, "{name}, {line}: {} is no better than {theirs}", ours.text);
        }
        let most = if options.search.strategy.rows() == 1 { 0 } else { lines.len() / 8 };
        assert!(n_different <= most, "{name}: {n_different} of {} lines differ", lines.len());
    }
}

#[test]
fn integers_are_those_that_marian_rounded() {
    let [whole, rounded] = [
        Tensors::npz(&fixture("real").join("model.npz")),
        Tensors::binary(&fixture("real").join("intgemm8.bin")),
    ]
    .map(Result::unwrap);
    let names: Vec<&str> = whole.names().filter(|name| *name != OPTIONS).collect();
    let mut n_rounded = 0;
    for name in names {
        assert_eq!(whole.shape(name).unwrap(), rounded.shape(name).unwrap(), "{name}");
        let (whole, rounded) = (whole.values(name).unwrap(), rounded.values(name).unwrap());
        if whole == rounded {
            continue;
        }
        n_rounded += 1;
        let largest = whole.iter().fold(0.0, |largest: f32, x| largest.max(x.abs()));
        let step = largest / 127.0;
        for (x, y) in whole.iter().zip(&*rounded) {
            assert!((x - y).abs() <= 0.501 * step, "{name}: {x} became {y}, steps of {step}");
        }
    }
    assert!(n_rounded >= 13, "{n_rounded} matrices");
}

/// With them, translations are those of the model whose weights were rounded.
#[test]
fn integers_translate() {
    let expected = expected("real");
    let lines = strings(&expected["lines"]);
    let translations = |model: &str| -> Vec<String> {
        let search = "beam-size: 1\nnormalize: 0.6\nmax-length-factor: 1.3\n";
        let folder = real(&format!("models: [{model}]\nvocabs: [vocab.yml, vocab.yml]\n{search}"));
        let pipeline = pipeline(folder.path());
        let options = TranslateOptions::from(&pipeline.config().decode);
        let found = pipeline.translate_lines(&lines, &options).unwrap();
        found.into_iter().map(|one| one.into_best()).collect()
    };
    let (whole, rounded) = (translations("model.npz"), translations("intgemm8.bin"));
    let n_same = whole.iter().zip(&rounded).filter(|(one, other)| one == other).count();
    assert!(n_same >= lines.len() * 3 / 4, "{n_same} of {} lines", lines.len());
}

#[test]
fn packed_numbers_are_refused_with_a_way_out() {
    for (name, kind) in [("packed8.bin", "packed8avx2"), ("packed16.bin", "packed16")] {
        let folder = real(&format!("models: [{name}]\nvocabs: [vocab.yml, vocab.yml]\n"));
        let packed = fs::File::open(folder.path().join(format!("{name}.gz"))).unwrap();
        let mut file = fs::File::create(folder.path().join(name)).unwrap();
        std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut file).unwrap();
        let problem = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap_err();
        assert!(problem.to_string().contains(&format!("of Marian's type `{kind}`")), "{problem}");
        assert!(problem.hint().unwrap().contains("import the `.npz` from which it was converted"));
    }
}
