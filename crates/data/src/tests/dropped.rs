//! Lines and pairs that are not used.

use attentive_base::error::Error;
use attentive_config::{CleaningRule, Task, TokenizerConfig, TokenizerKind};
use attentive_text::{self as text, Masks};

use super::files::{Files, jsonl, texts, tsv};
use crate::{
    DataKind, EncodeStats, Filters, LineEncoder, MAX_LINE_BYTES, Progress, ReadStats, encode, read_filtered,
    unwatched,
};

#[test]
fn filters_drop_and_count_lines() {
    let tsv_file = b"a\tb\nc\tc \na\tb\nb\ta\n\na\tb\nc\tc\n";
    let files = Files::new(&[("tsv", tsv_file)]);
    let read = |repeated, copies| {
        let filters = Filters { repeated, copies, ..Filters::default() };
        let (kind, dir) = (DataKind::Translations, files.path(""));
        let corpus = read_filtered(&tsv(), kind, Some(&dir), 0, filters, &mut unwatched).unwrap();
        let lines: Vec<usize> = corpus.entries().iter().map(|entry| entry.line).collect();
        (lines, corpus.stats().to_string())
    };
    assert_eq!(read(false, false).0, [1, 2, 3, 4, 6, 7]);
    let (lines, said) = read(true, true);
    assert_eq!(lines, [1, 4]);
    assert_eq!(
        said,
        "2 of 7 lines kept, 1 dropped with an empty side, 2 dropped that occurred before, 2 dropped with \
         equal sides"
    );
    assert_eq!(read(false, true).0, [1, 3, 4, 6]);
    // Two of the lines differ only in a space.
    assert_eq!(read(true, false).0, [1, 2, 4, 7]);
}

#[test]
fn pairs_are_dropped_by_rules_of_cleaning() {
    let tsv_file = "a dog runs home\tein Hund läuft heim\na dog runs\tein sehr sehr langer Satz über einen Hund und noch \
                    viel mehr als das\n3 dogs run\tzwei Hunde laufen\n1234 567\t1234 567\n";
    let files = Files::new(&[("tsv", tsv_file.as_bytes())]);
    let rules = vec![CleaningRule::Numbers, CleaningRule::Ratio, CleaningRule::Letters];
    let filters = Filters { rules, ..Filters::default() };
    let (kind, dir) = (DataKind::Translations, files.path(""));
    let corpus = read_filtered(&tsv(), kind, Some(&dir), 0, filters, &mut unwatched).unwrap();
    assert_eq!(corpus.entries().iter().map(|entry| entry.line).collect::<Vec<_>>(), [1]);
    assert_eq!(
        corpus.stats().to_string(),
        "1 of 4 lines kept, 1 dropped by the rule `ratio`, 1 dropped by the rule `letters`, 1 dropped by the rule \
         `numbers`"
    );
}

