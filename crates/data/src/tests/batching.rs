use attentive_base::batch::Batch;
use attentive_base::error::Error;
use attentive_base::random::Random;

use attentive_text::SpecialTokens;

use super::SPECIAL;
use crate::{BatchSize, Batcher, Budget, CorpusParts, Example, Position, fixed_batches};

/// Pairs of random lengths; the ids encode the line number.
fn pairs(n: usize) -> Vec<Example> {
    let mut random = Random::new(5, 0);
    let pair = |line| {
        let mut tokens = |bound| vec![3 + line as u32; random.below(bound)];
        let (src, tgt) = (tokens(40), tokens(30));
        Example::translation(src, &tgt, SPECIAL, line)
    };
    (1..=n).map(pair).collect()
}

fn batcher(n: usize, tokens: usize, seed: u64) -> Batcher {
    Batcher::new(pairs(n), Budget::new(tokens), seed, SPECIAL, None).unwrap()
}

fn epoch(batcher: &mut Batcher) -> Vec<Batch> {
    let n = batcher.batches_per_epoch();
    (0..n).map(|_| batcher.next_batch().unwrap()).collect()
}

#[test]
fn every_pair_occurs_once_per_epoch() {
    // A hundred tokens per batch give several windows.
    for (n, tokens) in [(1, 4096), (500, 300), (5000, 100)] {
        let mut batcher = batcher(n, tokens, 1);
        for number in 0..3 {
            assert_eq!(batcher.position(), Position { epoch: number, ..Position::default() });
            let mut lines: Vec<usize> =
                epoch(&mut batcher).into_iter().flat_map(|batch| batch.lines).collect();
            lines.sort_unstable();
            assert_eq!(lines, (1..=n).collect::<Vec<_>>());
        }
    }
}

#[test]
fn batches_respect_the_budget_and_fill_it() {
    let mut batcher = batcher(5000, 300, 1);
    let batches = epoch(&mut batcher);
    for batch in &batches {
        assert!(batch.tgt_out.ids.len() <= 300);
        assert!(batch.src_tokens().unwrap().ids.len() <= 600);
    }
    let real: usize = batches.iter().map(|batch| batch.tgt_out.lengths.total()).sum();
    let padded: usize = batches.iter().map(|batch| batch.tgt_out.ids.len()).sum();
    assert!(real * 10 > padded * 9, "{real} of {padded} positions are tokens");
    assert!(padded * 10 > 300 * batches.len() * 7, "{padded} positions in {} batches", batches.len());
}

#[test]
fn rows_are_shifted_and_padded() {
    let pair = |src: &[u32], tgt: &[u32], line| Example::translation(src.to_vec(), tgt, SPECIAL, line);
    let pairs = vec![pair(&[7, 8], &[9], 1), pair(&[5], &[6, 7], 2)];
    let batches = fixed_batches(pairs, Budget::new(100), SPECIAL, None).unwrap();
    let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
    assert_eq!(batch.lines, [1, 2]);
    let src = batch.src_tokens().unwrap();
    assert_eq!(src.ids, [7, 8, 3, 5, 3, 0]);
    assert_eq!(src.lens(), [3, 2]);
    assert_eq!(batch.tgt_in().unwrap().ids, [2, 9, 0, 2, 6, 7]);
    assert_eq!(batch.tgt_out.ids, [9, 3, 0, 6, 7, 3]);
    assert_eq!(batch.tgt_out.lens(), [2, 3]);
}

#[test]
fn a_translation_begins_with_the_token_that_search_forces() {
    let special = SpecialTokens { forced: Some(9), ..SPECIAL };
    let pair = Example::translation(vec![7], &[6], special, 1);
    assert_eq!((pair.src(), pair.tgt_in()), (&[7, 3][..], &[2, 9, 6][..]));
    assert_eq!(pair.tgt_out, [9, 6, 3]);
    let text = Example::text(&[6], special, 1);
    assert_eq!(text.tgt_out, [6, 3]);
}

