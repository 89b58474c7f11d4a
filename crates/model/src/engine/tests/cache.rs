//! Keys and values of rows with a common beginning, and those in bfloat16.

use attentive_kernels::cached_attention::BLOCK;

use super::*;

fn in_bf16(config: &ModelConfig, precision: Precision) -> Engine {
    in_precision(&model(config), precision).with_cache(Float::Bf16)
}

/// The variants whose decoder keeps keys and values.
fn caching() -> impl Iterator<Item = ModelConfig> {
    let caches = |config: &ModelConfig| {
        let engine = engine(&model(config));
        engine.start().store.cache.block_len() > 0
    };
    variants().into_iter().filter(decodes).filter(caches)
}

#[test]
fn a_row_does_not_depend_on_others() {
    for precision in [Precision::F32, Precision::Int8] {
        for config in variants().into_iter().filter(decodes) {
            let engine = in_bf16(&config, precision);
            let mut together = state_of(&engine, 0..3);
            let mut alone: Vec<RamState> = (0..3).map(|row| state_of(&engine, row..row + 1)).collect();
            for next in [[2, 4, 2], [5, 6, 7], [3, 3, 8]] {
                let all = step(&engine, &next, &mut together);
                for (row, state) in alone.iter_mut().enumerate() {
                    let one = step(&engine, &next[row..=row], state);
                    assert_eq!(one[0], all[row], "{config:?}");
                }
            }
        }
    }
}

#[test]
fn hypotheses_that_share_a_beginning_equal_rows_that_do_not() {
    for config in variants().into_iter().filter(decodes) {
        let engine = in_bf16(&config, Precision::F32);
        let mut shared = state_of(&engine, 0..1);
        step(&engine, &[2], &mut shared);
        engine.select(&[0; 6], &mut shared);
        let all = step(&engine, &[3, 4, 5, 6, 7, 8], &mut shared);
        for (next, found) in (3..).zip(all) {
            let mut alone = state_of(&engine, 0..1);
            step(&engine, &[2], &mut alone);
            assert_eq!(step(&engine, &[next], &mut alone)[0], found, "{config:?}");
        }
    }
}

/// Rows that part within a block and at its ends, also with an odd number of values, which bfloat16 packs in
/// pairs.
#[test]
fn rows_that_part_anywhere_equal_rows_alone() {
    for changes in ["max_len = 64", "max_len = 64, d_model = 6, n_heads = 2, n_kv_heads = 1"] {
        let model = model(&variant(changes));
        for numbers in [Float::F32, Float::Bf16] {
            let engine = engine(&model).with_cache(numbers);
            for common in 1..=2 * BLOCK + 1 {
                let mut alone = [0; 3].map(|_| state_of(&engine, 0..1));
                let mut state = state_of(&engine, 0..1);
                for position in 0..common {
                    let token = 4 + position as TokenId % 5;
                    step(&engine, &[token], &mut state);
                    for alone in &mut alone {
                        step(&engine, &[token], alone);
                    }
                }
                engine.select(&[0, 0, 0], &mut state);
                for tokens in [[4, 5, 6], [7, 8, 9]] {
                    let found = step(&engine, &tokens, &mut state);
                    let rows = tokens.iter().zip(&mut alone).zip(&found);
                    for ((&token, alone), found) in rows {
                        let expected = &step(&engine, &[token], alone)[0];
                        assert_eq!(found, expected, "{changes}, {numbers:?}, {common}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_cache_takes_half_the_memory_and_changes_the_logits_little() {
    let mut changed = 0;
    for config in caching() {
        let (single, half) = (engine(&model(&config)), in_bf16(&config, Precision::F32));
        assert_eq!(
            2 * half.start().store.cache.block_len(),
            single.start().store.cache.block_len(),
            "{config:?}"
        );
        let [single, half] = [&single, &half].map(|engine| {
            let mut state = state_of(engine, 0..1);
            step(engine, &[2], &mut state);
            step(engine, &[4], &mut state)
        });
        let largest = single[0].iter().fold(0f32, |most, x| most.max(x.abs()));
        for (a, b) in single[0].iter().zip(&half[0]) {
            assert!((a - b).abs() <= 0.05 * largest, "{a} {b}: {config:?}");
        }
        changed += usize::from(single != half);
    }
    assert!(changed > 0);
}

/// Rows part, end, and read one or several tokens at random, so that they share blocks at different positions.
#[test]
fn rows_that_come_and_go_at_random_equal_rows_alone() {
    let mut seed = 7u64;
    let mut below = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    for changes in ["max_len = 64", "max_len = 64, positions = 'relative', n_kv_heads = 1"] {
        let model = model(&variant(changes));
        for numbers in [Float::F32, Float::Bf16] {
            let engine = engine(&model).with_cache(numbers);
            let mut state = state_of(&engine, 0..1);
            let mut read: Vec<Vec<TokenId>> = vec![Vec::new()];
            while read.iter().all(|tokens| tokens.len() < 50) {
                let most = if below(4) == 0 { 9 } else { 1 };
                let next: Vec<Vec<TokenId>> = (read.iter())
                    .map(|_| (0..1 + below(most)).map(|_| 4 + below(5) as TokenId).collect())
                    .collect();
                let next: Vec<&[TokenId]> = next.iter().map(Vec::as_slice).collect();
                let found = rows(engine.logits(engine.read(&padded(&next), &mut state)));
                for (read, next) in read.iter_mut().zip(&next) {
                    read.extend(*next);
                }
                for (tokens, found) in read.iter().zip(found) {
                    if below(5) == 0 {
                        let mut alone = state_of(&engine, 0..1);
                        let last = tokens.iter().map(|&token| step(&engine, &[token], &mut alone)).last();
                        assert_eq!(found, last.unwrap()[0], "{changes}, {numbers:?}, {}", tokens.len());
                    }
                }
                let kept: Vec<usize> = (0..1 + below(6)).map(|_| below(read.len())).collect();
                engine.select(&kept, &mut state);
                read = kept.iter().map(|&row| read[row].clone()).collect();
            }
        }
    }
}
