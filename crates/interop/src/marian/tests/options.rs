//! Tests of the options of models and of their generation settings.

use super::computation::distance;
use super::*;

#[test]
fn the_owners_search_is_kept() {
    let decode = ForeignModel::open(&fixture("npz"), None, &Languages::default()).unwrap().config.decode;
    assert_eq!((decode.beam_width, decode.length_penalty), (6, 0.6));
    assert_eq!(decode.length_penalty_formula, LengthPenaltyFormula::Length);
    let decode = ForeignModel::open(&fixture("ssru"), None, &Languages::default()).unwrap().config.decode;
    assert_eq!((decode.beam_width, decode.length_penalty), (12, 0.0));
    let config = ForeignModel::open(&fixture("firefox"), None, &Languages::default()).unwrap().config;
    assert_eq!((config.decode.beam_width, config.decode.length_penalty), (1, 1.0));
    let never = |model: &ModelConfig| model.family.decoder().unwrap().suppress_tokens.clone();
    assert_eq!(never(&config.model).unwrap(), ["<pad>", "<unk>"]);
    let folder = copied("npz");
    let search = folder.path().join("decoder.yml");
    let with = |text: &str| fs::write(&search, format!("models: [model.npz]\nmax-length: 77\n{text}\n"));
    with("allow-unk: true").unwrap();
    let model = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap().config.model;
    assert_eq!(model.max_len, 77);
    assert_eq!(never(&model).unwrap(), ["<pad>"]);
    with("n-best: true\nword-penalty: 0.5\nmax-length-factor: 1.5\nbeam-size: 3\nalignment: soft").unwrap();
    let foreign = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap();
    let decode = &foreign.config.decode;
    assert_eq!((decode.word_penalty, decode.max_new_factor, decode.max_new_extra), (0.5, 1.5, 0));
    assert!(foreign.notes[0].contains("--n-best 3"), "{:?}", foreign.notes);
    let translator = foreign.config.model.family.translator().unwrap();
    assert_eq!(translator.alignment_head.map(usize::from), Some(1));
    for (alignment, expected) in [("false", None), ("hard", Some(1))] {
        with(&format!("alignment: {alignment}")).unwrap();
        let config = ForeignModel::open(folder.path(), None, &Languages::default()).unwrap().config;
        let translator = config.model.family.translator().unwrap();
        assert_eq!(translator.alignment_head.map(usize::from), expected, "{alignment}");
    }
    for (line, problem) in [
        ("output-sampling: [full]", "`output-sampling` = [\"full\"] is not supported"),
        ("new: 1", "`new` = 1 is unknown"),
        ("max-length-factor: 0", "`max-length-factor` = 0"),
        ("vocabs: [a.yml]", "`a.yml`, which its `decoder.yml` names, is missing"),
        ("n-best:\n- 1\n  x: y", "line 5 has a mapping as a value"),
    ] {
        with(line).unwrap();
        let found = refusal(folder.path());
        assert!(found.contains(problem), "{found}");
    }
}

#[test]
fn options_that_are_not_understood_are_named() {
    let unchanged = changed("npz", |options| options, &[]);
    let (_folder, dir) = imported(unchanged.path());
    assert!(distance(&dir, "npz") < 1e-4);
    let cases = [
        ("type: transformer", "type: s2s", "`type` = \"s2s\""),
        (
            "postprocess: dan",
            "postprocess: dah",
            "`transformer-preprocess, transformer-postprocess` = \", ah\"",
        ),
        ("postprocess-emb: d", "postprocess-emb: dh", "`transformer-postprocess-emb` = \"h\""),
        ("activation: swish", "activation: gelu", "`transformer-ffn-activation` = \"gelu\""),
        (
            "autoreg: self-attention",
            "autoreg: average-attention",
            "`transformer-decoder-autoreg` = \"average-attention\"",
        ),
        ("autoreg: self-attention", "autoreg: rnn", "`dec-cell` = \"gru\""),
        ("decoder-dim-ffn: 0", "decoder-dim-ffn: 8", "`transformer-decoder-dim-ffn` = 8"),
        ("ffn-depth: 2", "ffn-depth: 3", "`transformer-ffn-depth` = 3"),
        (
            "position-embeddings: false",
            "position-embeddings: true",
            "`transformer-train-position-embeddings` = true",
        ),
        ("lemma-dim-emb: 0", "lemma-dim-emb: 4", "`lemma-dim-emb` = 4"),
        ("enc-depth: 2", "enc-depth: 2000000000000", "`enc-depth` = 2000000000000"),
        ("enc-depth: 2", "enc-depth: 1", "tensor `encoder_l2_ffn_W1` is unknown"),
        ("enc-depth: 2", "enc-depth: 3", "tensor `encoder_l3_self_Wq` is missing"),
        ("dim-emb: 18", "dim-emb: 24", "has shape [37, 18], expected [37, 24]"),
        ("dim-emb: 18", "dim-emb: 17", "`dim-emb` = 17"),
        ("  - 37\n  - 37", "  - 37\n  - 38", "`dim-vocabs` = [37,38]"),
        ("ulr: false", "ulr: false\nnew-option: 3", "`new-option` = 3 is unknown"),
        ("ulr: false", "ulr", "has no colon"),
        ("dec-depth: 1\n", "", "`dec-depth` is missing"),
    ];
    for (from, to, problem) in cases {
        let folder = changed(
            "npz",
            |options| {
                assert!(options.contains(from), "{from}");
                options.replacen(from, to, 1)
            },
            &[],
        );
        let found = refusal(folder.path());
        assert!(found.contains(problem), "{found}");
    }
    let old = changed("prenorm", |options| options.replace("v1.12.0", "v1.10.9"), &[]);
    assert!(refusal(old.path()).contains("`version` = \"v1.10.9"));
    let unknown = changed("npz", |options| options, &[("new_W", 3)]);
    assert!(refusal(unknown.path()).contains("tensor `new_W` is unknown"));
}
