//! Profiles of translation.

use std::time::{Duration, Instant};

use attentive_model::profile::{ProfileSection, profiled};

use super::*;

const LINES: [&str; 4] = ["a dog runs", "", "two cats", "the green field and a dog"];

fn options(pipeline: &Pipeline, beam_width: usize, batch_size: usize) -> TranslateOptions {
    let mut options = TranslateOptions::from(&pipeline.config.decode);
    options.search.strategy = Strategy::beam(beam_width, 1, EarlyStopping::Never);
    TranslateOptions { batch_size: NonZeroUsize::new(batch_size), ..options }
}

#[test]
fn a_profile_adds_up_and_changes_nothing() {
    let lines: Vec<&str> = LINES.into_iter().cycle().take(80).collect();
    for pipeline in [untrained(), &of(Family::Seq2seq)] {
        for (beam_width, batch_size) in [(1, 1), (3, 4), (2, 64)] {
            let options = options(pipeline, beam_width, batch_size);
            let plain = pipeline.translate_lines(&lines, &options).unwrap();
            let begin = Instant::now();
            let (found, profile) = profiled(|| pipeline.translate_lines(&lines, &options));
            assert!(profile.total() <= begin.elapsed());
            assert_eq!(found.unwrap(), plain);
            assert_eq!(profile.counts.sentences, 60);
            assert_eq!(profile.counts.src_tokens, 20 * (3 + 2 + 6));
            let best = plain.iter().map(|one| one.hypotheses[0].tokens.len());
            assert_eq!(profile.counts.tgt_tokens, best.sum::<usize>());
            let mixing = match pipeline.config.model.family.family() {
                Family::Transformer => ProfileSection::SelfAttention,
                _ => ProfileSection::Cells,
            };
            let parts = [
                ProfileSection::Tokenization,
                ProfileSection::Encoder,
                ProfileSection::Linear,
                mixing,
                ProfileSection::DecoderRest,
                ProfileSection::Projection,
                ProfileSection::Search,
                ProfileSection::Detokenization,
            ];
            for part in parts {
                assert!(profile.time(part) > Duration::ZERO, "{part:?}");
            }
        }
    }
}

#[test]
fn steps_and_rows_are_counted() {
    let pipeline = untrained();
    let (found, alone) = profiled(|| pipeline.translate_lines(&LINES, &options(pipeline, 1, 1)));
    let predicted = found.unwrap().into_iter();
    let predicted = predicted.map(|one| one.hypotheses[0].token_log_probs.len());
    let predicted: Vec<usize> = predicted.collect();
    let all: usize = predicted.iter().sum();
    assert_eq!((alone.counts.steps, alone.counts.rows), (all, all));
    let together = || pipeline.translate_lines(&LINES, &options(pipeline, 1, 4));
    let (_, together) = profiled(|| Threads::alone(together));
    let longest = predicted.into_iter().max().unwrap();
    assert_eq!((together.counts.steps, together.counts.rows), (longest, all));
}
