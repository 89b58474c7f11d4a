use attentive_base::batch::{Batch, IGNORE, Padded, TokenId};
use attentive_base::body::Body;
use attentive_config::{Task, TokenizerConfig, TokenizerKind};
use attentive_text::{Masks, SpecialTokens, Tokenizer, Tokenizers, learn};

use crate::{
    Batcher, Budget, Corpus, DataKind, Example, Item, LineEncoder, Masking, encode, fixed_batches, unwatched,
};

const MASK: TokenId = 4;
const WORDS: usize = 200;

fn tokenizer(masks: Masks) -> Tokenizer {
    let config =
        TokenizerConfig { kind: TokenizerKind::Word, min_frequency: 1, ..TokenizerConfig::default() };
    let words: Vec<String> = (0..WORDS).map(|n| format!("w{n}")).collect();
    let tokenizers = learn(&config, masks, &[], &[words.join(" ")]).unwrap();
    tokenizers.tgt().clone()
}

fn masking(seed: u64) -> Masking {
    Masking::new(&tokenizer(Masks::With), seed).unwrap()
}

fn special() -> SpecialTokens {
    tokenizer(Masks::With).special()
}

/// Texts of `len` distinct words.
fn texts(n: usize, len: usize) -> Vec<Example> {
    let word = |n: usize| (MASK as usize + 1 + n % WORDS) as TokenId;
    let text = |line: usize| (0..len).map(|place| word(line * 7 + place)).collect();
    (1..=n).map(|line| Example::whole(text(line), special(), line)).collect()
}

fn masked(n: usize, len: usize, seed: u64) -> Batch {
    let texts = texts(n, len);
    let rows: Vec<&[TokenId]> = texts.iter().map(Example::src).collect();
    let mut batch = whole(&rows);
    masking(seed).apply(&mut batch, 0);
    batch
}

/// A batch of whole texts.
fn whole<S: AsRef<[TokenId]>>(rows: &[S]) -> Batch {
    let tokens = Padded::new(rows, 0);
    Batch {
        inputs: Body::Encoder(tokens.clone().into()),
        tgt_out: tokens,
        lines: (1..=rows.len()).collect(),
        weights: Vec::new(),
        aligned: Vec::new(),
    }
}

/// The tokens that the encoder reads.
fn read(batch: &Batch) -> &Padded {
    batch.src_tokens().unwrap()
}

#[test]
fn masking_rates_match_the_paper() {
    let (n, len) = (500, 100);
    let batch = masked(n, len, 1);
    let texts = texts(n, len);
    let whole = texts.iter().flat_map(Example::src);
    let [mut chosen, mut hidden, mut kept, mut replaced] = [0.0; 4];
    let tokens = read(&batch).ids.iter().zip(&batch.tgt_out.ids).zip(whole);
    for ((&token, &label), &original) in tokens {
        if label == IGNORE {
            assert_eq!(token, original, "tokens that are not chosen stay unchanged");
            continue;
        }
        assert_eq!(label, original);
        assert_ne!(label, special().eos, "`</s>` is never chosen");
        chosen += 1.0;
        match token {
            MASK => hidden += 1.0,
            _ if token == original => kept += 1.0,
            _ => replaced += 1.0,
        }
        assert!(token >= MASK && (token as usize) < MASK as usize + 1 + WORDS);
    }
    // 50,000 tokens: within five standard deviations.
    let all = (n * len) as f64;
    assert!((chosen / all - 0.15_f64).abs() < 0.008, "{chosen}");
    assert!((hidden / chosen - 0.8_f64).abs() < 0.023, "{hidden}");
    assert!((kept / chosen - 0.1_f64).abs() < 0.018, "{kept}");
    assert!((replaced / chosen - 0.1_f64).abs() < 0.018, "{replaced}");
}

#[test]
fn every_text_has_something_to_predict() {
    let batch = masked(300, 1, 1);
    for row in batch.tgt_out.ids.chunks(2) {
        assert!(row[0] != IGNORE && row[1] == IGNORE, "{row:?}");
    }
    // Of two words, usually one is chosen and sometimes both.
    let batch = masked(1000, 2, 1);
    let chosen = batch.tgt_out.ids.iter().filter(|&&label| label != IGNORE);
    let chosen = chosen.count();
    assert!((1005..1060).contains(&chosen), "{chosen}");
}

#[test]
fn masks_depend_only_on_seed_line_and_epoch() {
    assert_eq!(masked(20, 30, 1), masked(20, 30, 1));
    assert_ne!(masked(20, 30, 1).inputs, masked(20, 30, 2).inputs);
    let batcher = |tokens| {
        let budget = Budget::new(tokens);
        Batcher::new(texts(20, 30), budget, 5, special(), Some(masking(5))).unwrap()
    };
    let epoch = |batcher: &mut Batcher| {
        let mut rows: Vec<(usize, Vec<TokenId>)> = Vec::new();
        for _ in 0..batcher.batches_per_epoch() {
            let batch = batcher.next_batch().unwrap();
            let src = read(&batch);
            let sources = src.ids.chunks(src.width()).map(<[_]>::to_vec);
            rows.extend(batch.lines.iter().copied().zip(sources));
        }
        rows.sort();
        rows
    };
    let (mut narrow, mut wide) = (batcher(50), batcher(5000));
    let first = epoch(&mut narrow);
    assert_eq!(first, epoch(&mut wide));
    assert_ne!(first, epoch(&mut narrow));
}

#[test]
fn validation_masks_the_same_tokens_each_time() {
    let batches = |tokens| {
        let budget = Budget::new(tokens);
        fixed_batches(texts(20, 30), budget, special(), Some(masking(5))).unwrap()
    };
    let rows = |batches: Vec<Batch>| -> Vec<TokenId> {
        batches.iter().flat_map(|batch| read(batch).ids.clone()).collect()
    };
    assert_eq!(rows(batches(50)), rows(batches(5000)));
    assert!(rows(batches(50)).contains(&MASK));
}

#[test]
fn unknown_tokens_are_never_chosen() {
    let unk = special().unk;
    let rows: Vec<Vec<TokenId>> = (0..200).map(|_| vec![unk, unk, MASK + 9, unk, 3]).collect();
    let mut batch = whole(&rows);
    masking(1).apply(&mut batch, 0);
    for (read, targets) in read(&batch).ids.chunks(5).zip(batch.tgt_out.ids.chunks(5)) {
        assert_eq!(targets, [IGNORE, IGNORE, MASK + 9, IGNORE, IGNORE]);
        assert_eq!([read[0], read[1], read[3], read[4]], [unk, unk, unk, 3]);
    }
}

#[test]
fn texts_without_maskable_tokens_are_dropped_and_counted() {
    let tokenizers = Tokenizers::Shared(tokenizer(Masks::With));
    let of = |texts: &[&str]| {
        let items = texts.iter().map(|&text| Item::Text(text.into()));
        let corpus = Corpus::from_items(DataKind::Lines, items).unwrap();
        encode(&corpus, LineEncoder::new(Task::Fill, &tokenizers, 4), &mut unwatched)
    };
    let (examples, stats) = of(&["w1 never", "never heard", "w1 w2 w3 w4"]).unwrap();
    assert_eq!(examples.len(), 1);
    assert_eq!((stats.dropped_long, stats.dropped_unknown), (1, 1));
    assert!(stats.to_string().ends_with("1 dropped without a known token"));
    let error = of(&["never heard"]).unwrap_err();
    assert!(error.to_string().contains("a known token"), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn masking_requires_a_mask_token() {
    assert_eq!(Masking::new(&tokenizer(Masks::Without), 1), None);
}
