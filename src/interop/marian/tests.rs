//! Small random models (scripts/fixtures/marian.py) compute here what the formulas of Marian say.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::batch::{Batch, Padded, TokenId};
use crate::checkpoint::LoadedWeights;
use crate::config::LengthPenalty;
use crate::device;
use crate::model::tests::rows;
use crate::nn::Pass;
use crate::pipeline::Pipeline;
use crate::random::Random;
use crate::text::Languages;

const KINDS: [&str; 4] = ["npz", "prenorm", "ssru", "firefox"];
const FIREFOX: &str = "model.xxyy.intgemm.alphas.bin";
const LEXICON: &str = "lex.50.50.xxyy.s2t.bin";
/// Lengths of the sources of `expected.npz`.
const LENGTHS: [usize; 2] = [1, 5];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture(kind: &str) -> PathBuf {
    fixtures().join("marian").join(kind)
}

/// A copy of the fixture `kind`.
fn copied(kind: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(kind)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

/// The model directory that `foreign` becomes.
fn written(foreign: Foreign) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model");
    foreign.write(&out).unwrap();
    (folder, out)
}

fn imported(path: &Path) -> (tempfile::TempDir, PathBuf) {
    written(Foreign::open(path, None, &Languages::default()).unwrap())
}

fn refusal(path: &Path) -> String {
    Foreign::open(path, None, &Languages::default())
        .unwrap_err()
        .to_string()
}

/// The logits of the model directory `dir`, one row after another.
fn logits(dir: &Path, source: &[TokenId], target: &[TokenId]) -> Vec<Vec<f32>> {
    let loaded = checkpoint::load(dir).unwrap();
    let LoadedWeights::Dense(weights) = loaded.weights else {
        panic!("not quantised")
    };
    let model = checkpoint::build(&loaded.architecture, weights, &device::cpu());
    let start = loaded.tokenizers.tgt().special().start;
    let batch = Batch {
        src: Padded::single(source),
        tgt_in: Padded::single(&[&[start], target].concat()),
        ..Batch::default()
    };
    rows(model.forward(&batch, &Pass::inference()))
}