#[test]
fn any_position_can_be_resumed() {
    let mut batcher = batcher(600, 200, 9);
    let n = batcher.batches_per_epoch();
    let run: Vec<(Position, Batch)> =
        (0..2 * n + 5).map(|_| (batcher.position(), batcher.next_batch().unwrap())).collect();
    for start in [0, 1, n / 2, n - 1, n, n + 3] {
        let mut resumed = self::batcher(600, 200, 9);
        let text = serde_json::to_string(&run[start].0).unwrap();
        resumed.seek(serde_json::from_str(&text).unwrap()).unwrap();
        for (position, batch) in &run[start..] {
            assert_eq!(resumed.position(), *position);
            assert_eq!(resumed.next_batch().unwrap(), *batch);
        }
    }
    let outside = Position { epoch: 1, window: 0, batch: 100_000 };
    assert!(matches!(batcher.seek(outside), Err(Error::Data { .. })));
}

#[test]
fn epochs_and_seeds_differ() {
    let mut first = batcher(500, 300, 1);
    let batches = [epoch(&mut first), epoch(&mut first), epoch(&mut batcher(500, 300, 2))];
    assert_ne!(batches[0], batches[1]);
    assert_ne!(batches[0], batches[2]);
    let lengths = |batches: &[Batch]| batches.iter().map(|batch| batch.tgt_out.width()).collect::<Vec<_>>();
    assert!(!lengths(&batches[0]).is_sorted());
}

#[test]
fn fixed_batches_are_sorted_and_complete() {
    let batches = fixed_batches(pairs(700), Budget::new(300), SPECIAL, None).unwrap();
    assert_eq!(batches, fixed_batches(pairs(700), Budget::new(300), SPECIAL, None).unwrap());
    assert!(batches.iter().map(|batch| batch.tgt_out.width()).is_sorted());
    let mut lines: Vec<usize> = batches.into_iter().flat_map(|batch| batch.lines).collect();
    lines.sort_unstable();
    assert_eq!(lines, (1..=700).collect::<Vec<_>>());
}

#[test]
fn a_pair_above_the_budget_is_refused() {
    let pair = |src: usize, tgt| vec![Example::translation(vec![5; src - 1], &vec![5; tgt], SPECIAL, 1)];
    let needed = |pairs: Vec<Example>| match Batcher::new(pairs, Budget::new(10), 1, SPECIAL, None) {
        Err(Error::Config { key, expected, .. }) => (key, expected),
        other => panic!("{other:?}"),
    };
    for (pairs, at_least) in [(pair(1, 10), "at least 11"), (pair(21, 1), "at least 11")] {
        let (key, expected) = needed(pairs);
        assert_eq!(key, "train.batch_tokens");
        assert!(expected.contains(at_least), "{expected}");
    }
    assert!(Batcher::new(pair(20, 9), Budget::new(10), 1, SPECIAL, None).is_ok());
    assert!(matches!(Batcher::new(vec![], Budget::new(10), 1, SPECIAL, None), Err(Error::Data { .. })));
    assert!(matches!(fixed_batches(vec![], Budget::new(10), SPECIAL, None), Err(Error::Data { .. })));
}

#[test]
fn predicted_sizes_for_another_budget_are_exact() {
    let batcher = batcher(2000, 500, 1);
    let least = batcher.least_batch_tokens();
    for tokens in [least, 70, 1000, 1_000_000] {
        let other = Batcher::new(pairs(2000), Budget::new(tokens), 1, SPECIAL, None).unwrap();
        let expected = other.sizes();
        assert_eq!(batcher.sizes_within(Budget::new(tokens)), expected);
        let fits = |size: &BatchSize| size.tgt_tokens() <= tokens && size.src_tokens() <= 2 * tokens;
        assert!(!expected.is_empty() && expected.iter().all(fits), "{expected:?}");
    }
    let refused = Batcher::new(pairs(2000), Budget::new(least - 1), 1, SPECIAL, None);
    assert!(matches!(refused, Err(Error::Config { .. })));
}

