//! The constraints on the translations of a request that come from a glossary.

use std::collections::HashMap;
use std::sync::Arc;

use attentive_base::count::count;
use attentive_pipeline::{Demands, Strictness};

use super::Glossary;
use crate::app::{Shared, at_most};
use crate::problem::{Kind, Problem};
use crate::visit::Visit;

/// The terms of a glossary for the texts of a request.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) glossary: Arc<Glossary>,
    pub(crate) app: Shared,
    pub(crate) visit: Visit,
}

/// Finds terms in sentences. Sentences with the same terms share their constraints.
pub(crate) struct Demanding<'a> {
    terms: &'a Terms,
    known: HashMap<Vec<usize>, Arc<Demands>>,
    /// The number of characters of all constraints.
    characters: usize,
}

impl Terms {
    pub(crate) fn demanding(&self) -> Demanding<'_> {
        Demanding { terms: self, known: HashMap::new(), characters: 0 }
    }
}

impl Demanding<'_> {
    /// The constraints on the translation of `sentence`.
    ///
    /// # Errors
    /// A [`Problem`] for too many terms, or too many characters in total.
    pub(crate) fn of(&mut self, sentence: &str) -> Result<Arc<Demands>, Problem> {
        let Terms { glossary, app, visit } = self.terms;
        let found = glossary.finder.find(sentence);
        if let Some(known) = self.known.get(&found) {
            return Ok(Arc::clone(known));
        }
        let limits = &app.config.limits;
        if found.len() > limits.phrases {
            let (found, most) = (found.len(), limits.phrases);
            let problem = format!("a sentence contains {found} terms of the glossary; {}", at_most(most));
            return Err(Problem::new(Kind::TooLarge, problem));
        }
        let phrases = || found.iter().map(|&entry| &glossary.entries[entry].target);
        let characters = phrases().map(|phrase| phrase.chars().count()).sum();
        self.characters += characters;
        if self.characters > limits.characters {
            let most = count(limits.characters, "character");
            let problem = format!("the terms of the glossary in the texts have more than {most}");
            return Err(Problem::new(Kind::TooLarge, problem).hint("send fewer texts at once"));
        }
        visit.carried.grow(characters)?;
        let demands = Arc::new(Demands {
            phrases: phrases().cloned().collect(),
            strictness: Strictness::Lenient,
            ..Demands::default()
        });
        self.known.insert(found, Arc::clone(&demands));
        Ok(demands)
    }
}
