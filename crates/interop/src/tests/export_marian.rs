//! Tests of exports for Marian and Firefox.

use std::collections::BTreeSet;

use attentive_config::{Config, FamilyConfig};
use attentive_model::shortlist::Shortlist;
use attentive_samples::{Sample, variant};

use super::export::{pipeline, weights, written};
use super::*;
use crate::tensors::Tensors;
use crate::{ExportFormat, ExportOptions, FirefoxParts, export, rounded_weights};

#[test]
fn models_of_marian_come_back_to_the_bit() {
    for kind in ["npz", "ssru", "firefox"] {
        let folder = tempfile::tempdir().unwrap();
        let [own, theirs, back] = ["own", "theirs", "back"].map(|name| folder.path().join(name));
        let import = |from: &Path, to: &Path| {
            let foreign = ForeignModel::open(from, None, &Languages::default());
            foreign.unwrap().write(to).unwrap();
        };
        import(&fixture(&format!("../marian/{kind}")), &own);
        let notes = export(&own, ExportFormat::Marian, ExportOptions::default(), &theirs).unwrap().notes;
        let names_shortlist = notes.iter().any(|note| note.contains("shortlist"));
        assert_eq!(names_shortlist, kind == "firefox", "{notes:?}");
        import(&theirs, &back);
        assert!(weights(&own) == weights(&back), "{kind}");
        let [mut own, back] = [own, back].map(|dir| checkpoint::load(&dir).unwrap().config);
        if let FamilyConfig::Transformer(translator) = &mut own.model.family {
            // Marian's files do not tell whether attention was guided.
            assert_eq!(translator.alignment_head.take().is_some(), kind == "firefox");
        }
        assert_eq!(own.decode, back.decode, "{kind}");
        assert_eq!(own.model, back.model, "{kind}");
    }
}

/// A small model that Marian can represent, with this decoder and other `changes`.
fn student(decoder: &str, changes: &str) -> Pipeline {
    let mut config = Config::default();
    config.tokenizer.kind = attentive_config::TokenizerKind::Unigram;
    config.tokenizer.vocab_size = 60;
    config.tokenizer.min_frequency = 1;
    config.model = variant(&format!(
        "d_model = 64, d_ff = 64, n_heads = 2, decoder_mixing = '{decoder}', positions = \
         'sinusoidal_tensor2tensor', norm_epsilon = 1e-6, tie_embeddings = 'all', zero_start_embedding = \
         true{changes}"
    ));
    let sample = Sample::language_model(config);
    let start = sample.tokenizers.contract(&sample.config.model).unwrap().start;
    sample.model.keep_start_at_zero(start);
    pipeline(sample)
}

#[test]
fn models_trained_here_run_as_models_of_marian() {
    for (decoder, changes) in [
        ("ssru", ""),
        ("ssru", ", output_bias = true"),
        ("attention", ", norm_position = 'pre', embedding_norm = true"),
    ] {
        let pipeline = student(decoder, changes);
        let (_folder, dir) = written(&pipeline);
        let folder = tempfile::tempdir().unwrap();
        let [theirs, back] = ["theirs", "back"].map(|name| folder.path().join(name));
        export(&dir, ExportFormat::Marian, ExportOptions::default(), &theirs).unwrap();
        ForeignModel::open(&theirs, None, &Languages::default()).unwrap().write(&back).unwrap();
        let [own, back] = [dir, back].map(|dir| Pipeline::load(&dir).unwrap());
        let lines = ["ein Hund rennt", "eine Katze schläft", "Hund"];
        let mut options = TranslateOptions::from(&own.config().decode);
        options.search.max_new_tokens = 9;
        let translations =
            [&own, &back].map(|pipeline| pipeline.best_translations(&lines, &options).unwrap());
        assert_eq!(translations[0], translations[1], "{decoder}{changes}");
    }
}

