use std::fs;
use std::io::Write;
use std::path::PathBuf;

use attentive_base::error::{Error, Result};
use attentive_config::{BuiltinTask, CorpusSource, Task, TokenizerConfig, TokenizerKind};
use attentive_text::{self as text, Masks};
use flate2::{Compression, write::GzEncoder};
use tempfile::{TempDir, tempdir};

use crate::{
    Corpus, EncodeStats, Encoder, Filters, Form, MAX_LINE_BYTES, Progress, ReadStats, encode, read,
    read_filtered, read_lines, unwatched,
};

/// A directory with the files of a corpus.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempdir().unwrap();
        for (name, content) in files {
            fs::write(dir.path().join(name), content).unwrap();
        }
        Self(dir)
    }

    fn read(&self, source: CorpusSource) -> Result<Corpus> {
        self.read_as(Form::Translations, source)
    }

    fn read_as(&self, form: Form, source: CorpusSource) -> Result<Corpus> {
        read(&source, form, Some(self.0.path()), 1, &mut unwatched)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn aligned() -> CorpusSource {
    CorpusSource::Aligned {
        src: "src".into(),
        tgt: "tgt".into(),
    }
}

fn tsv() -> CorpusSource {
    CorpusSource::Tsv("tsv".into())
}

fn jsonl() -> CorpusSource {
    CorpusSource::Jsonl("jsonl".into())
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

fn texts(corpus: &Corpus) -> Vec<(&str, &str, usize)> {
    let lines = corpus.entries().iter().map(|entry| entry.line);
    let texts = corpus.translations().zip(lines);
    texts.map(|((src, tgt), line)| (src, tgt, line)).collect()
}

#[test]
fn every_file_format_gives_the_same_pairs() {
    let src = b"\xef\xbb\xbfa cat\r\n\r\nhouse".as_slice();
    let tgt = b"eine Katze\nx\nHaus\n".as_slice();
    let tsv_file = "a cat\teine Katze\r\n\nhouse\tHaus".as_bytes();
    let json = br#"{"src": "a cat", "id": 7, "tgt": "eine Katze"}

{"tgt": "Haus", "src": "house"}
"#
    .as_slice();
    let plain = Files::new(&[
        ("src", src),
        ("tgt", tgt),
        ("tsv", tsv_file),
        ("jsonl", json),
    ]);
    let packed = |pack: fn(&[u8]) -> Vec<u8>| {
        let packed = [src, tgt, tsv_file, json].map(pack);
        Files::new(&[
            ("src", &packed[0]),
            ("tgt", &packed[1]),
            ("tsv", &packed[2]),
            ("jsonl", &packed[3]),
        ])
    };
    for files in [plain, packed(gzip), packed(zstd)] {
        for config in [aligned(), tsv(), jsonl()] {
            let corpus = files.read(config).unwrap();
            assert_eq!(
                texts(&corpus),
                [("a cat", "eine Katze", 1), ("house", "Haus", 3)]
            );
            let expected = ReadStats {
                lines: 3,
                empty: 1,
                ..ReadStats::default()
            };
            assert_eq!(corpus.stats(), expected);
        }
    }
}

#[test]
fn members_of_a_compressed_file_are_concatenated() {
    for pack in [gzip, zstd] {
        let content = [pack(b"a\tb\n"), pack(b"c\td\n")].concat();
        let corpus = Files::new(&[("tsv", &content)]).read(tsv()).unwrap();
        assert_eq!(texts(&corpus), [("a", "b", 1), ("c", "d", 2)]);
    }
}

#[test]
fn damaged_compression_is_an_error() {
    for pack in [gzip, zstd] {
        let whole = pack("a line\tand another\n".repeat(100).as_bytes());
        let files = Files::new(&[("tsv", &whole[..whole.len() - 5])]);
        assert!(matches!(files.read(tsv()), Err(Error::Io { .. })));
    }
}

#[test]
fn filters_drop_and_count_lines() {
    let tsv_file = b"a\tb\nc\tc \na\tb\nb\ta\n\na\tb\nc\tc\n";
    let files = Files::new(&[("tsv", tsv_file)]);
    let read = |repeated, copies| {
        let filters = Filters { repeated, copies };
        let (form, dir) = (Form::Translations, files.path(""));
        let corpus = read_filtered(&tsv(), form, Some(&dir), 0, filters, &mut unwatched).unwrap();
        let lines: Vec<usize> = corpus.entries().iter().map(|entry| entry.line).collect();
        (lines, corpus.stats().to_string())
    };
    assert_eq!(read(false, false).0, [1, 2, 3, 4, 6, 7]);
    let (lines, said) = read(true, true);
    assert_eq!(lines, [1, 4]);
    assert_eq!(
        said,
        "2 of 7 lines kept, 1 dropped with an empty side, 2 dropped that occurred before, 2 dropped with equal sides"
    );
    assert_eq!(read(false, true).0, [1, 3, 4, 6]);
    // Two of the lines differ only in a space.
    assert_eq!(read(true, false).0, [1, 2, 4, 7]);
}

#[test]
fn pairs_of_too_different_lengths_are_dropped() {
    let files = Files::new(&[("tsv", b"a a a\ta\na a\ta\na\ta a a a a\na\ta\n")]);
    let corpus = files.read(tsv()).unwrap();
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        min_frequency: 1,
        ..TokenizerConfig::default()
    };
    let (src, tgt) = (corpus.src_texts(), corpus.tgt_texts());
    let tokenizers = text::learn(&config, Masks::Without, &src, &tgt).unwrap();
    // With `</s>`, the sides have 4 and 2, 3 and 2, 2 and 6, 2 and 2 tokens.
    for (ratio, kept) in [(0.0, &[1, 2, 3, 4][..]), (2.0, &[1, 2, 4]), (1.9, &[2, 4])] {
        let encoder = Encoder::new(Task::Translate, &tokenizers, 99).within_ratio(ratio);
        let (pairs, stats) = encode(&corpus, encoder, &mut unwatched).unwrap();
        let lines: Vec<usize> = pairs.iter().map(|pair| pair.line).collect();
        assert_eq!(lines, kept);
        assert_eq!(stats.dropped_uneven, 4 - kept.len());
    }
}

#[test]
fn sources_are_identified_by_their_stored_bytes() {
    let files = Files::new(&[("src", b"abc"), ("tgt", &gzip(b"xyz"))]);
    let corpus = files.read(aligned()).unwrap();
    assert_eq!(corpus.sources().len(), 2);
    assert_eq!(corpus.sources()[0].path, files.path("src"));
    assert_eq!(corpus.sources()[0].bytes, 3);
    // FIPS 180-2, appendix B.1.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(corpus.sources()[0].sha256, abc);
    assert_eq!(corpus.sources()[1].bytes, gzip(b"xyz").len() as u64);
    fs::copy(files.path("tgt"), files.path("src")).unwrap();
    let again = files.read(aligned()).unwrap();
    assert_eq!(again.sources()[0].sha256, corpus.sources()[1].sha256);
}

#[test]
fn unusable_pairs_are_dropped_and_counted() {
    let long = "x".repeat(1_000_000);
    let fits = "y".repeat(MAX_LINE_BYTES);
    let tsv_file = format!(
        "ok\tok\n \tb\na\t\n{long}\tb\na\t{long}\nnul\0\tb\na\tbell\u{7}\n{fits}\tz\u{85}z\n"
    );
    let corpus = Files::new(&[("tsv", tsv_file.as_bytes())])
        .read(tsv())
        .unwrap();
    assert_eq!(
        corpus.stats(),
        ReadStats {
            lines: 8,
            empty: 2,
            too_long: 2,
            control: 2,
            ..ReadStats::default()
        }
    );
    assert_eq!(
        texts(&corpus),
        [("ok", "ok", 1), (fits.as_str(), "z\u{85}z", 8)]
    );
    assert_eq!(
        corpus.stats().to_string(),
        "2 of 8 lines kept, 2 dropped with an empty side, 2 dropped longer than 100000 bytes, \
         2 dropped with control characters"
    );
    let json = Files::new(&[("jsonl", br#"{"src": "a\u0000", "tgt": "b"}"#)]);
    let error = json.read(jsonl()).unwrap_err();
    assert!(error.to_string().contains("0 of 1 line kept"), "{error}");
}

#[test]
fn malformed_lines_are_reported() {
    let line_of = |error: Error, name: &str| match error {
        Error::Line {
            path,
            line,
            problem,
        } if path.ends_with(name) => (line, problem),
        other => panic!("{other}"),
    };
    for (content, expected) in [("a\tb\nc\n", "found 1"), ("a\tb\na\tb\tc\n", "found 3")] {
        let error = Files::new(&[("tsv", content.as_bytes())])
            .read(tsv())
            .unwrap_err();
        let (line, problem) = line_of(error, "tsv");
        assert_eq!(line, 2);
        assert!(problem.contains(expected), "{problem}");
    }
    for wrong in [
        "{",
        "[]",
        "x",
        r#"{"src": "a"}"#,
        r#"{"src": 1, "tgt": "b"}"#,
        r#"{"src":"a","tgt":"b"} x"#,
    ] {
        let content = format!("{{\"src\":\"a\",\"tgt\":\"b\"}}\n{wrong}\n");
        let error = Files::new(&[("jsonl", content.as_bytes())])
            .read(jsonl())
            .unwrap_err();
        let (line, problem) = line_of(error, "jsonl");
        assert_eq!(line, 2);
        assert!(
            problem.contains("`src` and `tgt`") && !problem.contains("line 1"),
            "{problem}"
        );
    }
    let error = Files::new(&[("src", b"a\nb\xff\n"), ("tgt", b"a\nb\n")])
        .read(aligned())
        .unwrap_err();
    let (line, problem) = line_of(error, "src");
    assert_eq!(
        (line, problem.as_str()),
        (2, "not valid UTF-8 after byte 1")
    );
}

#[test]
fn unaligned_files_are_refused() {
    let files = Files::new(&[("src", b"a\nb\nc\n"), ("tgt", b"a\nb\n")]);
    let error = files.read(aligned()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Unaligned {
                first_lines: 3,
                second_lines: 2,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn unreadable_files_are_reported() {
    let files = Files::new(&[("src", b"a\n"), ("cut", &gzip(&[b'a'; 5000])[..20])]);
    let missing = files.read(aligned()).unwrap_err();
    assert!(
        matches!(&missing, Error::Io { path, .. } if *path == files.path("tgt")),
        "{missing}"
    );
    for name in [".", "cut", "missing/tsv"] {
        let error = files.read(CorpusSource::Tsv(name.into())).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(matches!(
            read_lines(&files.path(name)),
            Err(Error::Io { .. })
        ));
    }
}

#[test]
fn an_empty_corpus_is_refused() {
    for content in ["", "\n\n", " \t \n", "a\t\n"] {
        let error = Files::new(&[("tsv", content.as_bytes())])
            .read(tsv())
            .unwrap_err();
        assert!(
            matches!(&error, Error::Data { problem, .. } if problem.contains("tsv")),
            "{error}"
        );
    }
}

#[test]
fn a_corpus_has_one_form() {
    let files = Files::new(&[("src", b"a\n"), ("tgt", b"a\n"), ("text", b"a\n")]);
    let text = || CorpusSource::Text("text".into());
    let reverse = CorpusSource::Builtin {
        task: BuiltinTask::Reverse,
        pairs: 3,
    };
    for (form, source) in [
        (Form::Translations, text()),
        (Form::Labeled, text()),
        (Form::Labeled, reverse.clone()),
        (Form::TaggedVectors(2), reverse),
        (Form::TaggedVectors(2), aligned()),
        (Form::Lines, aligned()),
        (Form::Stream, jsonl()),
    ] {
        let found = files.read_as(form, source);
        assert!(matches!(found, Err(Error::Config { .. })), "{form:?}");
    }
}

#[test]
fn built_in_corpora_depend_only_on_the_seed() {
    let source = CorpusSource::Builtin {
        task: BuiltinTask::Reverse,
        pairs: 20,
    };
    let generated = |seed| read(&source, Form::Translations, None, seed, &mut unwatched).unwrap();
    let corpus = generated(1);
    assert_eq!(corpus.entries().len(), 20);
    assert_eq!(corpus.entries()[19].line, 20);
    assert!(corpus.sources().is_empty());
    assert_eq!(corpus.entries(), generated(1).entries());
    assert_ne!(corpus.entries(), generated(2).entries());
}

#[test]
fn lines_are_unchanged() {
    let content = "\u{feff}a b\r\n\n \t\nlast".as_bytes();
    let files = Files::new(&[
        ("plain", content),
        ("zipped", &gzip(content)),
        ("empty", b""),
        ("bad", b"a\n\xc3\n"),
    ]);
    for name in ["plain", "zipped"] {
        assert_eq!(
            read_lines(&files.path(name)).unwrap(),
            ["a b", "", " \t", "last"]
        );
    }
    assert!(read_lines(&files.path("empty")).unwrap().is_empty());
    assert!(matches!(
        read_lines(&files.path("bad")),
        Err(Error::Line { line: 2, .. })
    ));
}

#[test]
fn long_pairs_are_dropped_when_encoded() {
    let words = "w ".repeat(20);
    let content = format!("a b\tx\n{words}\tx\na\t{words}\na b c\tx y z\n");
    let corpus = Files::new(&[("tsv", content.as_bytes())])
        .read(tsv())
        .unwrap();
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        min_frequency: 1,
        ..TokenizerConfig::default()
    };
    let tokenizers = text::learn(
        &config,
        Masks::Without,
        &corpus.src_texts(),
        &corpus.tgt_texts(),
    )
    .unwrap();
    let mut progress = Vec::new();
    let mut watch = |at| progress.push(at);
    let (pairs, stats) = encode(
        &corpus,
        Encoder::new(Task::Translate, &tokenizers, 4),
        &mut watch,
    )
    .unwrap();
    assert_eq!(progress, [Progress::Encoded { done: 4, of: 4 }]);
    assert_eq!(
        stats,
        EncodeStats {
            kept: 2,
            dropped_long: 2,
            max_len: 4,
            src: stats.src,
            tgt: stats.tgt,
            ..EncodeStats::default()
        }
    );
    assert_eq!(
        pairs.iter().map(|pair| pair.line).collect::<Vec<_>>(),
        [1, 4]
    );
    assert_eq!(pairs[1].src().last(), Some(&3));
    assert_eq!((pairs[1].src_len(), pairs[1].tgt_len()), (4, 4));
    assert_eq!(pairs[1].tgt_in().len(), 4);
    assert!(matches!(
        encode(
            &corpus,
            Encoder::new(Task::Translate, &tokenizers, 1),
            &mut unwatched
        ),
        Err(Error::Data { .. })
    ));
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new(&[("tsv", b"a\tb\n")]);
    let path = files.path("tsv");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read any file.
    if fs::File::open(&path).is_err() {
        assert!(matches!(files.read(tsv()), Err(Error::Io { .. })));
    }
}