#[test]
fn unusable_pairs_are_dropped_and_counted() {
    let long = "x".repeat(1_000_000);
    let fits = "y".repeat(MAX_LINE_BYTES);
    let tsv_file =
        format!("ok\tok\n \tb\na\t\n{long}\tb\na\t{long}\nnul\0\tb\na\tbell\u{7}\n{fits}\tz\u{85}z\n");
    let corpus = Files::new(&[("tsv", tsv_file.as_bytes())]).read(tsv()).unwrap();
    assert_eq!(
        corpus.stats(),
        ReadStats { lines: 8, empty: 2, too_long: 2, control: 2, ..ReadStats::default() }
    );
    assert_eq!(texts(&corpus), [("ok", "ok", 1), (fits.as_str(), "z\u{85}z", 8)]);
    assert_eq!(
        corpus.stats().to_string(),
        "2 of 8 lines kept, 2 dropped with an empty side, 2 dropped longer than 100,000 bytes, 2 dropped \
         with control characters"
    );
    let json = Files::new(&[("jsonl", br#"{"src": "a\u0000", "tgt": "b"}"#)]);
    let error = json.read(jsonl()).unwrap_err();
    assert!(error.to_string().contains("0 of 1 line kept"), "{error}");
}

#[test]
fn pairs_of_too_different_lengths_are_dropped() {
    let files = Files::new(&[("tsv", b"a a a\ta\na a\ta\na\ta a a a a\na\ta\n")]);
    let corpus = files.read(tsv()).unwrap();
    let config =
        TokenizerConfig { kind: TokenizerKind::Word, min_frequency: 1, ..TokenizerConfig::default() };
    let (src, tgt) = (corpus.src_texts(), corpus.tgt_texts());
    let tokenizers = text::learn(&config, Masks::Without, &src, &tgt).unwrap();
    // With `</s>`, the sides have 4 and 2, 3 and 2, 2 and 6, 2 and 2 tokens.
    for (ratio, kept) in [(0.0, &[1, 2, 3, 4][..]), (2.0, &[1, 2, 4]), (1.9, &[2, 4])] {
        let encoder = LineEncoder::new(Task::Translate, &tokenizers, 99).within_ratio(ratio);
        let (pairs, stats) = encode(&corpus, encoder, &mut unwatched).unwrap();
        let lines: Vec<usize> = pairs.iter().map(|pair| pair.line).collect();
        assert_eq!(lines, kept);
        assert_eq!(stats.dropped_uneven, 4 - kept.len());
    }
}

#[test]
fn long_pairs_are_dropped_when_encoded() {
    let words = "w ".repeat(20);
    let content = format!("a b\tx\n{words}\tx\na\t{words}\na b c\tx y z\n");
    let corpus = Files::new(&[("tsv", content.as_bytes())]).read(tsv()).unwrap();
    let config =
        TokenizerConfig { kind: TokenizerKind::Word, min_frequency: 1, ..TokenizerConfig::default() };
    let tokenizers = text::learn(&config, Masks::Without, &corpus.src_texts(), &corpus.tgt_texts()).unwrap();
    let mut reports = Vec::new();
    let mut progress = |at| reports.push(at);
    let (pairs, stats) =
        encode(&corpus, LineEncoder::new(Task::Translate, &tokenizers, 4), &mut progress).unwrap();
    assert_eq!(reports, [Progress::Encoded { done: 4, of: 4 }]);
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
    assert_eq!(pairs.iter().map(|pair| pair.line).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(pairs[1].src().last(), Some(&3));
    assert_eq!((pairs[1].src_len(), pairs[1].tgt_len()), (4, 4));
    assert_eq!(pairs[1].tgt_in().len(), 4);
    assert!(matches!(
        encode(&corpus, LineEncoder::new(Task::Translate, &tokenizers, 1), &mut unwatched),
        Err(Error::Data { .. })
    ));
}

#[test]
fn long_pairs_are_cropped_if_wanted() {
    let words = "w ".repeat(20);
    let content = format!("a b\tx\n{words}\tx\na\t{words}\na b c\tx y z\n");
    let corpus = Files::new(&[("tsv", content.as_bytes())]).read(tsv()).unwrap();
    let config =
        TokenizerConfig { kind: TokenizerKind::Word, min_frequency: 1, ..TokenizerConfig::default() };
    let tokenizers = text::learn(&config, Masks::Without, &corpus.src_texts(), &corpus.tgt_texts()).unwrap();
    let encoder = LineEncoder::new(Task::Translate, &tokenizers, 4).cropping(true);
    let (pairs, stats) = encode(&corpus, encoder, &mut unwatched).unwrap();
    assert_eq!((stats.kept, stats.cropped, stats.dropped()), (4, 2, 0));
    assert!(stats.to_string().contains("4 lines encoded, 2 of them cropped to sides of 4 tokens"), "{stats}");
    let lengths: Vec<[usize; 2]> = pairs.iter().map(|pair| [pair.src_len(), pair.tgt_len()]).collect();
    assert_eq!(lengths, [[3, 2], [4, 2], [2, 4], [4, 4]]);
    // The end is kept.
    assert!(pairs.iter().all(|pair| pair.src().last() == Some(&3) && pair.tgt_out.last() == Some(&3)));
}
