//! Evaluation of a causal language model on a text.

use std::f64::consts::LN_2;
use std::time::Instant;

use attentive_base::batch::Batch;
use attentive_base::count::count;
use attentive_base::error::{Error, Result};
use attentive_config::{Task, Units};
use attentive_data::{Example, MAX_LINE_BYTES, fixed_windows};
use attentive_pipeline::Pipeline;
use attentive_pipeline::batches::{POSITIONS, batches};
use serde::Serialize;

use super::teacher_forced_scores::TeacherForcedScores;

/// The result of [`language_model`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TextEvaluation {
    /// exp of the average negative log-likelihood per token; depends on the tokenizer.
    pub perplexity: f64,
    /// The negative log-likelihood of all tokens in bits, divided by `characters`; comparable between
    /// tokenizers.
    pub bits_per_character: f64,
    /// Share of tokens that the model finds most likely.
    pub token_accuracy: f64,
    /// Number of predicted tokens: all but the first one of a stream, or all tokens and `</s>` of each line.
    pub tokens: u64,
    /// Number of Unicode characters of the predicted text. A line break counts as one; in a model of lines,
    /// `</s>` stands for it.
    pub characters: u64,
    /// Number of `<unk>` among the tokens. The model does not predict the characters that they stand for.
    pub unknown_tokens: u64,
    /// Number of lines skipped by a model of lines because they are longer than its context. Blank lines are
    /// not counted.
    pub skipped_lines: usize,
    /// Duration of the evaluation, in seconds.
    pub seconds: f64,
}

/// A text prepared for the model.
struct Shown {
    batches: Vec<Batch>,
    characters: usize,
    skipped_lines: usize,
}