/// The furthest distance of the logits of `dir` from those expected of `kind`.
fn distance(dir: &Path, kind: &str) -> f32 {
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
            // One token is added.
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

/// Integers change no logit by more than a quarter of their standard deviation, which is 1.
#[test]
fn integers_are_close_to_the_weights() {
    let exact = Tensors::npz(&fixture("ssru").join("model.npz")).unwrap();
    let integers = Tensors::binary(&fixture("firefox").join(FIREFOX)).unwrap();
    let names = exact.names().filter(|name| *name != OPTIONS);
    let mut n_rounded = 0;
    for name in names {
        assert_eq!(exact.shape(name).unwrap(), integers.shape(name).unwrap());
        let [ours, theirs] = [&integers, &exact].map(|tensors| tensors.values(name).unwrap());
        let largest = theirs
            .iter()
            .fold(0.0f32, |max, value| max.max(value.abs()));
        let half_step = match ours == theirs {
            true => 0.0,
            false => largest / 127.0 / 2.0 * 1.0001,
        };
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
        for translation in pipeline.translate_with(&lines, &options).unwrap() {
            for best in translation.hypotheses {
                assert!(!best.tokens.contains(&start) && !best.tokens.contains(&unk));
            }
        }
    }
}

#[test]
fn words_are_looked_up() {
    let foreign = Foreign::open(&fixture("npz"), None, &Languages::default()).unwrap();
    let tokenizer = foreign.tokenizers.src();
    let ids = |text: &str| tokenizer.encode(text).unwrap();
    assert_eq!(ids("\" : -  it's a\\b # ä w27"), [2, 3, 4, 5, 6, 7, 8, 36]);
    // A special token in a text is text, in two parts.
    assert_eq!(ids("new w0 </s>"), [1, 9, 1, 1]);
    assert_eq!(tokenizer.decode(&[5, 9, 36]), "it's w0 w27");
    let special = tokenizer.special();
    assert_eq!((special.eos, special.unk, special.start), (0, 1, 37));
    assert_eq!((tokenizer.vocab_size(), special.pad), (38, 37));
}

/// A vocabulary of pieces as strings, which models of SentencePiece find.
#[test]
fn pieces_are_looked_up_as_strings() {
    let folder = copied("ssru");
    let spm = folder.path().join("vocab.spm");
    let own = crate::interop::sentencepiece::SentencePiece::read(&spm).unwrap();
    // In another order, and without some pieces.
    let mut texts: Vec<String> = own.texts().skip(3).take(500).map(str::to_owned).collect();
    texts.reverse();
    let tokens = ["</s>".to_owned(), "<unk>".to_owned()]
        .into_iter()
        .chain(texts);
    let lines: Vec<String> = (0..)
        .zip(tokens)
        .map(|(id, token)| format!("{}: {id}\n", serde_json::to_string(&token).unwrap()))
        .collect();
    fs::write(folder.path().join("vocab.yml"), lines.concat()).unwrap();
    for side in ["source.spm", "target.spm"] {
        fs::copy(&spm, folder.path().join(side)).unwrap();
    }
    fs::remove_file(&spm).unwrap();
    let whole = Foreign::open(&fixture("ssru"), None, &Languages::default()).unwrap();
    let foreign = Foreign::open(folder.path(), None, &Languages::default()).unwrap();
    assert_eq!(foreign.config.tokenizer.special.unknown_from, 604);
    let text = "ein Haus, zwei Häuser";
    let pieces = whole.tokenizers.src().encode(text).unwrap();
    let found = foreign.tokenizers.src().encode(text).unwrap();
    let expected: Vec<TokenId> = pieces
        .iter()
        .map(|&piece| match piece {
            3..503 => 2 + 499 - (piece - 3),
            _ => 1,
        })
        .collect();
    assert_eq!(found, expected);
    assert!(expected.contains(&1) && expected.iter().any(|&id| id > 1));
}

#[test]
fn the_owners_search_is_kept() {
    let decode = Foreign::open(&fixture("npz"), None, &Languages::default())
        .unwrap()
        .config
        .decode;
    assert_eq!((decode.beam_width, decode.alpha), (6, 0.6));
    assert_eq!(decode.length_penalty, LengthPenalty::Length);
    let decode = Foreign::open(&fixture("ssru"), None, &Languages::default())
        .unwrap()
        .config
        .decode;
    assert_eq!((decode.beam_width, decode.alpha), (12, 0.0));
    let config = Foreign::open(&fixture("firefox"), None, &Languages::default())
        .unwrap()
        .config;
    assert_eq!((config.decode.beam_width, config.decode.alpha), (1, 1.0));
    let never = config.model.never_generated.unwrap();
    assert_eq!(never, ["<pad>", "<unk>"]);
    let folder = copied("npz");
    let search = folder.path().join("decoder.yml");
    let with = |text: &str| {
        fs::write(
            &search,
            format!("models: [model.npz]\nmax-length: 77\n{text}\n"),
        )
    };
    with("allow-unk: true").unwrap();
    let model = Foreign::open(folder.path(), None, &Languages::default())
        .unwrap()
        .config
        .model;
    assert_eq!(model.max_len, 77);
    assert_eq!(model.never_generated.unwrap(), ["<pad>"]);
    for (line, problem) in [
        ("word-penalty: 0.5", "`word-penalty` = 0.5 is not supported"),
        (
            "output-sampling: [full]",
            "`output-sampling` = [\"full\"] is not supported",
        ),
        ("new: 1", "`new` = 1 is unknown"),
        (
            "vocabs: [a.yml]",
            "`a.yml`, which its `decoder.yml` names, is missing",
        ),
        ("n-best:\n- 1\n  x: y", "line 5 has a mapping as a value"),
    ] {
        with(line).unwrap();
        let found = refusal(folder.path());
        assert!(found.contains(problem), "{found}");
    }
}

#[test]
fn shortlists_are_those_of_a_plain_scan() {
    let foreign = Foreign::open(&fixture("firefox"), None, &Languages::default()).unwrap();
    let list = foreign.shortlist.as_ref().unwrap();
    let bytes = fs::read(fixture("firefox").join(LEXICON)).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[8 * at..][..8].try_into().unwrap()) as usize;
    let (first, n_offsets) = (number(2) as TokenId, number(4));
    let candidate = |at: usize| {
        let start = 8 * (6 + n_offsets) + 4 * at;
        TokenId::from_le_bytes(bytes[start..][..4].try_into().unwrap())
    };
    for token in 0..603 {
        let mut expected: Vec<TokenId> = (0..first).chain([token]).collect();
        expected.extend((number(6 + token as usize)..number(7 + token as usize)).map(candidate));
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(list.candidates(&[token]), expected);
    }
    let (_folder, dir) = written(foreign);
    assert!(checkpoint::load(&dir).unwrap().shortlist.is_some());
}

