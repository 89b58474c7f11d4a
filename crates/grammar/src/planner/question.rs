//! Draws questions with a question word.

use super::super::features::{GrammaticalNumber, Tense};
use super::super::nouns::{Class, nouns_of};
use super::super::plan::{Clause, Determiner, Front, NounPhrase, PhrasePlan, SentencePlan};
use super::super::verbs::VerbFrame;
use super::super::words::{QuestionWord, WHEN, WHERE, WHERE_TO, WHY};
use super::Planner;
use super::clause::Mood;

impl Planner<'_> {
    /// Draws a question with a question word; the weights are sixteenths.
    pub(super) fn question(&mut self) -> SentencePlan {
        let mood = self.mood();
        match self.random.below(16) {
            0 | 1 => {
                let mut clause = self.clause_of(mood, PhrasePlan::Who);
                self.add_time(&mut clause, 0.3);
                SentencePlan::WhoDoes(clause)
            }
            2..5 => SentencePlan::Question(self.whom_or_what(mood)),
            5..9 => SentencePlan::Question(self.which_or_how_many(mood)),
            9..12 => SentencePlan::Question(self.place(mood)),
            12 | 13 => SentencePlan::Question(self.circumstance(mood, WHEN)),
            _ => SentencePlan::Question(self.circumstance(mood, WHY)),
        }
    }

    fn whom_or_what(&mut self, mood: Mood) -> Clause {
        self.object_question(mood, |planner, frame, classes| {
            let people = classes.contains(&Class::Person);
            let things = matches!(frame, VerbFrame::Accusative(_)) && classes != [Class::Person];
            if people && (!things || planner.random.chance(0.5)) { PhrasePlan::Who } else { PhrasePlan::What }
        })
    }

    fn which_or_how_many(&mut self, mood: Mood) -> Clause {
        self.object_question(mood, |planner, _, classes| {
            let mut nouns = nouns_of(classes);
            nouns.retain(|noun| !noun.is_mass());
            // All drinks are mass nouns, so the question word is "what".
            if nouns.is_empty() {
                return PhrasePlan::What;
            }
            let (determiner, number) = match planner.random.below(4) {
                0 => (Determiner::Which, GrammaticalNumber::Singular),
                1 => (Determiner::Which, GrammaticalNumber::Plural),
                _ => (Determiner::HowMany, GrammaticalNumber::Plural),
            };
            let noun = nouns[planner.random.below(nouns.len())];
            PhrasePlan::Noun(NounPhrase { determiner, adjective: None, noun, number, relative: None })
        })
    }

    /// Draws a question about an object; `ask` chooses the question word from the frame and classes of the
    /// object.
    fn object_question(
        &mut self,
        mood: Mood,
        ask: impl FnOnce(&mut Self, &VerbFrame, &[Class]) -> PhrasePlan,
    ) -> Clause {
        let verb = self.verb(mood, |verb| verb.frame.object_classes().is_some());
        let subject = self.subject(verb.subjects, false);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        let classes = verb.frame.object_classes().unwrap_or_default();
        clause.object = Some(ask(self, &verb.frame, classes));
        clause.front = Front::Object;
        clause
    }

    /// Draws a "where" question about a place or, for verbs of motion, a direction.
    fn place(&mut self, mood: Mood) -> Clause {
        let verb = self.verb(mood, |verb| match verb.frame {
            VerbFrame::Plain | VerbFrame::Motion | VerbFrame::Travel | VerbFrame::Location(_) => true,
            VerbFrame::Accusative(classes) => !classes.contains(&Class::Place),
            _ => false,
        });
        let subject = self.subject(verb.subjects, false);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        let word = match verb.frame {
            VerbFrame::Motion | VerbFrame::Travel => WHERE_TO,
            _ => WHERE,
        };
        if verb.frame.object_classes().is_some() {
            self.complete(&mut clause);
        }
        clause.front = Front::Word(word);
        clause
    }

    /// Draws a "when" or "why" question.
    fn circumstance(&mut self, mood: Mood, word: QuestionWord) -> Clause {
        let mood = match mood.tense {
            // "When" asks for a point in time, which the English perfect does not allow.
            Tense::Perfect => Mood::plain(Tense::Past),
            _ => mood,
        };
        let verb = self.verb(mood, |verb| !matches!(verb.frame, VerbFrame::Copula));
        let subject = self.subject(verb.subjects, false);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        self.complete(&mut clause);
        clause.front = Front::Word(word);
        clause
    }
}
