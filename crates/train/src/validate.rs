//! Validation: the loss over all pairs, and translations of some.

use std::time::Instant;

use attentive_base::batch::{Batch, Src, TokenId};
use attentive_base::error::Result;
use attentive_base::interrupt::Interrupt;
use attentive_config::{BestBy, Config};
use attentive_data::{self as data, Budget, Example, Masking};
use attentive_decode::{SearchOptions, Strategy};
use attentive_device::current;
use attentive_metrics::{Bleu, Chrf, exact_match, perplexity};
use attentive_model::model::Model;
use attentive_pipeline::{Pipeline, TranslateOptions};
use attentive_tape::LossSums;
use attentive_text::Tokenizers;

use super::exchange;
use super::prepare::PreparedRun;
use super::report::{SampleTranslation, ValidationReport};
use super::validation_script;

/// The validation data.
#[derive(Debug)]
pub(super) struct ValidationSet {
    /// Batches of all pairs, for the loss.
    pub batches: Vec<Batch>,
    /// What is to be divided into these batches once their size is known.
    pub undivided: Option<ValidationExamples>,
    /// The sentences to translate.
    pub src: Vec<String>,
    /// The references of these sentences.
    pub tgt: Vec<String>,
}

/// All validation data, not yet in batches.
#[derive(Debug)]
pub(super) enum ValidationExamples {
    Lines(Vec<Example>),
    Stream(Vec<TokenId>),
}

impl ValidationExamples {
    /// The batches of about `tokens` target tokens.
    pub(super) fn batches(
        self,
        tokens: usize,
        config: &Config,
        tokenizers: &Tokenizers,
    ) -> Result<Vec<Batch>> {
        match self {
            Self::Stream(ids) => {
                let window = config.model.max_len;
                data::fixed_windows(&ids, window, tokens / window)
            }
            Self::Lines(examples) => {
                // A validation pair longer than any training pair gets its own batch.
                let len = |example: &Example| example.src_len().max(example.tgt_len());
                let longest = examples.iter().map(len).max().unwrap_or(0);
                let (budget, masking) = (Budget::new(tokens.max(longest)), Masking::fixed(tokenizers.tgt()));
                data::fixed_batches(examples, budget, tokenizers.sides(), masking)
            }
        }
    }
}

impl ValidationSet {
    /// Divides the validation data into batches of about `tokens` target tokens, unless they are divided.
    pub(super) fn divide(&mut self, tokens: usize, config: &Config, tokenizers: &Tokenizers) -> Result<()> {
        if let Some(undivided) = self.undivided.take() {
            self.batches = undivided.batches(tokens, config, tokenizers)?;
        }
        Ok(())
    }

    /// The size of the batches in bytes.
    pub(super) fn bytes(&self) -> usize {
        let numbers = self.batches.iter().map(|batch| {
            let sides = [batch.src_tokens(), batch.tgt_in(), Some(&batch.tgt_out)];
            let sides = sides.into_iter().flatten();
            let vectors = match batch.src() {
                Some(Src::Vectors { values, .. }) => values.len(),
                Some(Src::Tokens(_)) | None => 0,
            };
            vectors + sides.map(|side| side.ids.len() + 2 * side.rows()).sum::<usize>()
        });
        numbers.sum::<usize>() * size_of::<TokenId>()
    }

    /// Measures `model` after update `step` of `run`. Each of the processes, which all have this model,
    /// measures a part; all get the same results as a single process would.
    pub(super) fn measure(
        &self,
        model: Model,
        run: &PreparedRun,
        step: u64,
        interrupt: &Interrupt,
    ) -> Result<ValidationReport> {
        let PreparedRun { config, processes, .. } = run;
        let start = Instant::now();
        let share = processes.share(self.batches.len());
        let sums = model.sums_of_each(&self.batches[share], config.train.label_smoothing);
        let LossSums { loss, nll, n_tokens, n_correct } = exchange::all_sums(processes, sums);
        let per_token = |sum: f64| sum / n_tokens.max(1) as f64;
        let mut report = ValidationReport {
            step,
            loss: per_token(loss),
            nll: per_token(nll),
            perplexity: perplexity(nll, n_tokens as u64),
            accuracy: per_token(n_correct as f64),
            bleu: None,
            chrf: None,
            script: None,
            exact_match: None,
            samples: Vec::new(),
            best: false,
            best_by: Vec::new(),
            seconds: 0.0,
        };
        if !self.src.is_empty() {
            let share = &self.src[processes.share(self.src.len())];
            let translations = translate(share, model, config, &run.material.tokenizers);
            let doing = "validation sentences were translated";
            let translations = processes.gather_lines(doing, translations)?;
            let references = std::slice::from_ref(&self.tgt);
            report.bleu = Some(Bleu::default().corpus(&translations, references));
            let train = &config.train;
            let asks_chrf = train.criteria().any(|criterion| criterion == BestBy::Chrf);
            report.chrf = asks_chrf.then(|| Chrf::default().corpus(&translations, references));
            let command = &train.validation_script;
            if !command.is_empty() {
                let texts: [&[String]; 3] = [&self.src, &translations, &self.tgt];
                let score = || validation_script::run(command, &run.dir, texts, interrupt);
                report.script = Some(processes.value_of_first("translations were scored", score)?);
            }
            report.exact_match = Some(exact_match(&translations, &self.tgt).fraction());
            report.samples = self.samples(&translations, config.train.samples);
        }
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn samples(&self, translations: &[String], count: usize) -> Vec<SampleTranslation> {
        let pairs = self.src.iter().zip(&self.tgt).zip(translations);
        pairs
            .take(count)
            .map(|((src, tgt), translation)| SampleTranslation {
                src: src.clone(),
                translation: translation.clone(),
                reference: tgt.clone(),
            })
            .collect()
    }
}

fn translate(
    lines: &[String],
    model: Model,
    config: &Config,
    tokenizers: &Tokenizers,
) -> Result<Vec<String>> {
    let is_on_host = model.parameters().iter().all(|parameter| parameter.values().is_on_host());
    let pipeline = Pipeline::from_parts(config.clone(), tokenizers.clone(), model);
    let pipeline = if is_on_host { pipeline } else { pipeline.where_it_is(current()) };
    // Greedy search: validation compares checkpoints and must not take longer than training.
    let options = TranslateOptions {
        search: SearchOptions { strategy: Strategy::GREEDY, ..SearchOptions::from(&config.decode) },
        ..TranslateOptions::from(&config.decode)
    };
    let translations = pipeline.translate_lines(lines, &options)?;
    Ok(translations.into_iter().map(|translation| translation.into_best()).collect())
}
