use std::fs;

use attentive_base::batch::{Batch, TokenId};
use attentive_base::error::{Error, Result};
use attentive_config::{BuiltinTask, CorpusFormat, CorpusSource};

use crate::{Corpus, DataKind, Position, Stream, fixed_windows};

/// Reads `text` as a corpus from a file.
fn read(text: &str) -> Corpus {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, text).unwrap();
    let source = CorpusSource::file(CorpusFormat::Text, path);
    crate::read(&source, DataKind::Stream, None, 1, &mut crate::unwatched).unwrap()
}

#[test]
fn a_stream_drops_only_lines_with_control_characters() {
    let corpus = read("a\r\n\n  \n\u{1b}[0m\n b\nnul\0\nc");
    assert_eq!(corpus.stream(), Some("a\n\n  \n b\nc\n"));
    assert_eq!((corpus.stats().lines, corpus.stats().control), (7, 2));
}

#[test]
fn generated_sentences_make_one_stream() {
    let source = CorpusSource::Builtin { task: BuiltinTask::Reverse, pairs: 30 };
    let read = |kind| crate::read(&source, kind, None, 1, &mut crate::unwatched).unwrap();
    let lines = read(DataKind::Lines);
    let mut stream = read(DataKind::Stream);
    let text = |corpus: &Corpus| corpus.stream().unwrap().to_owned();
    let whole = text(&stream);
    assert_eq!(whole, lines.tgt_texts().join("\n") + "\n");
    let held = stream.hold_out(0.25).unwrap();
    assert_eq!(text(&stream) + &text(&held), whole);
    let share = text(&held).len() as f64 / whole.len() as f64;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

/// The targets of each row; checks that the input is shifted by one token.
fn targets(batch: &Batch) -> Vec<Vec<TokenId>> {
    let (read, targets) = (batch.tgt_in().unwrap(), &batch.tgt_out);
    assert_eq!((read.lens(), read.width()), (targets.lens(), targets.width()));
    assert!(batch.lines.is_empty(), "windows have no line numbers");
    let rows = targets.lens().iter().enumerate().map(|(row, &len)| {
        let row = row * targets.width()..row * targets.width() + len;
        let (read, row) = (&read.ids[row.clone()], &targets.ids[row]);
        assert!(read.iter().zip(row).all(|(read, target)| read + 1 == *target));
        row.to_vec()
    });
    rows.collect()
}

#[test]
fn fixed_windows_predict_every_token_but_the_first() {
    for len in [2, 7, 8, 9, 50] {
        let ids: Vec<TokenId> = (0..len).collect();
        let batches = fixed_windows(&ids, 7, 3).unwrap();
        assert!(batches.iter().all(|batch| batch.tgt_in().unwrap().rows() <= 3));
        let all: Vec<TokenId> = batches.iter().flat_map(targets).flatten().collect();
        assert_eq!(all, ids[1..]);
    }
    assert!(fixed_windows(&[4], 7, 3).is_err());
}

#[test]
fn every_epoch_cuts_the_stream_differently() {
    let ids: Vec<TokenId> = (0..200).collect();
    let mut stream = Stream::new(ids.clone(), 16, 3, 1).unwrap();
    let mut first = Vec::new();
    for number in 0..4 {
        let n = stream.batches_per_epoch();
        let mut windows: Vec<_> = (0..n).flat_map(|_| targets(&stream.next_batch())).collect();
        assert_eq!(stream.position(), Position { epoch: number + 1, ..Position::default() });
        assert!(windows.iter().all(|window| window.len() == 16));
        windows.sort();
        let all = windows.concat();
        assert!(all.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        assert!(all.len() > 200 - 2 * 16 - 1);
        first.push(all[0]);
    }
    first.dedup();
    assert!(first.len() > 1, "{first:?}");
}

#[test]
fn a_stream_can_be_resumed_at_any_position() {
    let ids: Vec<TokenId> = (0..200).collect();
    let mut stream = Stream::new(ids.clone(), 16, 3, 1).unwrap();
    for _ in 0..10 {
        let position = stream.position();
        let batch = stream.next_batch();
        let mut other = Stream::new(ids.clone(), 16, 3, 1).unwrap();
        other.seek(position).unwrap();
        assert_eq!(other.next_batch(), batch);
    }
    let beyond = Position { batch: 99, ..Position::default() };
    assert!(matches!(stream.seek(beyond), Err(Error::Data { .. })));
    assert!(Stream::new(ids[..16].to_vec(), 16, 3, 1).is_err());
    assert!(Stream::new(ids[..17].to_vec(), 16, 3, 1).is_ok());
}

fn held_out(content: &str, kind: DataKind, share: f64) -> Result<(Corpus, Corpus)> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), content).unwrap();
    let source = CorpusSource::file(CorpusFormat::Text, "file");
    let mut train = crate::read(&source, kind, Some(dir.path()), 1, &mut crate::unwatched)?;
    let held = train.hold_out(share)?;
    Ok((train, held))
}

#[test]
fn the_end_of_the_corpus_is_held_out() {
    let lines: Vec<String> = (1..=10).map(|n| format!("line {n}\n")).collect();
    let (train, held) = held_out(&lines.concat(), DataKind::Lines, 0.2).unwrap();
    assert_eq!((train.entries().len(), held.entries().len()), (8, 2));
    assert_eq!(held.entries()[0].line, 9);
    assert_eq!(held.stats().lines, 2);
    let text = "äöü\nabc\nxyz\n";
    let (train, held) = held_out(text, DataKind::Stream, 0.25).unwrap();
    assert_eq!((train.stream(), held.stream()), (Some("äöü\nabc\nx"), Some("yz\n")));
}

#[test]
fn neither_side_of_a_split_may_be_empty() {
    for (kind, share) in
        [(DataKind::Lines, 0.1), (DataKind::Lines, 0.9), (DataKind::Stream, 0.01), (DataKind::Stream, 0.99)]
    {
        let error = held_out("a\nb\n", kind, share).unwrap_err();
        assert!(matches!(&error, Error::Config { key, .. } if key == "data.hold_out"), "{error}");
    }
}