#[test]
fn the_byte_estimate_grows_with_the_corpus() {
    let bytes = |n| batcher(n, 500, 1).bytes() as f64;
    let (few, many) = (bytes(1000), bytes(4000));
    assert!((3.5..4.5).contains(&(many / few)), "{few}, {many} bytes");
    // About 52 tokens of four bytes, plus their containers.
    assert!((200.0..500.0).contains(&(few / 1000.0)), "{few} bytes");
}

/// Counts how often each line occurs in each of the first `n_epochs` epochs.
fn counts(batcher: &mut Batcher, n: usize, n_epochs: u64) -> Vec<Vec<usize>> {
    let mut counts = vec![vec![0; n]; n_epochs as usize];
    while batcher.position().epoch < n_epochs {
        let epoch = batcher.position().epoch as usize;
        for line in batcher.next_batch().unwrap().lines {
            counts[epoch][line - 1] += 1;
        }
    }
    counts
}

#[test]
fn weighted_parts_have_their_shares_of_each_epoch() {
    let (bounds, weights) = ([300, 300, 900, 1000], [2.0, 9.0, 0.5, 1.3]);
    let examples = pairs(1000);
    let parts = CorpusParts::by_line(&examples, &bounds, &weights);
    let (budget, n_epochs) = (Budget::new(300), 20);
    let mut batcher = Batcher::of_parts(examples, parts, budget, 3, SPECIAL, None).unwrap();
    let counts = counts(&mut batcher, 1000, n_epochs);
    for line in 0..1000 {
        let part = bounds.iter().position(|&bound| line < bound).unwrap();
        for (epoch, _) in counts.iter().enumerate() {
            let seen: usize = counts[..=epoch].iter().map(|counts| counts[line]).sum();
            let exact = weights[part] * (epoch + 1) as f64;
            assert!((seen as f64 - exact).abs() < 1.0, "line {line}: {seen}, not {exact}");
        }
    }
    for counts in &counts {
        for (part, range) in [(0, 0..300), (2, 300..900), (3, 900..1000)] {
            let exact = weights[part] * range.len() as f64;
            let seen: usize = counts[range].iter().sum();
            assert!((seen as f64 - exact).abs() <= 1.0, "part {part}: {seen}, not {exact}");
        }
    }
}

#[test]
fn weighted_parts_are_resumed_exactly() {
    let parts = CorpusParts::new(&[300, 1000], &[2.5, 0.3]);
    let budget = Budget::new(300);
    let begin = || Batcher::of_parts(pairs(1000), parts.clone(), budget, 3, SPECIAL, None).unwrap();
    let mut whole = begin();
    for _ in 0..700 {
        let mut resumed = begin();
        resumed.seek(whole.position()).unwrap();
        assert_eq!(resumed.next_batch().unwrap(), whole.next_batch().unwrap());
        for _ in 0..whole.position().batch % 13 {
            whole.next_batch().unwrap();
        }
    }
    assert!(whole.position().epoch > 2);
}

#[test]
fn epochs_without_examples_are_passed_over() {
    let parts = CorpusParts::new(&[1, 10], &[0.1, 0.1]);
    let budget = Budget::new(300);
    let mut batcher = Batcher::of_parts(pairs(10), parts, budget, 3, SPECIAL, None).unwrap();
    let counts = counts(&mut batcher, 10, 10);
    let seen = |line: usize| -> usize { counts.iter().map(|counts| counts[line]).sum() };
    assert!((0..10).all(|line| seen(line) == 1), "{counts:?}");
    let none = CorpusParts::new(&[1, 10], &[0.04, 0.04]);
    let error = Batcher::of_parts(pairs(10), none, budget, 3, SPECIAL, None).unwrap_err();
    assert!(error.to_string().contains("data.train.weight"), "{error}");
}
