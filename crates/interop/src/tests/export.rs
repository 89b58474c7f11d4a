//! Tests that models are unchanged after an export and an import.

use attentive_base::error::Error;
use attentive_config::{Config, EarlyStopping, FamilyConfig};
use attentive_decode::Strategy;
use attentive_pipeline::Pipeline;
use attentive_samples::{Sample, variant};

use super::*;
use crate::{ExportFormat, ExportOptions, export};

/// The model of `sample`, ready for use.
pub(super) fn pipeline(sample: Sample) -> Pipeline {
    Pipeline::from_parts(sample.config, sample.tokenizers, sample.model)
}

/// The model directory `dir`, exported and imported again.
fn and_back(dir: &Path) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [theirs, back] = ["theirs", "back"].map(|name| folder.path().join(name));
    export(dir, ExportFormat::Hf, ExportOptions::default(), &theirs).unwrap();
    open(&theirs).unwrap().write(&back).unwrap();
    (folder, back)
}

pub(super) fn weights(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("model.safetensors")).unwrap()
}

/// True if `export` cannot write a model of this kind.
fn is_without_equal(kind: &str) -> bool {
    kind == "marian_separate"
}

#[test]
fn models_without_an_equal_are_refused() {
    for kind in KINDS.into_iter().filter(|kind| is_without_equal(kind)) {
        let (folder, dir) = imported(kind);
        let refused = export(&dir, ExportFormat::Hf, ExportOptions::default(), &folder.path().join("theirs"))
            .unwrap_err();
        assert!(matches!(refused, Error::Usage { .. }), "{kind}: {refused}");
    }
}

#[test]
fn imported_models_come_back_to_the_bit() {
    for kind in KINDS.into_iter().filter(|kind| !is_without_equal(kind)) {
        let (_folder, dir) = imported(kind);
        let (_other, back) = and_back(&dir);
        assert!(weights(&dir) == weights(&back), "{kind}");
        let [before, after] = [&dir, &back].map(|dir| checkpoint::load(dir).unwrap().config);
        assert_eq!(before.model, after.model, "{kind}");
        assert_eq!(before.tokenizer.special, after.tokenizer.special, "{kind}");
        assert_eq!(before.decode.beam_width, after.decode.beam_width, "{kind}");
        assert_eq!(before.decode.length_penalty, after.decode.length_penalty, "{kind}");
    }
}

#[test]
fn vectors_of_texts_are_made_as_before() {
    let folder = changed("bert_encoder", "config.json", |_| ());
    let module = |kind: &str, path: &str| json!({"type": format!("sentence_transformers.models.{kind}"), "path": path});
    let modules = json!([
        module("Transformer", ""),
        module("Pooling", "1_Pooling"),
        module("Normalize", "2_Normalize")
    ]);
    fs::write(folder.path().join("modules.json"), modules.to_string()).unwrap();
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let pooling = json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}).to_string();
    fs::write(folder.path().join("1_Pooling/config.json"), pooling).unwrap();
    let dir = folder.path().join("own");
    open(folder.path()).unwrap().write(&dir).unwrap();
    let (_other, back) = and_back(&dir);
    let [before, after] = [&dir, &back].map(|dir| checkpoint::load(dir).unwrap().config.model);
    let FamilyConfig::Encoder { pooling, normalize_embeddings, .. } = before.family else {
        panic!("{before:?}");
    };
    assert!(normalize_embeddings && pooling == Pooling::First);
    assert_eq!(before, after);
}

#[test]
fn two_ways_into_one_vocabulary_are_exported_as_that_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    mutations::writers::marian_mt("", folder.path());
    let dir = folder.path().join("own");
    open(folder.path()).unwrap().write(&dir).unwrap();
    let exported =
        export(&dir, ExportFormat::Hf, ExportOptions::default(), &folder.path().join("theirs")).unwrap();
    assert_eq!(exported.notes.len(), 1, "{:?}", exported.notes);
    let (_other, back) = and_back(&dir);
    assert!(weights(&dir) == weights(&back));
    let [before, after] = [&dir, &back].map(|dir| Pipeline::load(dir).unwrap());
    let all: Vec<TokenId> = (0..before.tokenizers().tgt().vocab_size() as TokenId).collect();
    for ids in all.windows(5) {
        let texts = [&before, &after].map(|pipeline| pipeline.tokenizers().tgt().decode(ids).unwrap());
        assert_eq!(texts[0], texts[1]);
    }
    for text in [">>de<< the sand", "the dog ate an egg", "hot"] {
        let ids = [&before, &after].map(|pipeline| pipeline.tokenizers().src().encode(text).unwrap());
        assert_eq!(ids[0], ids[1]);
    }
}

