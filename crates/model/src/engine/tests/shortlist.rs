//! A shortlist leaves out tokens, and changes nothing else.

use super::*;
use crate::shortlist::Shortlist;

const PRECISIONS: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::Int8];
const VOCAB: u32 = 13;

/// The variants whose sentences have a source.
fn translating() -> impl Iterator<Item = ModelConfig> {
    let translates = |config: &ModelConfig| config.family.task() == attentive_config::Task::Translate;
    variants().into_iter().filter(translates)
}

/// Source token t has the candidates t and t + 1, and every sentence has 3.
fn some() -> Shortlist {
    let ends = (1..=VOCAB).map(|token| 2 * token).collect();
    let candidates = (0..VOCAB).flat_map(|token| [(token + 1) % VOCAB, token]);
    Shortlist::new(ends, candidates.collect(), vec![3], VOCAB as usize).expect("valid")
}

fn with(shortlist: Shortlist, config: &ModelConfig, precision: Precision) -> Engine {
    in_precision(&model(config), precision).with_shortlist(Some(Arc::new(shortlist)))
}

fn likeliest_of(engine: &Engine, next: &[TokenId], state: &mut RamState) -> Vec<Vec<NextToken>> {
    let last = engine.step(next, state);
    engine.likeliest(last, 4, &[0, 5])
}

#[test]
fn all_tokens_as_candidates_change_nothing() {
    let all = || {
        let ends = vec![0; VOCAB as usize];
        Shortlist::new(ends, Vec::new(), (0..VOCAB).collect(), VOCAB as usize).expect("valid")
    };
    for precision in PRECISIONS {
        for config in translating() {
            let plain = in_precision(&model(&config), precision);
            let listed = with(all(), &config, precision);
            let last = |engine: &Engine| engine.step(&[2, 4, 2], &mut state_of(engine, 0..3));
            let (expected, found) = (last(&plain), last(&listed));
            for never in [&[][..], &[0, 7]] {
                assert_eq!(
                    listed.likeliest(found.clone(), 6, never),
                    plain.likeliest(expected.clone(), 6, never),
                    "{config:?}"
                );
                assert_eq!(
                    listed.most_likely(found.clone(), never),
                    plain.most_likely(expected.clone(), never),
                    "{config:?}"
                );
            }
        }
    }
}

/// The likeliest tokens are the candidates with the largest logits, and their probabilities sum to 1.
#[test]
fn only_candidates_are_found() {
    for config in translating() {
        let engine = with(some(), &config, Precision::F32);
        let mut state = state_of(&engine, 0..3);
        let last = engine.step(&[2, 2, 2], &mut state);
        let logits = rows(engine.logits(last.clone()));
        let found = engine.likeliest(last.clone(), 20, &[]);
        let best = engine.most_likely(last, &[]);
        for (row, found) in found.iter().enumerate() {
            let candidates = some().candidates(SRC[row]);
            let mut expected = candidates.clone();
            expected.sort_by(|&a, &b| {
                let logit = |token: TokenId| logits[row][token as usize];
                logit(b).total_cmp(&logit(a))
            });
            let tokens: Vec<TokenId> = found.iter().map(|next| next.token).collect();
            assert_eq!(tokens, expected, "{config:?}");
            assert_eq!(best[row], Some(expected[0]));
            let sum: f64 = found.iter().map(|next| next.log_prob.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{sum}: {config:?}");
        }
    }
}

/// Rows are admitted, repeated and dropped, and columns are copied and dropped with them.
#[test]
fn the_candidates_of_a_row_do_not_depend_on_other_rows() {
    for precision in PRECISIONS {
        for config in translating() {
            let engine = with(some(), &config, precision);
            let alone = |sentence: usize, tokens: &[TokenId]| {
                let mut state = state_of(&engine, sentence..sentence + 1);
                let all = tokens.iter().map(|&token| likeliest_of(&engine, &[token], &mut state));
                all.last().expect("a step").remove(0)
            };
            let mut state = state_of(&engine, 1..2);
            let found = likeliest_of(&engine, &[2], &mut state);
            assert_eq!(found, [alone(1, &[2])]);
            engine.admit(&padded(&SRC[..1]), &mut state);
            engine.select(&[1, 0, 0], &mut state);
            let found = likeliest_of(&engine, &[2, 4, 6], &mut state);
            assert_eq!(found, [alone(0, &[2]), alone(1, &[2, 4]), alone(1, &[2, 6])], "{config:?}");
            engine.select(&[2], &mut state);
            engine.admit(&padded(&SRC[2..]), &mut state);
            let found = likeliest_of(&engine, &[7, 2], &mut state);
            assert_eq!(found, [alone(1, &[2, 6, 7]), alone(2, &[2])], "{config:?}");
        }
    }
}

/// More rows than a tile has, of sentences with several rows each.
#[test]
fn many_sentences_have_the_candidates_of_each_alone() {
    let many: Vec<&[TokenId]> = SRC.iter().copied().cycle().take(17).collect();
    for precision in PRECISIONS {
        for config in [base(), variant("output_bias = true")] {
            let engine = with(some(), &config, precision);
            let alone: Vec<Vec<NextToken>> = (0..3)
                .map(|sentence| {
                    likeliest_of(&engine, &[2], &mut state_of(&engine, sentence..sentence + 1)).remove(0)
                })
                .collect();
            let mut state = engine.start();
            engine.admit(&padded(&many), &mut state);
            // Sentence i has 1 + i % 5 rows.
            let rows: Vec<usize> = (0..17).flat_map(|row| std::iter::repeat_n(row, 1 + row % 5)).collect();
            engine.select(&rows, &mut state);
            let found = likeliest_of(&engine, &vec![2; rows.len()], &mut state);
            for (row, found) in rows.iter().zip(found) {
                assert_eq!(found, alone[row % 3], "{precision}, row {row}");
            }
        }
    }
}
