use std::cell::RefCell;

use attentive_base::batch::Padded;
use attentive_config::Units;
use attentive_text::SpecialTokens;

use super::*;
use crate::{Logits, NextToken};

const SPECIAL: SpecialTokens = SpecialTokens {
    pad: 0,
    unk: 1,
    bos: 2,
    eos: 3,
    mask: Some(4),
    start: 2,
    first: None,
    forced: None,
    last: None,
};

/// A model whose logits depend on the last token and on the position.
struct Toy {
    logits: fn(TokenId, usize) -> Vec<f32>,
    max_len: usize,
    /// The tokens read since each start.
    read: RefCell<Vec<Vec<TokenId>>>,
}

impl Toy {
    fn new(max_len: usize, logits: fn(TokenId, usize) -> Vec<f32>) -> Self {
        let read = RefCell::default();
        Self { logits, max_len, read }
    }
}

/// A row of the toy: its number among all rows started so far, and the next position.
type Row = (usize, usize);

impl Toy {
    fn logits_after(&self, token: TokenId, row: &mut Row) -> Vec<f32> {
        let (number, position) = row;
        assert!(*position < self.max_len);
        self.read.borrow_mut()[*number].push(token);
        *position += 1;
        (self.logits)(token, *position - 1)
    }
}

impl Stepper for Toy {
    type State = Vec<Row>;
    type Last = Logits;

    fn start(&self) -> Vec<Row> {
        Vec::new()
    }

    fn start_watched(&self) -> Option<Vec<Row>> {
        None
    }

    fn admit(&self, src: &Padded, rows: &mut Vec<Row>) {
        for _ in 0..src.rows() {
            rows.push((self.read.borrow().len(), 0));
            self.read.borrow_mut().push(Vec::new());
        }
    }

    fn step(&self, _: &[TokenId], _: &mut Vec<Row>) -> Logits {
        unreachable!("texts are read")
    }

    fn read(&self, tokens: &Padded, rows: &mut Vec<Row>) -> Logits {
        assert_eq!(tokens.rows(), rows.len());
        let texts = tokens.ids.chunks(tokens.width()).zip(tokens.lens());
        let mut last = Vec::new();
        for ((tokens, &len), row) in texts.zip(rows) {
            let all = tokens[..len].iter().map(|&token| self.logits_after(token, row));
            last.push(all.last().expect("a token to read"));
        }
        let vocab = last[0].len();
        Logits::new(last.concat(), vocab)
    }

    fn select(&self, kept: &[usize], rows: &mut Vec<Row>) {
        *rows = kept.iter().map(|&row| rows[row]).collect();
    }

    fn likeliest(&self, _: Logits, _: usize, _: &[TokenId]) -> Vec<Vec<NextToken>> {
        unreachable!("sampling reads logits")
    }

    fn logits(&self, logits: Logits) -> Logits {
        logits
    }

    fn cross_attention(&self, _: &Vec<Row>) -> Vec<Vec<f32>> {
        unreachable!("there is no source")
    }

    fn max_len(&self) -> usize {
        self.max_len
    }
}

/// Logits under which special tokens are most likely, then 5, 6, 7, … in this order.
fn falling(_: TokenId, _: usize) -> Vec<f32> {
    (0..12).map(|token| 2.0 - 0.4 * token as f32).collect()
}

/// Rules that bar all special tokens except the end of a line.
fn rules(units: Units) -> TextRules {
    let never = SPECIAL.ids();
    TextRules {
        units,
        ends: vec![SPECIAL.eos],
        pad: SPECIAL.pad,
        never: never.filter(|&id| id != SPECIAL.eos || units == Units::Stream).collect(),
    }
}

fn draw_all(toy: &Toy, text: &[TokenId], units: Units, options: SampleOptions) -> SampledText {
    continue_text(toy, text, rules(units), &options, |_| Ok(ControlFlow::Continue(()))).unwrap()
}

fn sampling(temperature: f64, top_k: usize, top_p: f64) -> SampleOptions {
    SampleOptions {
        sampling: Sampling { temperature, top_k, top_p, ..Sampling::default() },
        ..SampleOptions::default()
    }
}

