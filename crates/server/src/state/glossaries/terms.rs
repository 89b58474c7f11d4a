//! The terms of a glossary in the texts of a request.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use attentive_base::count::count;
use attentive_pipeline::service::{Admission, Client};
use attentive_pipeline::{
    Glossary, GlossaryEntry, GlossedText, Pipeline, SentencePosition, TranslateOptions, Translation, Unplaced,
};

use crate::http::visit::Visit;
use crate::problem::{Problem, ProblemKind};
use crate::state::app::{SharedApp, Strings, at_most};
use crate::state::models::ModelInstance;
use crate::work::answers::{ENOUGH, compute, grouped};
use crate::work::thread_pool::StopFlag;

/// The terms for the texts of a request.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) glossary: Arc<Glossary>,
    pub(crate) app: SharedApp,
    pub(crate) visit: Visit,
}

impl Terms {
    /// The terms of a request and their translations; `None` if there are none.
    ///
    /// # Errors
    /// A [`Problem`] for too many terms, and for one that cannot be read.
    pub(crate) fn given(
        terms: &BTreeMap<String, String>,
        app: &SharedApp,
        visit: &Visit,
    ) -> Result<Option<Self>, Problem> {
        if terms.is_empty() {
            return Ok(None);
        }
        let sides = terms.iter().map(|(source, target)| source.clone() + target);
        let sides: Vec<String> = sides.collect();
        let strings = Strings { field: "terms", strings: &sides, most: app.config.limits.phrases };
        app.admit_with::<&str>(visit, "terms", &[], &[strings])?;
        let mut glossary = Glossary::default();
        for (source, target) in terms {
            let added = GlossaryEntry::new(source, target).and_then(|entry| glossary.insert(entry));
            added.map_err(|problem| Problem::field("terms", format!("the term `{source}` {problem}")))?;
        }
        Ok(Some(Self { glossary: Arc::new(glossary), app: Arc::clone(app), visit: visit.clone() }))
    }

    /// The terms in `sentences`.
    ///
    /// # Errors
    /// A [`Problem`] for too many terms in a sentence, or too many characters of all terms.
    pub(crate) fn of<'a>(
        &self,
        sentences: impl Iterator<Item = &'a str>,
        stop: &StopFlag,
    ) -> Result<Vec<GlossedText>, Problem> {
        let Self { glossary, app, visit } = self;
        let limits = &app.config.limits;
        let (mut characters, mut known) = (0, HashSet::new());
        let mut found = Vec::new();
        for sentence in sentences {
            stop.check()?;
            let mut glossed = glossary.find(sentence);
            if glossed.terms.is_empty() {
                glossed.text = String::new();
            }
            if glossed.terms.len() > limits.phrases {
                let (found, most) = (glossed.terms.len(), limits.phrases);
                let problem = format!("a sentence contains {found} terms of the glossary; {}", at_most(most));
                return Err(Problem::new(ProblemKind::TooLarge, problem));
            }
            // Sentences share the translations of their terms.
            let new = glossed.terms.iter().filter(|term| known.insert(Arc::as_ptr(&term.target)));
            let more: usize = new.map(|term| term.target.chars().count()).sum();
            characters += more;
            if characters > limits.characters {
                let most = count(limits.characters, "character");
                let problem = format!("the terms of the glossary in the texts have more than {most}");
                return Err(Problem::new(ProblemKind::TooLarge, problem).hint("send fewer texts at once"));
            }
            visit.carried.grow(more + glossed.text.chars().count())?;
            found.push(glossed);
        }
        Ok(found)
    }
}

/// The translations `found` of sentences with the terms `glossed`, which are put in their places.
///
/// # Errors
/// A [`Problem`] if the model fails.
pub(crate) async fn placed(
    model: &Arc<ModelInstance>,
    client: Client,
    glossed: Vec<GlossedText>,
    found: Vec<Translation>,
    options: TranslateOptions,
) -> Result<Vec<Translation>, Problem> {
    /// About the number of times that a sentence is read or translated for a term: without words of the
    /// source, and by three searches.
    const TIMES: usize = 32;
    if glossed.iter().all(|one| one.terms.is_empty()) {
        return Ok(found);
    }
    let positions = |(glossed, found): &(GlossedText, Translation)| {
        let lens = found.hypotheses.iter().map(|one| one.tokens.len());
        TIMES * glossed.terms.len() * lens.sum::<usize>()
    };
    let place = move |pipeline: &Pipeline, group: Vec<(GlossedText, Translation)>| {
        let (glossed, mut found): (Vec<GlossedText>, Vec<Translation>) = group.into_iter().unzip();
        let place = SentencePosition { line: 1, sentence: 0 };
        let unplaced: Vec<_> = glossed.iter().map(|glossed| Unplaced { glossed, position: place }).collect();
        pipeline.place_terms(&unplaced, &mut found, &options)?;
        Ok(found)
    };
    let chunks = grouped(ENOUGH, glossed.into_iter().zip(found), positions, |group| {
        move |pipeline: &Pipeline| place(pipeline, group)
    });
    let placed: Vec<Vec<_>> = compute(model, client, Admission::Further, chunks).await?;
    Ok(placed.into_iter().flatten().collect())
}
