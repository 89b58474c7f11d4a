//! Texts divided into the sentences that are translated.

use std::sync::Arc;

use attentive_document::{self as document, Segmentation, Sentence, Split};
use attentive_pipeline::documents::restore;
use attentive_pipeline::service::{Admission, Client};
use attentive_pipeline::{
    GlossedText, Pipeline, Prefix, Request, SentencePosition, Translation, TranslationConstraints, Warning,
    joined,
};

use crate::problem::{Problem, ProblemKind};
use crate::state::models::ModelInstance;
use crate::work::answers::{ENOUGH, compute, grouped};
use crate::work::thread_pool::StopFlag;

/// Texts and their sentences.
pub(crate) struct DividedRequest {
    pub(crate) texts: Vec<Text>,
    /// The sentences of all texts, one after another.
    pub(crate) requests: Vec<Request>,
}

pub(crate) struct Text {
    pub(crate) divided: document::DividedText,
    /// A warning for the client about the text.
    pub(crate) warning: Option<Warning>,
    /// The sentences with their terms, if the request has terms.
    pub(crate) glossed: Vec<GlossedText>,
}

impl DividedRequest {
    /// Divides `texts` as `how` says, or leaves each as it is; their translations must meet `constraints`.
    ///
    /// # Errors
    /// A [`Problem`] for more than `most` sentences, and for constraints that cannot be met by several
    /// sentences.
    pub(crate) fn read(
        model: &ModelInstance,
        texts: Vec<String>,
        how: Option<Segmentation>,
        constraints: TranslationConstraints,
        most: usize,
        stop: &StopFlag,
    ) -> Result<Self, Problem> {
        let pipeline = model.pipeline();
        // A part that fits need not be divided further, so this ends the work.
        let fits = |text: &str| stop.is_set() || pipeline.fits(text);
        let divide = |text: String| {
            stop.check()?;
            Ok(match how {
                Some(how) => document::DividedText::new(&text, how, fits),
                None => document::DividedText::whole(text),
            })
        };
        let divided = texts.into_iter().map(divide);
        let divided = divided.collect::<Result<Vec<_>, Problem>>()?;
        stop.check()?;
        let found: usize = divided.iter().map(|text| text.sentences().len()).sum();
        if found > most {
            let problem = format!("the texts have {found} sentences; a request may have at most {most}");
            let problem = Problem::new(ProblemKind::TooLarge, problem);
            return Err(Problem { field: Some("text".into()), ..problem });
        }
        check(pipeline, &divided, &constraints)?;
        let has_constraints = !constraints.is_blank();
        let constraints = Arc::new(constraints);
        let numbered = divided.iter().enumerate();
        let requests = numbered.flat_map(|(number, text)| requests(number, text, &constraints));
        let requests = requests.collect();
        let text = |divided: document::DividedText| Text {
            warning: has_constraints.then(|| joined::ignored_constraints(&divided)).flatten(),
            divided,
            glossed: Vec::new(),
        };
        Ok(Self { texts: divided.into_iter().map(text).collect(), requests })
    }
}

/// The sentences of text `number`. A prefix applies to the first of them; with phrases, there is only one.
fn requests<'a>(
    number: usize,
    text: &'a document::DividedText,
    constraints: &'a Arc<TranslationConstraints>,
) -> impl Iterator<Item = Request> + 'a {
    let request = move |(sentence, one): (usize, &Sentence)| Request {
        src: one.text.clone(),
        constraints: match sentence {
            0 => Arc::clone(constraints),
            _ => Arc::default(),
        },
        position: Some(SentencePosition { line: number + 1, sentence }),
    };
    text.sentences().iter().enumerate().map(request)
}

/// Refuses constraints that cannot be assigned to one sentence.
fn check(
    pipeline: &Pipeline,
    texts: &[document::DividedText],
    constraints: &TranslationConstraints,
) -> Result<(), Problem> {
    let counts = texts.iter().map(|text| text.sentences().len());
    let Some((number, sentences)) = counts.enumerate().find(|(_, count)| *count > 1) else {
        return Ok(());
    };
    let hint = "send each sentence by itself, or set `split_sentences` to false";
    let number = number + 1;
    if constraints.phrases.iter().any(|phrase| !phrase.trim().is_empty()) {
        let problem = format!(
            "text {number} has {sentences} sentences, so it is not clear which of them the phrases belong to"
        );
        return Err(Problem::field("phrases", problem).hint(hint));
    }
    let (field, prefix) = match &constraints.prefix {
        Prefix::Text(text) => ("prefix", text.clone()),
        Prefix::Tokens(tokens) => {
            let tokenizer = pipeline.tokenizers().tgt();
            let ids = tokenizer.ids(tokens).unwrap_or_default();
            let text = tokenizer.decode(&ids);
            ("prefix_tokens", text.map_err(|error| Problem::invalid(&error))?)
        }
    };
    let how = Segmentation { keep_placeables: false, ..pipeline.segmentation(Split::Sentences) };
    let given = document::DividedText::new(&prefix, how, |_| true).sentences().len();
    if given > 1 {
        let problem = format!(
            "the prefix has {given} sentences, but only the first of the {sentences} sentences of text \
             {number} begins with it"
        );
        return Err(Problem::field(field, problem).hint(hint));
    }
    Ok(())
}

/// The sentences of all `texts`.
pub(crate) fn sentences(texts: &[Text]) -> Vec<&Sentence> {
    texts.iter().flat_map(|text| text.divided.sentences()).collect()
}

/// Puts the placeables of `sentences` into their translations `found`.
pub(crate) async fn restored(
    model: &Arc<ModelInstance>,
    client: Client,
    sentences: &[&Sentence],
    mut found: Vec<Translation>,
) -> Result<Vec<Translation>, Problem> {
    let numbers = (0..found.len()).filter(|&number| sentences[number].has_placeables());
    let numbers: Vec<usize> = numbers.collect();
    if numbers.is_empty() {
        return Ok(found);
    }
    let can_align = model.pipeline().align::<&str>(&[]).is_ok();
    let take = |number: &usize| {
        let taken =
            Translation { hypotheses: std::mem::take(&mut found[*number].hypotheses), warnings: Vec::new() };
        (Sentence::clone(sentences[*number]), taken)
    };
    let pairs: Vec<(Sentence, Translation)> = numbers.iter().map(take).collect();
    let positions = |(sentence, found): &(Sentence, Translation)| {
        let lens = found.hypotheses.iter().map(|one| one.tokens.len());
        if sentence.needs_alignment() { 2 * lens.sum::<usize>() } else { 0 }
    };
    let restore_one = move |pipeline: &Pipeline, (sentence, mut found): (Sentence, Translation)| {
        let tokens = found.hypotheses.iter().map(|one| &one.tokens[..]);
        let pairs: Vec<_> = tokens.map(|tokens| (&sentence.text, tokens)).collect();
        let needed = can_align && sentence.needs_alignment();
        let alignments = if needed { pipeline.align(&pairs)? } else { Vec::new() };
        restore(&sentence, &mut found.hypotheses, alignments);
        Ok(found.hypotheses)
    };
    let chunks = grouped(ENOUGH, pairs, positions, |group| {
        move |pipeline: &Pipeline| group.into_iter().map(|one| restore_one(pipeline, one)).collect()
    });
    let done: Vec<Vec<_>> = compute(model, client, Admission::Further, chunks).await?;
    for (number, hypotheses) in numbers.into_iter().zip(done.into_iter().flatten()) {
        found[number].hypotheses = hypotheses;
    }
    Ok(found)
}