/// Frequency of each token drawn from the logits of [`falling`].
fn counts(options: SampleOptions) -> [usize; 12] {
    let mut sampler = Sampler::new(&options, &rules(Units::Stream));
    let mut counts = [0; 12];
    for _ in 0..4000 {
        let token = sampler.draw(&falling(0, 0)).unwrap();
        counts[token as usize] += 1;
    }
    counts
}

#[test]
fn frequencies_match_probabilities() {
    let counts = counts(sampling(0.7, 0, 1.0));
    let weight = |token: usize| (-0.4 * token as f64 / 0.7).exp();
    let total: f64 = (5..12).map(weight).sum();
    assert_eq!(counts[..5], [0; 5]);
    for (token, &count) in counts.iter().enumerate().skip(5) {
        let expected = 4000.0 * weight(token) / total;
        let deviation = (count as f64 - expected).abs();
        assert!(deviation < 5.0 * expected.sqrt(), "{token}: {count}, not {expected}");
    }
}

#[test]
fn only_the_top_tokens_are_drawn() {
    let drawn = |temperature, top_k, top_p| -> Vec<usize> {
        let counts = counts(sampling(temperature, top_k, top_p));
        (0..12).filter(|&token| counts[token] > 0).collect()
    };
    assert_eq!(drawn(1.0, 3, 1.0), [5, 6, 7]);
    assert_eq!(drawn(1.0, usize::MAX, 1.0), [5, 6, 7, 8, 9, 10, 11]);
    // The first of seven tokens has a probability of 0.35, the first two together 0.58.
    assert_eq!(drawn(1.0, 0, 0.3), [5]);
    assert_eq!(drawn(1.0, 0, 0.5), [5, 6]);
    // Of the remaining two tokens, the first has a probability of 0.6.
    assert_eq!(drawn(1.0, 2, 0.59), [5]);
    assert_eq!(drawn(1.0, 2, 0.61), [5, 6]);
    assert_eq!(drawn(1e-300, 0, 1.0), [5]);
    assert_eq!(drawn(0.0, 0, 1.0), [5]);
    assert_eq!(drawn(1.0, 1, 1.0), [5]);
}

#[test]
fn a_sample_depends_only_on_seed_and_number() {
    let toy = Toy::new(50, falling);
    let tokens = |seed, number| {
        let mut options = SampleOptions { number, max_new_tokens: 20, ..SampleOptions::default() };
        options.sampling.seed = seed;
        draw_all(&toy, &[2], Units::Stream, options).tokens
    };
    assert_eq!(tokens(1, 2), tokens(1, 2));
    assert_ne!(tokens(1, 2), tokens(1, 3));
    assert_ne!(tokens(1, 2), tokens(2, 2));
}

/// A model that counts up to 10, then predicts `</s>`.
fn counting(last: TokenId, _: usize) -> Vec<f32> {
    let next = if last == 10 { SPECIAL.eos } else { last + 1 };
    (0..12).map(|token| if token == next { 9.0 } else { 0.0 }).collect()
}

#[test]
fn the_reason_of_an_ending_is_reported() {
    let greedy = |max_new_tokens| SampleOptions { max_new_tokens, ..sampling(0.0, 0, 1.0) };
    let end = |max_len, max_new_tokens| {
        let toy = Toy::new(max_len, counting);
        let drawn = draw_all(&toy, &[2, 5], Units::Lines, greedy(max_new_tokens));
        (drawn.tokens, drawn.ending.unwrap())
    };
    assert_eq!(end(9, 99), (vec![6, 7, 8, 9, 10], Ending::EndOfText));
    assert_eq!(end(9, 2), (vec![6, 7], Ending::MaxNewTokens));
    assert_eq!(end(4, 99), (vec![6, 7, 8], Ending::ContextFull));
    assert_eq!(end(2, 99), (vec![6], Ending::ContextFull));

    let toy = Toy::new(9, counting);
    let until_8 = |token| Ok(if token == 8 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) });
    let stopped = continue_text(&toy, &[5], rules(Units::Lines), &greedy(99), until_8).unwrap();
    assert_eq!((stopped.tokens, stopped.ending), (vec![6, 7, 8], Some(Ending::Stopped)));

    let broken = Toy::new(9, |last, position| match position {
        2 => vec![f32::NAN; 12],
        _ => counting(last, position),
    });
    let drawn = draw_all(&broken, &[5], Units::Lines, greedy(99));
    assert_eq!((drawn.tokens, drawn.ending), (vec![6, 7], None));
}

