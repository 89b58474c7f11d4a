//! Texts divided into the sentences that are translated.

use std::sync::Arc;

use attentive_document::{self as document, Sentence};
use attentive_pipeline::{Demands, Pipeline, Place, Prefix, Request, Warning, joined};

use super::desk::Stop;
use super::models::Model;
use super::problem::{Kind, Problem};

/// Texts and their sentences.
pub(super) struct Divided {
    pub(super) texts: Vec<Text>,
    /// The sentences of all texts, one after another.
    pub(super) requests: Vec<Request>,
}

pub(super) struct Text {
    pub(super) divided: document::Divided,
    /// A warning for the client about the text.
    pub(super) warning: Option<Warning>,
}

impl Divided {
    /// Divides `texts` into sentences as `split` says; their translations must meet `demands`.
    ///
    /// # Errors
    /// A [`Problem`] for more than `most` sentences, and for constraints that cannot be met by several
    /// sentences.
    pub(super) fn read(
        model: &Model,
        texts: Vec<String>,
        split: bool,
        demands: Demands,
        most: usize,
        stop: &Stop,
    ) -> Result<Self, Problem> {
        let pipeline = model.pipeline();
        // A part that fits need not be divided further, so this ends the work.
        let fits = |text: &str| stop.is_set() || pipeline.fits(text);
        let divide = |text: String| {
            stop.check()?;
            Ok(if split {
                document::Divided::into_sentences(&text, fits)
            } else {
                document::Divided::whole(text)
            })
        };
        let divided = texts.into_iter().map(divide);
        let divided = divided.collect::<Result<Vec<_>, Problem>>()?;
        stop.check()?;
        let found: usize = divided.iter().map(|text| text.sentences().len()).sum();
        if found > most {
            let problem = format!("the texts have {found} sentences; a request may have at most {most}");
            let problem = Problem::new(Kind::TooLarge, problem);
            return Err(Problem { field: Some("text".into()), ..problem });
        }
        check(pipeline, &divided, &demands)?;
        let demanded = !demands.is_blank();
        let demands = Arc::new(demands);
        let numbered = divided.iter().enumerate();
        let requests = numbered.flat_map(|(number, text)| requests(number, text, &demands));
        let requests = requests.collect();
        let text = |divided: document::Divided| Text {
            warning: demanded.then(|| joined::ignored_demands(&divided)).flatten(),
            divided,
        };
        Ok(Self { texts: divided.into_iter().map(text).collect(), requests })
    }
}

/// The sentences of text `number`. A prefix applies to the first of them; with phrases, there is only one.
fn requests<'a>(
    number: usize,
    text: &'a document::Divided,
    demands: &'a Arc<Demands>,
) -> impl Iterator<Item = Request> + 'a {
    let request = move |(sentence, one): (usize, &Sentence)| Request {
        src: one.text.clone(),
        demands: match sentence {
            0 => Arc::clone(demands),
            _ => Arc::default(),
        },
        place: Some(Place { line: number + 1, sentence }),
    };
    text.sentences().iter().enumerate().map(request)
}

/// Refuses constraints that cannot be assigned to one sentence.
fn check(pipeline: &Pipeline, texts: &[document::Divided], demands: &Demands) -> Result<(), Problem> {
    let counts = texts.iter().map(|text| text.sentences().len());
    let Some((number, sentences)) = counts.enumerate().find(|(_, count)| *count > 1) else {
        return Ok(());
    };
    let hint = "send each sentence by itself, or set `split_sentences` to false";
    let number = number + 1;
    if demands.phrases.iter().any(|phrase| !phrase.trim().is_empty()) {
        let problem = format!(
            "text {number} has {sentences} sentences, so it is not clear which of them the phrases belong to"
        );
        return Err(Problem::field("phrases", problem).hint(hint));
    }
    let (field, prefix) = match &demands.prefix {
        Prefix::Text(text) => ("prefix", text.clone()),
        Prefix::Tokens(tokens) => {
            let tokenizer = pipeline.tokenizers().tgt();
            let ids = tokenizer.ids(tokens).unwrap_or_default();
            let text = tokenizer.decode(&ids);
            ("prefix_tokens", text.map_err(|error| Problem::invalid(&error))?)
        }
    };
    let given = document::Divided::into_sentences(&prefix, |_| true).sentences().len();
    if given > 1 {
        let problem = format!(
            "the prefix has {given} sentences, but only the first of the {sentences} sentences of text \
             {number} begins with it"
        );
        return Err(Problem::field(field, problem).hint(hint));
    }
    Ok(())
}