#[test]
fn damaged_shortlists_are_refused() {
    let folder = copied("firefox");
    let path = folder.path().join(LEXICON);
    let whole = fs::read(&path).unwrap();
    let problem = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refusal(folder.path())
    };
    assert!(problem(&whole[..40]).contains("truncated"));
    assert!(problem(&whole[..whole.len() - 8]).contains("its length is not what it says"));
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    assert!(problem(&changed(0)).contains("no shortlist of Firefox"));
    assert!(problem(&changed(8)).contains("checksum"));
    assert!(problem(&changed(16)).contains("checksum"));
    assert!(problem(&changed(32)).contains("source tokens"));
}

/// The fixture `kind` as a binary file, with `options` changed and other tensors.
fn changed(
    kind: &str,
    change: impl FnOnce(String) -> String,
    add: &[(&str, usize)],
) -> tempfile::TempDir {
    let folder = copied(kind);
    let path = folder.path().join("model.npz");
    let tensors = Tensors::npz(&path).unwrap();
    let options = String::from_utf8(tensors.bytes(OPTIONS).unwrap().to_vec()).unwrap();
    let options = change(options.trim_end_matches('\0').to_owned());
    let mut items: Vec<Item> = tensors
        .names()
        .filter(|name| *name != OPTIONS)
        .map(|name| {
            let bytes = tensors.bytes(name).unwrap().to_vec();
            (
                name.to_owned(),
                0x404,
                tensors.shape(name).unwrap().to_vec(),
                bytes,
            )
        })
        .collect();
    items.push((OPTIONS.into(), 0x101, vec![options.len()], options.into()));
    for &(name, size) in add {
        items.push((name.into(), 0x404, vec![1, size], vec![0; 4 * size]));
    }
    fs::write(folder.path().join("model.bin"), binary(&items)).unwrap();
    fs::remove_file(path).unwrap();
    let _ = fs::remove_file(folder.path().join("decoder.yml"));
    folder
}

/// Name, type, shape and bytes of a tensor.
type Item = (String, u64, Vec<usize>, Vec<u8>);

fn binary(items: &[Item]) -> Vec<u8> {
    let number = |number: usize| (number as u64).to_le_bytes();
    let mut file = [number(1), number(items.len())].concat();
    for (name, kind, shape, data) in items {
        let header = [name.len() + 1, *kind as usize, shape.len(), data.len()];
        file.extend(header.map(number).concat());
    }
    for (name, ..) in items {
        file.extend([name.as_bytes(), &[0]].concat());
    }
    for (_, _, shape, _) in items {
        file.extend(shape.iter().flat_map(|&size| (size as i32).to_le_bytes()));
    }
    file.extend(number(3));
    file.extend([0; 3]);
    items.iter().for_each(|(.., data)| file.extend(data));
    file
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
        (
            "postprocess-emb: d",
            "postprocess-emb: dh",
            "`transformer-postprocess-emb` = \"h\"",
        ),
        (
            "activation: swish",
            "activation: gelu",
            "`transformer-ffn-activation` = \"gelu\"",
        ),
        (
            "autoreg: self-attention",
            "autoreg: average-attention",
            "`transformer-decoder-autoreg` = \"average-attention\"",
        ),
        (
            "autoreg: self-attention",
            "autoreg: rnn",
            "`dec-cell` = \"gru\"",
        ),
        (
            "decoder-dim-ffn: 0",
            "decoder-dim-ffn: 8",
            "`transformer-decoder-dim-ffn` = 8",
        ),
        (
            "ffn-depth: 2",
            "ffn-depth: 3",
            "`transformer-ffn-depth` = 3",
        ),
        (
            "position-embeddings: false",
            "position-embeddings: true",
            "`transformer-train-position-embeddings` = true",
        ),
        (
            "lemma-dim-emb: 0",
            "lemma-dim-emb: 4",
            "`lemma-dim-emb` = 4",
        ),
        (
            "enc-depth: 2",
            "enc-depth: 2000000000000",
            "`enc-depth` = 2000000000000",
        ),
        (
            "enc-depth: 2",
            "enc-depth: 1",
            "tensor `encoder_l2_ffn_W1` is unknown",
        ),
        (
            "enc-depth: 2",
            "enc-depth: 3",
            "tensor `encoder_l3_self_Wq` is missing",
        ),
        (
            "dim-emb: 18",
            "dim-emb: 24",
            "has shape [37, 18], expected [37, 24]",
        ),
        ("dim-emb: 18", "dim-emb: 17", "`dim-emb` = 17"),
        ("  - 37\n  - 37", "  - 37\n  - 38", "`dim-vocabs` = [37,38]"),
        (
            "ulr: false",
            "ulr: false\nnew-option: 3",
            "`new-option` = 3 is unknown",
        ),
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
    let old = changed(
        "prenorm",
        |options| options.replace("v1.12.0", "v1.10.9"),
        &[],
    );
    assert!(refusal(old.path()).contains("`version` = \"v1.10.9"));
    let unknown = changed("npz", |options| options, &[("new_W", 3)]);
    assert!(refusal(unknown.path()).contains("tensor `new_W` is unknown"));
}

