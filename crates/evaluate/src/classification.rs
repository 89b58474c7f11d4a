//! Evaluation of a classifier.

use std::collections::BTreeMap;
use std::time::Instant;

use attentive_base::error::Result;
use attentive_data::{Corpus, Item};
use attentive_metrics::{Accuracy, Confusion, LabelScores};
use attentive_pipeline::Pipeline;
use serde::Serialize;

/// The result of [`classification`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassificationEvaluation {
    /// Texts whose predicted label is correct.
    pub accuracy: Accuracy,
    /// The macro-averaged F1 of all labels that occur in the test set or are predicted.
    pub macro_f1: f64,
    /// Precision, recall and F1 of each of these labels.
    pub by_label: BTreeMap<String, LabelScores>,
    /// Counts of predicted labels for each correct label.
    pub confusion: Confusion,
    /// Texts too long for the model, of which only the beginning was read.
    pub cut: usize,
    /// Time spent classifying, in seconds.
    pub seconds: f64,
}

/// Classifies the texts of `corpus` and compares the results with its labels.
///
/// # Errors
/// Any error of [`Pipeline::classify`].
pub fn classification(pipeline: &Pipeline, corpus: &Corpus) -> Result<ClassificationEvaluation> {
    let start = Instant::now();
    let entries = corpus.entries().iter();
    let (texts, labels): (Vec<&str>, Vec<&str>) = entries
        .filter_map(|entry| match &entry.item {
            Item::Labeled { text, label } => Some((text.as_str(), label.as_str())),
            _ => None,
        })
        .unzip();
    let found = pipeline.classify(1, &texts, 1)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut confusion = Confusion::default();
    for (found, label) in found.iter().zip(labels) {
        let predicted = found.labels.first().map_or("", |best| &best.label);
        confusion.add(label, predicted);
    }
    let scores = |label: &str| (label.to_owned(), confusion.scores(label));
    Ok(ClassificationEvaluation {
        accuracy: confusion.accuracy(),
        macro_f1: confusion.macro_f1(),
        by_label: confusion.labels().into_iter().map(scores).collect(),
        cut: found.iter().filter(|text| text.is_cut).count(),
        confusion,
        seconds,
    })
}