#[test]
fn models_for_firefox_are_rounded_padded_and_complete() {
    let pipeline = student("ssru", ", output_bias = true");
    let (_folder, dir) = written(&pipeline);
    let vocab = pipeline.tokenizers().tgt().vocab_size();
    let ends = (1..=vocab as u32).collect();
    let shortlist = Shortlist::new(ends, (0..vocab as u32).collect(), vec![3], vocab).unwrap();
    let query = "encoder.layers.0.self_attention.query.weight";
    let factors =
        [("src.embedding.weight", 3.5), (query, 2.0)].map(|(name, factor)| (name.to_owned(), factor));
    let factors = factors.into();
    let parts = FirefoxParts { languages: ["en", "de"], input_factors: &factors, shortlist: &shortlist };
    let options = ExportOptions { text: &[], firefox: Some(parts) };
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("theirs");
    let refused = export(&dir, ExportFormat::Firefox, ExportOptions::default(), &theirs).unwrap_err();
    assert!(refused.to_string().contains("which are not given"), "{refused}");
    export(&dir, ExportFormat::Firefox, options, &theirs).unwrap();
    let tensors = Tensors::binary(&theirs.join("model.ende.intgemm.alphas.bin")).unwrap();
    let padded = vocab.next_multiple_of(8);
    assert_eq!(tensors.shape("Wemb").unwrap(), [padded, 64]);
    assert_eq!(tensors.shape("decoder_ff_logit_out_b").unwrap(), [1, padded]);
    for (name, factor) in [("none", 3.5), ("Wemb", 3.5), ("encoder_l1_self_Wq", 2.0)] {
        assert_eq!(*tensors.values(&format!("{name}_QuantMultA")).unwrap(), [factor], "{name}");
    }
    // What comes back is the rounded model, with tokens that no text has.
    let loaded = checkpoint::load(&dir).unwrap();
    let checkpoint::LoadedWeights::Dense(weights) = &loaded.weights else { panic!("dense weights") };
    let rounded = rounded_weights(&loaded, weights);
    let foreign = ForeignModel::open(&theirs, None, &Languages::default()).unwrap();
    assert_eq!(foreign.architecture.head, loaded.config.model.architecture(padded + 1, padded + 1).head);
    assert_eq!(foreign.config.model.family.translator().unwrap().alignment_head.map(usize::from), Some(1));
    for weight in rounded.iter().filter(|weight| weight.name.contains("layers.")) {
        let back = foreign.recipe.values(&weight.name, &weight.shape).unwrap();
        let far = weight.values.iter().zip(&*back).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < 1e-6, "{}: {far}", weight.name);
    }
    let list = foreign.shortlist.unwrap();
    for token in 0..vocab as u32 {
        let expected: BTreeSet<u32> = [token, 3].into_iter().filter(|&id| id >= 50 || id == token).collect();
        assert!(expected.is_subset(&list.of(token).iter().copied().collect()), "{token}");
    }
    assert_eq!(list.candidates(&[1]).len() % 8, 0);
    let metadata: Value = serde_json::from_slice(&fs::read(theirs.join("metadata.json")).unwrap()).unwrap();
    assert_eq!(metadata["sourceLanguage"], "en");
    assert_eq!(metadata["modelConfig"]["dim-emb"], 64);
    assert_eq!(
        metadata["byteSize"],
        fs::metadata(theirs.join("model.ende.intgemm.alphas.bin")).unwrap().len()
    );
}

#[test]
fn marian_starts_with_zeros() {
    let (_folder, dir) = imported("marian");
    let out = tempfile::tempdir().unwrap();
    let problem = export(&dir, ExportFormat::Marian, ExportOptions::default(), &out.path().join("out"));
    let problem = problem.unwrap_err().to_string();
    assert!(problem.contains("`model.zero_start_embedding` is false"), "{problem}");
    assert!(problem.contains("`model.norm_epsilon` is not 1e-6"), "{problem}");
}
