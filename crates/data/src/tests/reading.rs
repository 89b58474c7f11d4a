//! Reading of corpora.

use std::fs;

use attentive_base::error::Error;
use attentive_config::{BuiltinTask, CorpusFormat, CorpusSource};

use super::files::{Files, aligned, gzip, jsonl, texts, tsv, zstd};
use crate::{DataKind, ReadStats, read, read_lines, unwatched};

#[test]
fn every_file_format_gives_the_same_pairs() {
    let src = b"\xef\xbb\xbfa cat\r\n\r\nhouse".as_slice();
    let tgt = b"eine Katze\nx\nHaus\n".as_slice();
    let tsv_file = "a cat\teine Katze\r\n\nhouse\tHaus".as_bytes();
    let json = br#"{"src": "a cat", "id": 7, "tgt": "eine Katze"}

{"tgt": "Haus", "src": "house"}
"#
    .as_slice();
    let plain = Files::new(&[("src", src), ("tgt", tgt), ("tsv", tsv_file), ("jsonl", json)]);
    let packed = |pack: fn(&[u8]) -> Vec<u8>| {
        let packed = [src, tgt, tsv_file, json].map(pack);
        Files::new(&[("src", &packed[0]), ("tgt", &packed[1]), ("tsv", &packed[2]), ("jsonl", &packed[3])])
    };
    for files in [plain, packed(gzip), packed(zstd)] {
        for config in [aligned(), tsv(), jsonl()] {
            let corpus = files.read(config).unwrap();
            assert_eq!(texts(&corpus), [("a cat", "eine Katze", 1), ("house", "Haus", 3)]);
            let expected = ReadStats { lines: 3, empty: 1, ..ReadStats::default() };
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
fn malformed_lines_are_reported() {
    let line_of = |error: Error, name: &str| match error {
        Error::Line { path, line, problem } if path.ends_with(name) => (line, problem),
        other => panic!("{other}"),
    };
    for (content, expected) in [("a\tb\nc\n", "found 1"), ("a\tb\na\tb\tc\n", "found 3")] {
        let error = Files::new(&[("tsv", content.as_bytes())]).read(tsv()).unwrap_err();
        let (line, problem) = line_of(error, "tsv");
        assert_eq!(line, 2);
        assert!(problem.contains(expected), "{problem}");
    }
    for wrong in
        ["{", "[]", "x", r#"{"src": "a"}"#, r#"{"src": 1, "tgt": "b"}"#, r#"{"src":"a","tgt":"b"} x"#]
    {
        let content = format!("{{\"src\":\"a\",\"tgt\":\"b\"}}\n{wrong}\n");
        let error = Files::new(&[("jsonl", content.as_bytes())]).read(jsonl()).unwrap_err();
        let (line, problem) = line_of(error, "jsonl");
        assert_eq!(line, 2);
        assert!(problem.contains("`src` and `tgt`") && !problem.contains("line 1"), "{problem}");
    }
    let error = Files::new(&[("src", b"a\nb\xff\n"), ("tgt", b"a\nb\n")]).read(aligned()).unwrap_err();
    let (line, problem) = line_of(error, "src");
    assert_eq!((line, problem.as_str()), (2, "not valid UTF-8 after byte 1"));
}

#[test]
fn unaligned_files_are_refused() {
    let files = Files::new(&[("src", b"a\nb\nc\n"), ("tgt", b"a\nb\n")]);
    let error = files.read(aligned()).unwrap_err();
    assert!(matches!(error, Error::Unaligned { first_lines: 3, second_lines: 2, .. }), "{error}");
}

#[test]
fn unreadable_files_are_reported() {
    let files = Files::new(&[("src", b"a\n"), ("cut", &gzip(&[b'a'; 5000])[..20])]);
    let missing = files.read(aligned()).unwrap_err();
    assert!(matches!(&missing, Error::Io { path, .. } if *path == files.path("tgt")), "{missing}");
    for name in [".", "cut", "missing/tsv"] {
        let error = files.read(CorpusSource::file(CorpusFormat::Tsv, name)).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(matches!(read_lines(&files.path(name)), Err(Error::Io { .. })));
    }
}

/// Files of other formats name the command that converts them; texts that only begin alike are read.
#[test]
fn files_of_other_formats_name_their_converter() {
    for (content, words) in [
        (&b"\xfd7zXZ\0\0\x04"[..], ["compressed with xz", "xz -dc"]),
        (b"BZh91AY&SY\x01", ["compressed with bzip2", "bzip2 -dc"]),
        (b"PK\x03\x04\x14", ["a ZIP archive", "unzip"]),
        (b"PAR1\x15\x04", ["a Parquet file", "read_parquet"]),
        (b"\xff\xfea\0", ["text in UTF-16", "iconv -f UTF-16 -t UTF-8"]),
        (b"\xfe\xff\0a", ["text in UTF-16", "iconv -f UTF-16 -t UTF-8"]),
    ] {
        let files = Files::new(&[("tsv", content)]);
        let path = files.path("tsv");
        for error in [files.read(tsv()).unwrap_err(), read_lines(&path).unwrap_err()] {
            let text = format!("{error} {:?}", error.hint());
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
            assert!(text.contains(&path.display().to_string()), "{text}");
        }
    }
    let files = Files::new(&[("tsv", b"BZh 1\tPAR1 x\nPK\tx\n")]);
    assert_eq!(files.read(tsv()).unwrap().translations().count(), 2);
}

#[test]
fn an_empty_corpus_is_refused() {
    for content in ["", "\n\n", " \t \n", "a\t\n"] {
        let error = Files::new(&[("tsv", content.as_bytes())]).read(tsv()).unwrap_err();
        assert!(matches!(&error, Error::Data { problem, .. } if problem.contains("tsv")), "{error}");
    }
}

#[test]
fn a_corpus_has_one_form() {
    let files = Files::new(&[("src", b"a\n"), ("tgt", b"a\n"), ("text", b"a\n")]);
    let text = || CorpusSource::file(CorpusFormat::Text, "text");
    let reverse = CorpusSource::Builtin { task: BuiltinTask::Reverse, pairs: 3 };
    for (kind, source) in [
        (DataKind::Translations, text()),
        (DataKind::Labeled, text()),
        (DataKind::Labeled, reverse.clone()),
        (DataKind::TaggedVectors(2), reverse),
        (DataKind::TaggedVectors(2), aligned()),
        (DataKind::Lines, aligned()),
        (DataKind::Stream, jsonl()),
    ] {
        let found = files.read_as(kind, source);
        assert!(matches!(found, Err(Error::Config { .. })), "{kind:?}");
    }
}

#[test]
fn built_in_corpora_depend_only_on_the_seed() {
    let source = CorpusSource::Builtin { task: BuiltinTask::Reverse, pairs: 20 };
    let generated = |seed| read(&source, DataKind::Translations, None, seed, &mut unwatched).unwrap();
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
    let files =
        Files::new(&[("plain", content), ("zipped", &gzip(content)), ("empty", b""), ("bad", b"a\n\xc3\n")]);
    for name in ["plain", "zipped"] {
        assert_eq!(read_lines(&files.path(name)).unwrap(), ["a b", "", " \t", "last"]);
    }
    assert!(read_lines(&files.path("empty")).unwrap().is_empty());
    assert!(matches!(read_lines(&files.path("bad")), Err(Error::Line { line: 2, .. })));
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