#[test]
fn a_stream_restarts_with_the_last_half_of_its_context() {
    let toy = Toy::new(5, |last, _| (0..12).map(|token| f32::from(token == 5 + (last - 4) % 7)).collect());
    let options = SampleOptions { max_new_tokens: 9, ..sampling(0.0, 0, 1.0) };
    let drawn = draw_all(&toy, &[9, 5, 6], Units::Stream, options);
    assert_eq!(drawn.tokens, [7, 8, 9, 10, 11, 5, 6, 7, 8]);
    assert_eq!(drawn.ending, Some(Ending::MaxNewTokens));
    // Windows overlap by the three tokens that are read again; the last drawn token is never read.
    let read: Vec<Vec<TokenId>> = vec![vec![9, 5, 6, 7, 8], vec![7, 8, 9, 10, 11], vec![10, 11, 5, 6, 7]];
    assert_eq!(*toy.read.borrow(), read);
}

/// A model that prefers the token after the last one, less so at later positions.
fn wandering(last: TokenId, position: usize) -> Vec<f32> {
    let near = |token: u32| -0.5 * f32::from((token + 12 - last % 12) as u8 % 12);
    (0..12).map(|token| near(token) / (1.0 + position as f32)).collect()
}

#[test]
fn texts_that_come_and_go_do_not_influence_each_other() {
    for units in [Units::Lines, Units::Stream] {
        let options = |number: u64| SampleOptions {
            number,
            max_new_tokens: 3 + number as usize * 5,
            ..SampleOptions::default()
        };
        let text = |number: u64| vec![5 + number as TokenId; 1 + number as usize % 4];
        let alone = |number: u64| {
            let toy = Toy::new(7, wandering);
            draw_all(&toy, &text(number), units, options(number))
        };
        let toy = Toy::new(7, wandering);
        let mut texts = TextDecoding::new(&toy, rules(units));
        let (mut found, mut step) = (Vec::new(), 0);
        while step < 6 || !texts.is_empty() {
            if step < 6 {
                texts.add((step, Vec::new()), &text(step), &options(step));
            }
            if step == 7 {
                texts.retain(|(number, _)| *number != 5);
            }
            found.extend(texts.advance(|(_, tokens), token| {
                tokens.push(token);
                ControlFlow::Continue(())
            }));
            step += 1;
        }
        found.sort_by_key(|((number, _), _)| *number);
        let mut numbers = Vec::new();
        for ((number, tokens), ending) in found {
            numbers.push(number);
            assert_eq!(SampledText { tokens, ending }, alone(number), "text {number}");
        }
        assert!(numbers.starts_with(&[0, 1, 2, 3, 4]), "{numbers:?}");
        assert!(units == Units::Lines || !numbers.contains(&5));
    }
}

#[test]
fn invalid_options_are_refused() {
    let good = SampleOptions::default();
    assert!(good.check().is_ok());
    for wrong in [
        sampling(-0.1, 0, 1.0),
        sampling(f64::NAN, 0, 1.0),
        sampling(f64::INFINITY, 0, 1.0),
        sampling(1.0, 0, 0.0),
        sampling(1.0, 0, 1.1),
        sampling(1.0, 0, f64::NAN),
        SampleOptions { max_new_tokens: 0, ..good },
    ] {
        let error = wrong.check().unwrap_err();
        let says_how = error.hint().is_some() || error.to_string().contains("expected");
        assert!(error.exit_code() == 2 && says_how, "{error}");
    }
}
