use crate::batch::{Batch, TokenId};
use crate::config::CorpusConfig;
use crate::data::{Corpus, Form, Position, Stream, fixed_windows, read};
use crate::error::{Error, Result};

/// A text whose tokens are their own places.
fn text(len: u32) -> Vec<TokenId> {
    (0..len).collect()
}

fn stream(len: u32, window: usize, rows: usize, seed: u64) -> Stream {
    Stream::new(text(len), window, rows, seed).unwrap()
}

fn epoch(stream: &mut Stream) -> Vec<Batch> {
    let n = stream.batches_per_epoch();
    (0..n).map(|_| stream.next_batch()).collect()
}

fn targets(batches: &[Batch]) -> Vec<TokenId> {
    let ids = batches.iter().flat_map(|batch| &batch.tgt_out.ids);
    ids.copied().collect()
}

#[test]
fn each_token_comes_at_most_once_an_epoch_and_nearly_all_do() {
    for (len, window, rows) in [(1000, 10, 3), (1000, 7, 64), (11, 10, 4), (21, 10, 4)] {
        let mut stream = stream(len, window, rows, 3);
        for _ in 0..4 {
            let batches = epoch(&mut stream);
            let mut seen = targets(&batches);
            seen.sort_unstable();
            let all = seen.len();
            seen.dedup();
            assert_eq!(seen.len(), all, "no token comes twice");
            assert!(all + 2 * window > len as usize, "{all} of {len} tokens");
            for batch in &batches {
                assert!(batch.tgt_in.rows() <= rows && batch.tgt_in.width == window);
                let pairs = batch.tgt_in.ids.iter().zip(&batch.tgt_out.ids);
                assert!(pairs.clone().all(|(seen, next)| seen + 1 == *next));
                for row in batch.tgt_in.ids.chunks(window) {
                    assert!(row.windows(2).all(|pair| pair[0] + 1 == pair[1]));
                }
            }
        }
    }
}

#[test]
fn epochs_are_cut_and_shuffled_anew() {
    let mut one = stream(1000, 10, 4, 1);
    let (first, second) = (targets(&epoch(&mut one)), targets(&epoch(&mut one)));
    assert!(!first.is_sorted());
    assert_ne!(first, second);
    assert_ne!(first[0] % 10, second[0] % 10, "another offset");
    assert_ne!(first, targets(&epoch(&mut stream(1000, 10, 4, 2))));
    assert_eq!(first, targets(&epoch(&mut stream(1000, 10, 4, 1))));
}

#[test]
fn any_position_can_be_taken_up_again() {
    let mut whole = stream(300, 8, 3, 9);
    let n = whole.batches_per_epoch();
    let run: Vec<(Position, Batch)> = (0..3 * n)
        .map(|_| (whole.position(), whole.next_batch()))
        .collect();
    for start in [0, 1, n - 1, n, 2 * n - 1] {
        let mut resumed = stream(300, 8, 3, 9);
        resumed.seek(run[start].0).unwrap();
        for (position, batch) in &run[start..] {
            assert_eq!(resumed.position(), *position);
            assert_eq!(resumed.next_batch(), *batch);
        }
    }
    let outside = Position {
        epoch: 1,
        batch: 1000,
    };
    assert!(matches!(whole.seek(outside), Err(Error::Data { .. })));
}

#[test]
fn validation_goes_through_the_text_in_order() {
    let batches = fixed_windows(&text(35), 10, 2).unwrap();
    assert_eq!(batches.len(), 2);
    assert_eq!(targets(&batches), (1..31).collect::<Vec<_>>());
}

#[test]
fn a_text_shorter_than_a_window_is_refused() {
    assert!(Stream::new(text(11), 10, 1, 1).is_ok());
    for error in [
        Stream::new(text(10), 10, 1, 1).unwrap_err(),
        fixed_windows(&text(10), 10, 1).unwrap_err(),
    ] {
        assert!(error.hint().is_some(), "{error}");
    }
}

/// What is read from a file with this content, and the `share` at its end.
fn held_out(content: &str, form: Form, share: f64) -> Result<(Corpus, Corpus)> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), content).unwrap();
    let config = CorpusConfig {
        text: Some("file".into()),
        ..CorpusConfig::default()
    };
    let mut train = read(&config, form, Some(dir.path()), 1)?;
    let held = train.hold_out(share, form)?;
    Ok((train, held))
}

#[test]
fn the_end_of_the_corpus_is_held_out() {
    let lines: Vec<String> = (1..=10).map(|n| format!("line {n}\n")).collect();
    let (train, held) = held_out(&lines.concat(), Form::Lines, 0.2).unwrap();
    assert_eq!((train.pairs.len(), held.pairs.len()), (8, 2));
    assert_eq!(held.pairs[0].line, 9);
    assert_eq!(held.stats.lines, 2);
    let text = "äöü\nabc\nxyz\n";
    let (train, held) = held_out(text, Form::Stream, 0.25).unwrap();
    assert_eq!(
        (&*train.pairs[0].tgt, &*held.pairs[0].tgt),
        ("äöü\nabc\nx", "yz\n")
    );
}

#[test]
fn both_sides_of_what_is_held_out_need_something() {
    for (form, share) in [
        (Form::Lines, 0.1),
        (Form::Lines, 0.9),
        (Form::Stream, 0.01),
        (Form::Stream, 0.99),
    ] {
        let error = held_out("a\nb\n", form, share).unwrap_err();
        assert!(
            matches!(&error, Error::Config { key, .. } if key == "data.hold_out"),
            "{error}"
        );
    }
}
