use std::cell::RefCell;

use super::*;
use crate::model::NextToken;

const SPECIAL: SpecialTokens = SpecialTokens {
    pad: 0,
    unk: 1,
    bos: 2,
    eos: 3,
    mask: Some(4),
    start: 2,
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
        Self {
            logits,
            max_len,
            read,
        }
    }
}

impl Stepper for Toy {
    type State = usize;
    type Last = Logits;

    fn start(&self) -> usize {
        self.read.borrow_mut().push(Vec::new());
        0
    }

    fn start_watched(&self) -> Option<usize> {
        None
    }

    fn admit(&self, src: &Padded, _: &mut usize) {
        assert_eq!(src.rows(), 1);
    }

    fn step(&self, next: &[TokenId], position: &mut usize) -> Logits {
        assert!(*position < self.max_len);
        self.read.borrow_mut().last_mut().unwrap().extend(next);
        let place = std::mem::replace(position, *position + 1);
        let logits = (self.logits)(next[0], place);
        let vocab = logits.len();
        Logits::new(logits, vocab)
    }

    fn read(&self, tokens: &Padded, position: &mut usize) -> Logits {
        let steps = tokens
            .ids
            .iter()
            .map(|&token| self.step(&[token], position));
        steps.last().unwrap()
    }

    fn select(&self, _: &[usize], _: &mut usize) {
        unreachable!("there is one row")
    }

    fn likeliest(&self, _: Logits, _: usize, _: &[TokenId]) -> Vec<Vec<NextToken>> {
        unreachable!("sampling reads logits")
    }

    fn logits(&self, logits: Logits) -> Logits {
        logits
    }

    fn cross_attention(&self, _: &usize) -> Vec<Vec<f32>> {
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

fn draw_all(toy: &Toy, text: &[TokenId], units: Units, options: SampleOptions) -> Drawn {
    sample(toy, text, units, SPECIAL, &options, |_| {
        Ok(ControlFlow::Continue(()))
    })
    .unwrap()
}

fn sampling(temperature: f64, top_k: usize, top_p: f64) -> SampleOptions {
    SampleOptions {
        sampling: Sampling {
            temperature,
            top_k,
            top_p,
            seed: 0,
        },
        ..SampleOptions::default()
    }
}

/// Frequency of each token drawn from the logits of [`falling`].
fn counts(options: SampleOptions) -> [usize; 12] {
    let mut sampler = Sampler::new(&options, SPECIAL, Units::Stream);
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
        assert!(
            deviation < 5.0 * expected.sqrt(),
            "{token}: {count}, not {expected}"
        );
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
    // The first of seven has a probability of 0.35, the first two together 0.58.
    assert_eq!(drawn(1.0, 0, 0.3), [5]);
    assert_eq!(drawn(1.0, 0, 0.5), [5, 6]);
    // Of the remaining two, the first has 0.6.
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
        let mut options = SampleOptions {
            number,
            max_new_tokens: 20,
            ..SampleOptions::default()
        };
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
    (0..12)
        .map(|token| if token == next { 9.0 } else { 0.0 })
        .collect()
}

#[test]
fn the_reason_of_an_ending_is_reported() {
    let greedy = |max_new_tokens| SampleOptions {
        max_new_tokens,
        ..sampling(0.0, 0, 1.0)
    };
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
    let until_8 = |token| {
        Ok(if token == 8 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    };
    let stopped = sample(&toy, &[5], Units::Lines, SPECIAL, &greedy(99), until_8).unwrap();
    assert_eq!(
        (stopped.tokens, stopped.ending),
        (vec![6, 7, 8], Some(Ending::Stopped))
    );

    let broken = Toy::new(9, |last, position| match position {
        2 => vec![f32::NAN; 12],
        _ => counting(last, position),
    });
    let drawn = draw_all(&broken, &[5], Units::Lines, greedy(99));
    assert_eq!((drawn.tokens, drawn.ending), (vec![6, 7], None));
}

#[test]
fn a_stream_restarts_with_the_last_half_of_its_context() {
    let toy = Toy::new(5, |last, _| {
        (0..12)
            .map(|token| f32::from(token == 5 + (last - 4) % 7))
            .collect()
    });
    let options = SampleOptions {
        max_new_tokens: 9,
        ..sampling(0.0, 0, 1.0)
    };
    let drawn = draw_all(&toy, &[9, 5, 6], Units::Stream, options);
    assert_eq!(drawn.tokens, [7, 8, 9, 10, 11, 5, 6, 7, 8]);
    assert_eq!(drawn.ending, Some(Ending::MaxNewTokens));
    // Windows overlap by the three tokens that are read again; the last drawn token is never read.
    let read: Vec<Vec<TokenId>> = vec![
        vec![9, 5, 6, 7, 8],
        vec![7, 8, 9, 10, 11],
        vec![10, 11, 5, 6, 7],
    ];
    assert_eq!(*toy.read.borrow(), read);
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
        SampleOptions {
            max_new_tokens: 0,
            ..good
        },
    ] {
        let error = wrong.check().unwrap_err();
        assert!(error.exit_code() == 2 && error.hint().is_some(), "{error}");
    }
}