/// The model directory of `pipeline`, an untrained model.
pub(super) fn written(pipeline: &Pipeline) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("own");
    let write = |path: &Path| checkpoint::weights::write(path, &pipeline.model().copied());
    let files: [(&str, &checkpoint::atomic::ContentWriter<'_>); 1] = [(checkpoint::files::WEIGHTS, &write)];
    let mut config = pipeline.config().clone();
    config.data.max_len = config.model.max_len;
    let provenance = checkpoint::Provenance::default;
    checkpoint::write_model(&dir, &config, pipeline.tokenizers(), &files, &provenance).unwrap();
    (folder, dir)
}

#[test]
fn the_order_of_sines_and_cosines_makes_no_difference() {
    for changes in
        ["positions = 'sinusoidal_interleaved', output_bias = true", "positions = 'sinusoidal_concatenated'"]
    {
        let pipeline = pipeline(Sample::with(changes));
        let (_folder, dir) = written(&pipeline);
        let (_other, back) = and_back(&dir);
        let [own, back] = [dir, back].map(|dir| Pipeline::load(&dir).unwrap());
        let lines = ["ein Hund rennt", "eine Katze schläft", "Hund"];
        let mut options = TranslateOptions::from(&own.config().decode);
        options.search.strategy = Strategy::beam(3, 1, EarlyStopping::Never);
        options.search.max_new_tokens = 9;
        let [own, back] = [own, back].map(|pipeline| {
            let found = pipeline.translate_lines(&lines, &options).unwrap();
            let best = found.into_iter().map(|one| one.hypotheses[0].clone());
            best.map(|best| (best.tokens, best.score)).collect::<Vec<_>>()
        });
        for ((tokens, score), (other, other_score)) in own.iter().zip(&back) {
            assert_eq!(tokens, other);
            assert!((score - other_score).abs() < 1e-4, "{score} and {other_score}");
        }
    }
}

#[test]
fn our_own_models_come_back_to_the_bit() {
    let translates = "positions = 'sinusoidal_concatenated', output_bias = true";
    let fills = "family = 'encoder_only', positions = 'learned', embedding_norm = true, output_transform = \
                 true, output_bias = true";
    let pipelines = [
        pipeline(Sample::with(translates)),
        small(&format!("{CONTINUES}, positions = 'learned'")),
        small(fills),
    ];
    for pipeline in pipelines {
        let (_folder, dir) = written(&pipeline);
        let (_other, back) = and_back(&dir);
        assert!(weights(&dir) == weights(&back), "{:?}", pipeline.architecture().task());
    }
}

/// A model that continues texts, as GPT-2 does.
const CONTINUES: &str = "family = 'decoder_only', norm_position = 'pre'";

/// A small model that continues texts or fills gaps.
fn small(changes: &str) -> Pipeline {
    let mut config = Config::default();
    config.tokenizer.kind = attentive_config::TokenizerKind::Char;
    config.tokenizer.min_frequency = 1;
    let small = "d_model = 16, d_ff = 32, n_heads = 2, max_len = 24, scale_embeddings = false, init = \
                 'xavier_uniform'";
    config.model = variant(&format!("{small}, {changes}"));
    pipeline(Sample::language_model(config))
}

#[test]
fn our_own_language_models_have_an_equal() {
    let pipeline = small(CONTINUES);
    let (_folder, dir) = written(&pipeline);
    let theirs = tempfile::tempdir().unwrap();
    let out = theirs.path().join("out");
    export(&dir, ExportFormat::Hf, ExportOptions::default(), &out).unwrap();
    let read = |name: &str| -> Value { serde_json::from_slice(&fs::read(out.join(name)).unwrap()).unwrap() };
    // The positions are stored, and a text begins with `<s>`.
    assert_eq!(read("config.json")["n_positions"], 24);
    let first = &read("tokenizer.json")["post_processor"]["single"][0];
    assert_eq!(first["SpecialToken"]["id"], "<s>");
    let file = fs::read(out.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    assert_eq!(tensors.tensor("transformer.wpe.weight").unwrap().shape(), [24, 16]);
    assert_eq!(tensors.tensor("transformer.h.1.attn.c_attn.weight").unwrap().shape(), [16, 48]);
}

/// The configuration of a fixture with these changes, after an import, and after an export and another
/// import.
fn config_and_back(kind: &str, changes: &[(&str, Value)]) -> [Config; 2] {
    let folder = changed(kind, "config.json", |_| ());
    for (file, keys) in changes {
        let path = folder.path().join(file);
        let text = fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
        let mut value: Value = serde_json::from_slice(&text).unwrap();
        let keys = keys.as_object().unwrap().clone();
        value.as_object_mut().unwrap().extend(keys);
        fs::write(path, value.to_string()).unwrap();
    }
    let dir = folder.path().join("own");
    open(folder.path()).unwrap().write(&dir).unwrap();
    let (_other, back) = and_back(&dir);
    [dir, back].map(|dir| checkpoint::load(&dir).unwrap().config)
}

#[test]
fn the_search_comes_back() {
    let keys =
        json!({"renormalize_logits": false, "max_length": 31, "min_length": 6, "no_repeat_ngram_size": 3});
    let [own, back] = config_and_back("marian", &[("generation_config.json", keys)]);
    assert_eq!(own.decode, back.decode);
    assert_eq!((own.decode.max_new_extra, own.decode.min_length), (30, 5));
}

#[test]
fn all_ends_come_back() {
    let keys = json!({"eos_token_id": [2, 7, 9]});
    let [own, back] = config_and_back("gpt2", &[("generation_config.json", keys)]);
    let FamilyConfig::DecoderOnly { extra_eos_tokens: Some(ends), .. } = &own.model.family else {
        panic!("{:?}", own.model);
    };
    assert_eq!(ends.len(), 2);
    assert_eq!(own.model, back.model);
}

#[test]
fn tokens_around_a_text_come_back() {
    let (_folder, dir) = imported("marian");
    let path = dir.join("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    let languages = "[model]\nsource_first = \"w3\"\nsource_last = \"w4\"\n";
    fs::write(&path, text.replace("[model]\n", languages)).unwrap();
    forget_sums(&dir);
    let (_other, back) = and_back(&dir);
    let [own, back] = [dir, back].map(|dir| checkpoint::load(&dir).unwrap());
    let encoder = own.config.model.family.encoder().unwrap();
    assert_eq!(encoder.source_last.as_deref(), Some("w4"));
    assert_eq!(own.config.model, back.config.model);
}

#[test]
fn a_blank_before_a_text_comes_back() {
    let tokenizer = fs::read(fixture("../hf_tokenizers/gpt2_settings/tokenizer.json")).unwrap();
    let tokenizer: Value = serde_json::from_slice(&tokenizer).unwrap();
    for blank in [false, true] {
        let folder = changed("gpt2", "tokenizer.json", |file| {
            file["pre_tokenizer"] = tokenizer["pre_tokenizer"].clone();
        });
        let path = folder.path().join("tokenizer_config.json");
        fs::write(path, json!({"add_prefix_space": blank}).to_string()).unwrap();
        let dir = folder.path().join("own");
        open(folder.path()).unwrap().write(&dir).unwrap();
        let (_other, back) = and_back(&dir);
        for dir in [dir, back] {
            let tokenizers = checkpoint::load(&dir).unwrap().tokenizers;
            let file: Value = serde_json::from_slice(tokenizers.tgt().to_json()).unwrap();
            assert_eq!(file["pre_tokenizer"]["add_prefix_space"], blank);
        }
    }
}

#[test]
fn differences_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    for (changes, expected) in [
        (
            "family = 'decoder_only', norm = 'rms', norm_position = 'pre', attention_bias = false, \
             feed_forward_bias = false",
            "cannot be represented as a Llama model: `model.positions` is not `rotary`; \
             `model.feed_forward_gate` is false",
        ),
        (
            "family = 'decoder_only', norm_position = 'post'",
            "cannot be represented as a GPT-2 model: `model.norm_position` is not `pre`",
        ),
        (
            "positions = 'learned', norm_position = 'pre', tie_embeddings = 'all'",
            "an M2M-100 model: `model.position_offset` is not the number of the padding token + 1",
        ),
        (
            "positions = 'learned', embedding_norm = true, norm_position = 'pre', tie_embeddings = 'all'",
            "an mBART model: `model.position_offset` is not 2",
        ),
        (
            "positions = 'learned', embedding_norm = true, norm_position = 'post'",
            "a BART model: `model.position_offset` is not 2",
        ),
        (
            "positions = 'relative', norm_position = 'pre'",
            "a T5 model: `model.norm` is not `rms`; `model.attention_scale` is not 1",
        ),
        ("norm_position = 'pre'", "a MarianMT model: `model.norm_position` is not `post`"),
    ] {
        let (_folder, dir) = written(&small(changes));
        let out = folder.path().join("out");
        let problem = export(&dir, ExportFormat::Hf, ExportOptions::default(), &out).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
        assert!(!out.exists());
    }
}

#[test]
fn positions_that_transformers_computes_must_not_be_trained() {
    let (folder, dir) = imported("m2m_100");
    tensors::change_tensors(&dir.join("model.safetensors"), |tensors| {
        tensors.get_mut("src.positions.learned").unwrap().1[40] += 0.5;
    });
    forget_sums(&dir);
    let out = folder.path().join("out");
    let error = export(&dir, ExportFormat::Hf, ExportOptions::default(), &out).unwrap_err();
    assert!(error.to_string().contains("`src.positions.learned` was trained"), "{error}");
    assert!(error.hint().unwrap().contains("*.positions.*"), "{error}");
    assert!(!out.exists());
}

/// Forgets the checksums of the files in the model directory `dir`, which are changed on purpose.
fn forget_sums(dir: &Path) {
    let path = dir.join("provenance.json");
    let mut provenance: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    provenance["sha256"].as_object_mut().unwrap().clear();
    fs::write(&path, provenance.to_string()).unwrap();
}
