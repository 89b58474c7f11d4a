//! Draws questions with a question word.

use super::super::features::{Number, Tense};
use super::super::nouns::{Class, nouns_of};
use super::super::plan::{Clause, Determiner, Front, NounPhrase, Phrase, Sentence};
use super::super::verbs::Frame;
use super::super::words::{QuestionWord, WHEN, WHERE, WHERE_TO, WHY};
use super::Planner;
use super::clause::Mood;

impl Planner<'_> {
    /// Draws a question with a question word; the weights are sixteenths.
    pub(super) fn question(&mut self) -> Sentence {
        let mood = self.mood();
        match self.random.below(16) {
            0 | 1 => {
                let mut clause = self.clause_of(mood, Phrase::Who);
                self.add_time(&mut clause, 0.3);
                Sentence::WhoDoes(clause)
            }
            2..5 => Sentence::Question(self.whom_or_what(mood)),
            5..9 => Sentence::Question(self.which_or_how_many(mood)),
            9..12 => Sentence::Question(self.place(mood)),
            12 | 13 => Sentence::Question(self.circumstance(mood, WHEN)),
            _ => Sentence::Question(self.circumstance(mood, WHY)),
        }
    }

    fn whom_or_what(&mut self, mood: Mood) -> Clause {
        self.object_question(mood, |planner, frame, classes| {
            let people = classes.contains(&Class::Person);
            let things = matches!(frame, Frame::Accusative(_)) && classes != [Class::Person];
            if people && (!things || planner.random.chance(0.5)) { Phrase::Who } else { Phrase::What }
        })
    }

    fn which_or_how_many(&mut self, mood: Mood) -> Clause {
        self.object_question(mood, |planner, _, classes| {
            let mut nouns = nouns_of(classes);
            nouns.retain(|noun| !noun.is_mass());
            // All drinks are mass nouns, so the question word is "what".
            if nouns.is_empty() {
                return Phrase::What;
            }
            let (determiner, number) = match planner.random.below(4) {
                0 => (Determiner::Which, Number::Singular),
                1 => (Determiner::Which, Number::Plural),
                _ => (Determiner::HowMany, Number::Plural),
            };
            let noun = nouns[planner.random.below(nouns.len())];
            Phrase::Noun(NounPhrase { determiner, adjective: None, noun, number, relative: None })
        })
    }

    /// Draws a question about an object; `ask` chooses the question word from the frame and classes of the
    /// object.
    fn object_question(
        &mut self,
        mood: Mood,
        ask: impl FnOnce(&mut Self, &Frame, &[Class]) -> Phrase,
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
            Frame::Plain | Frame::Motion | Frame::Travel | Frame::Location(_) => true,
            Frame::Accusative(classes) => !classes.contains(&Class::Place),
            _ => false,
        });
        let subject = self.subject(verb.subjects, false);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        let word = match verb.frame {
            Frame::Motion | Frame::Travel => WHERE_TO,
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
        let verb = self.verb(mood, |verb| !matches!(verb.frame, Frame::Copula));
        let subject = self.subject(verb.subjects, false);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        self.complete(&mut clause);
        clause.front = Front::Word(word);
        clause
    }
}