/// Measures how well a causal language model predicts the text that consists of `lines`.
///
/// A model of lines predicts each line from its beginning; blank lines are skipped. A model of a stream
/// predicts the text in consecutive, independent windows as long as its context.
///
/// # Errors
/// [`Error::Usage`] for another kind of model; [`Error::Data`] for a text without tokens to predict, or if
/// the model's outputs are NaN or infinite.
pub fn language_model(pipeline: &Pipeline, lines: &[String]) -> Result<TextEvaluation> {
    pipeline.require(Task::Generate)?;
    let start = Instant::now();
    let Shown { batches, characters, skipped_lines } = match pipeline.config().data.units {
        Units::Lines => show_lines(pipeline, lines),
        Units::Stream => show_stream(pipeline, lines),
    }?;
    let forced = TeacherForcedScores::measure(pipeline, &batches)?;
    let unk = pipeline.tokenizers().tgt().special().unk;
    let targets = batches.iter().flat_map(|batch| {
        let places = batch.tgt_out.ids.iter().zip(batch.tgt_out.lengths.mask());
        places.filter_map(|(&token, is_pad)| (!is_pad).then_some(token))
    });
    Ok(TextEvaluation {
        perplexity: forced.perplexity(),
        bits_per_character: forced.nll / LN_2 / characters as f64,
        token_accuracy: forced.tokens.fraction(),
        tokens: forced.tokens.total,
        characters: characters as u64,
        unknown_tokens: targets.filter(|&token| token == unk).count() as u64,
        skipped_lines,
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn show_lines(pipeline: &Pipeline, lines: &[String]) -> Result<Shown> {
    let tokenizer = pipeline.tokenizers().tgt();
    let max_len = pipeline.architecture().max_len;
    let (mut examples, mut characters, mut skipped_lines) = (Vec::new(), 0, 0);
    for (number, line) in (1..).zip(lines) {
        if line.trim().is_empty() {
            continue;
        }
        if line.len() > MAX_LINE_BYTES {
            skipped_lines += 1;
            continue;
        }
        let example = Example::text(&tokenizer.encode(line)?, tokenizer.special(), number);
        if example.tgt_len() > max_len {
            skipped_lines += 1;
            continue;
        }
        characters += line.chars().count() + 1;
        examples.push(example);
    }
    if examples.is_empty() {
        return nothing(format!(
            "no line is readable for the model: it skips blank lines, and {} longer than its context of \
             {max_len} tokens",
            count(skipped_lines, "line")
        ));
    }
    Ok(Shown { batches: batches(examples, tokenizer.special(), None)?, characters, skipped_lines })
}

fn show_stream(pipeline: &Pipeline, lines: &[String]) -> Result<Shown> {
    let tokenizer = pipeline.tokenizers().tgt();
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let ids = tokenizer.encode(&text)?;
    let Some(first) = ids.first().filter(|_| ids.len() > 1) else {
        return nothing(format!("a text of {} leaves nothing to predict", count(ids.len(), "token")));
    };
    let read_only = tokenizer.decode(&[*first])?.chars().count();
    let window = pipeline.architecture().max_len;
    let rows = (POSITIONS / window).max(1);
    Ok(Shown {
        batches: fixed_windows(&ids, window, rows)?,
        characters: text.chars().count() - read_only,
        skipped_lines: 0,
    })
}

fn nothing(problem: String) -> Result<Shown> {
    Err(Error::data(problem, "use another text"))
}

#[cfg(test)]
mod tests {
    use attentive_base::batch::{Padded, TokenId};
    use attentive_config::TokenizerKind;
    use attentive_decode::Stepper;
    use attentive_samples::{Sample, TEXT};

    use super::*;
    use crate::tests::{pipeline, untrained, untrained_language_model};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    /// Returns −log₂ P of `targets`, each predicted from the tokens of `read` before it, one step at a time.
    fn bits(pipeline: &Pipeline, read: &[TokenId], targets: &[TokenId]) -> f64 {
        let steps = pipeline.engine();
        let mut state = steps.start();
        steps.admit(&Padded::new::<&[TokenId]>(&[&[]], 0), &mut state);
        let each = read.iter().zip(targets).map(|(&token, &target)| {
            let logits = steps.logits(steps.step(&[token], &mut state));
            let logits = logits.values();
            let total: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
            (total.ln() - f64::from(logits[target as usize])) / LN_2
        });
        each.sum()
    }

    fn assert_bits(found: TextEvaluation, bits: f64) {
        let all = found.bits_per_character * found.characters as f64;
        assert!((all - bits).abs() < 1e-3, "{all}, not {bits}");
        let by_token = found.perplexity.log2() * found.tokens as f64;
        assert!((by_token - bits).abs() < 1e-3, "{by_token}, not {bits}");
    }

    #[test]
    fn lines_are_predicted_with_their_ends() {
        let pipeline = untrained_language_model(TokenizerKind::Bpe, Units::Lines);
        let text = lines("Ein Hund\n\n bellt\n");
        let found = language_model(&pipeline, &text).unwrap();
        let special = pipeline.tokenizers().tgt().special();
        let mut expected = 0.0;
        let mut tokens = 0;
        for line in [&text[0], &text[2]] {
            let ids = pipeline.tokenizers().tgt().encode(line).unwrap();
            let (read, targets) = ([&[special.bos], &*ids].concat(), [&*ids, &[special.eos]].concat());
            expected += bits(&pipeline, &read, &targets);
            tokens += targets.len() as u64;
        }
        assert_bits(found, expected);
        assert_eq!((found.tokens, found.characters), (tokens, 9 + 7));
        assert_eq!((found.skipped_lines, found.unknown_tokens), (0, 0));

        let long = lines(&format!("Ein\n{}\nEin ?", "Hund ".repeat(30)));
        let found = language_model(&pipeline, &long).unwrap();
        assert_eq!((found.characters, found.skipped_lines), (4 + 6, 1));
        assert_eq!(found.unknown_tokens, 1);
    }

    #[test]
    fn every_token_of_a_stream_but_the_first_is_predicted_once() {
        let pipeline = untrained_language_model(TokenizerKind::Char, Units::Stream);
        let ids = pipeline.tokenizers().tgt().encode(TEXT).unwrap();
        let window = pipeline.architecture().max_len;
        assert!(ids.len() > 2 * window && !(ids.len() - 1).is_multiple_of(window));
        let starts = (0..ids.len() - 1).step_by(window);
        let expected = starts.map(|start| {
            let end = (start + window).min(ids.len() - 1);
            bits(&pipeline, &ids[start..end], &ids[start + 1..=end])
        });
        let found = language_model(&pipeline, &lines(TEXT)).unwrap();
        assert_bits(found, expected.sum());
        let predicted = ids.len() as u64 - 1;
        assert_eq!((found.tokens, found.characters), (predicted, predicted));
    }

    #[test]
    fn a_damaged_model_has_no_perplexity() {
        for units in [Units::Lines, Units::Stream] {
            let sample = Sample::small_language_model(TokenizerKind::Char, units);
            let damaged = pipeline(sample.damaged("tgt.embedding.weight", 40));
            let error = language_model(&damaged, &lines(TEXT)).unwrap_err();
            assert!(error.to_string().contains("NaN or infinite"), "{error}");
            assert!(error.exit_code() == 1 && error.hint().is_some(), "{error}");
        }
    }

    #[test]
    fn texts_without_tokens_to_predict_are_refused() {
        let stream = untrained_language_model(TokenizerKind::Char, Units::Stream);
        let line = untrained_language_model(TokenizerKind::Char, Units::Lines);
        for (pipeline, text) in [
            (&stream, ""),
            (&stream, "\n"),
            (&line, "\n \n"),
            (&line, "Ein Hund rennt über das grüne Feld"),
            (untrained(), "a dog"),
        ] {
            let error = language_model(pipeline, &lines(text)).unwrap_err();
            assert!(error.hint().is_some(), "{error}");
        }
    }
}