#[test]
fn a_model_without_output_bias_has_one_for_the_new_token() {
    let folder = changed(
        "npz",
        |options| options.replace("omit-bias: false", "omit-bias: true"),
        &[],
    );
    assert!(refusal(folder.path()).contains("tensor `decoder_ff_logit_out_b` is unknown"));
    // Under a name that is not read.
    let path = folder.path().join("model.bin");
    let mut file = fs::read(&path).unwrap();
    let name = b"decoder_ff_logit_out_b\0";
    let at = file
        .windows(name.len())
        .position(|part| part == name)
        .unwrap();
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

#[test]
fn files_are_found_beside_the_weights() {
    let folder = copied("npz");
    let path = folder.path().join("model.npz");
    assert_eq!(
        Foreign::open(&path, None, &Languages::default())
            .unwrap()
            .kind,
        "Marian, npz"
    );
    fs::copy(&path, folder.path().join("other.npz")).unwrap();
    // `decoder.yml` names the model.
    assert!(Foreign::open(folder.path(), None, &Languages::default()).is_ok());
    fs::remove_file(folder.path().join("decoder.yml")).unwrap();
    assert!(refusal(folder.path()).contains("several models, such as `model.npz` and `other.npz`"));
    let own = folder.path().join("other.npz.decoder.yml");
    fs::write(&own, "beam-size: 3").unwrap();
    let config = Foreign::open(
        &folder.path().join("other.npz"),
        None,
        &Languages::default(),
    )
    .unwrap()
    .config;
    assert_eq!(config.decode.beam_width, 3);
    fs::copy(
        folder.path().join("vocab.yml"),
        folder.path().join("vocab2.yml"),
    )
    .unwrap();
    assert!(refusal(&path).contains("its vocabularies should be one file, or two"));
    fs::rename(
        folder.path().join("vocab.yml"),
        folder.path().join("vocab.src.yml"),
    )
    .unwrap();
    fs::rename(
        folder.path().join("vocab2.yml"),
        folder.path().join("vocab.tgt.yml"),
    )
    .unwrap();
    assert!(Foreign::open(&path, None, &Languages::default()).is_ok());
}

#[test]
fn vocabularies_must_fit() {
    let folder = copied("npz");
    let path = folder.path().join("vocab.yml");
    let text = fs::read_to_string(&path).unwrap();
    let problem = |text: &str| {
        fs::write(&path, text).unwrap();
        refusal(folder.path())
    };
    assert!(problem(&text.replace("w0: 9", "w0: x")).contains("`w0` has no id"));
    assert!(problem(&text.replace("w0: 9", "w0: 10")).contains("have the same id 10"));
    assert!(problem(&text.replace("</s>: 0", "end: 0")).contains("special token `eos` is missing"));
    // Tokens beyond those of the model are none, and rows without a token get one.
    fs::write(&path, text.replace("w0: 9", "w0: 1000")).unwrap();
    let tokenizers = Foreign::open(folder.path(), None, &Languages::default())
        .unwrap()
        .tokenizers;
    assert_eq!(tokenizers.src().encode("w0 w1").unwrap(), [1, 10]);
    assert_eq!(tokenizers.src().token(9).unwrap(), "<unused-9>");
}

/// Whatever is done to the files, they are read or refused.
#[test]
fn damaged_files_are_no_panic() {
    for kind in ["npz", "firefox"] {
        let folder = copied(kind);
        let binary = changed("npz", |options| options, &[]);
        let mut random = Random::new(7, 0);
        for dir in [folder.path(), binary.path()] {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                let whole = fs::read(&path).unwrap();
                for _ in 0..40 {
                    fs::write(&path, mutated(&whole, &mut random)).unwrap();
                    let _ = Foreign::open(dir, None, &Languages::default());
                }
                fs::write(&path, &whole).unwrap();
            }
        }
    }
}

/// `whole` with its end cut off, or with some other bytes, most of them near its beginning.
fn mutated(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let below = |random: &mut Random, end: usize| random.below(end.max(1));
    if below(random, 4) == 0 {
        bytes.truncate(below(random, whole.len()));
    }
    for _ in 0..=below(random, 4) {
        let near = [100, 1000, usize::MAX][below(random, 3)];
        let end = bytes.len().min(near);
        let at = below(random, end);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = [0, 1, 0x7f, 0xff, below(random, 256) as u8][below(random, 5)];
        }
    }
    bytes
}
