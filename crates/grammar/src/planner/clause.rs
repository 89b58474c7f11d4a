//! Draws clauses: a verb and its arguments.

use super::super::features::{Modal, Tense};
use super::super::nouns::{CITIES, Class};
use super::super::plan::{Adjunct, Clause, Front, NounPhrase, PhrasePlan, Quality};
use super::super::verbs::{BE, VERBS, Verb, VerbFrame};
use super::super::words::{
    AT_PLACES, AT_SURFACES, COMPANY, FOR, IN_CITY, MANNERS, ONTO_SURFACES, Preposition, TIMES, TO_CITY,
    TO_PLACES, TimeReference, WAIT_FOR, adjectives_of,
};
use super::Planner;
use super::phrase::{ClauseSlot, Use};

/// Probability of the verb "be", where possible.
const COPULA: f64 = 0.13;
/// Probability of a comparison after "be", where the subject can be compared.
const COMPARISON: f64 = 0.35;
const NEGATION: f64 = 0.16;
const MANNER: f64 = 0.35;
const COMPANION: f64 = 0.55;
const BENEFICIARY: f64 = 0.25;
const PLACE: f64 = 0.4;
const TIME: f64 = 0.5;

/// Tense and modal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mood {
    pub(super) tense: Tense,
    pub(super) modal: Option<Modal>,
}

impl Mood {
    /// A tense without a modal.
    pub(super) fn plain(tense: Tense) -> Self {
        Self { tense, modal: None }
    }
}

/// The number of optional elements that a clause may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Only the arguments of the verb.
    Bare,
    /// Also manner, company, place and time.
    Full,
}

impl Planner<'_> {
    /// Draws a clause.
    pub(super) fn clause(&mut self, mood: Mood, detail: Detail) -> Clause {
        let verb = self.verb(mood, |_| true);
        let negated = self.random.chance(NEGATION);
        let subject = self.subject(verb.subjects, negated);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, negated);
        self.complete(&mut clause);
        if detail == Detail::Full {
            self.elaborate(&mut clause);
        }
        clause
    }

    /// Draws a bare affirmative clause with this subject.
    pub(super) fn clause_of(&mut self, mood: Mood, subject: PhrasePlan) -> Clause {
        let class = subject.class();
        let verb = self.verb(mood, |verb| verb.subjects.contains(&class));
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        self.complete(&mut clause);
        clause
    }

    /// Draws a relative clause with `phrase` as its subject or object, and with a verb other than `main`.
    pub(super) fn relative(&mut self, phrase: &NounPhrase, main: &Verb) -> Clause {
        let class = phrase.noun.class;
        let pronoun = PhrasePlan::Relative(phrase.noun, phrase.number);
        let other = |verb: &Verb| !std::ptr::eq(verb, main);
        let mood = match self.random.below(4) {
            0 | 1 => Mood::plain(Tense::Present),
            2 => Mood::plain(Tense::Past),
            _ => Mood::plain(Tense::Perfect),
        };
        if pronoun.is_alive() && self.random.chance(0.6) {
            let verb = self.verb(mood, |verb| other(verb) && verb.subjects.contains(&class));
            let mut clause = Clause::new(verb, pronoun, mood.tense, mood.modal, false);
            self.complete(&mut clause);
            return clause;
        }
        let verb = self.verb(mood, |verb| {
            let classes = verb.frame.object_classes().unwrap_or_default();
            other(verb) && classes.contains(&class)
        });
        let subject = self.subject(verb.subjects, false);
        let mut clause = Clause::new(verb, subject, mood.tense, mood.modal, false);
        clause.object = Some(pronoun);
        clause.front = Front::Object;
        clause
    }

    /// Draws a verb that satisfies `fit` and allows this mood.
    ///
    /// # Panics
    /// If there is no such verb.
    pub(super) fn verb(&mut self, mood: Mood, fit: impl Fn(&Verb) -> bool) -> &'static Verb {
        let fits = |verb: &&Verb| fit(verb) && verb.allows(mood.tense, mood.modal);
        if fits(&&BE) && self.random.chance(COPULA) {
            return &BE;
        }
        let verbs: Vec<&'static Verb> = VERBS.iter().filter(fits).collect();
        verbs[self.random.below(verbs.len())]
    }

    /// Adds the arguments of the verb.
    pub(super) fn complete(&mut self, clause: &mut Clause) {
        let negated = clause.negated;
        match clause.verb.frame {
            VerbFrame::Plain | VerbFrame::That | VerbFrame::Whether => {}
            VerbFrame::Accusative(classes) => {
                clause.object = Some(self.object(classes, ClauseSlot::Object, clause));
            }
            VerbFrame::Dative(classes) => {
                clause.object = Some(self.object(classes, ClauseSlot::Dative, clause));
            }
            VerbFrame::Giving(classes) => {
                clause.goal = Some(self.object(&[Class::Person], ClauseSlot::Dative, clause));
                let theme = Use::new(ClauseSlot::Theme, negated);
                clause.object = Some(self.noun_of(classes, theme));
            }
            VerbFrame::WaitFor(classes) => {
                let phrase = self.object(classes, ClauseSlot::Other, clause);
                clause.adjuncts.push(Adjunct { preposition: &WAIT_FOR, phrase });
            }
            VerbFrame::Motion => self.add_adjunct(clause, TO_PLACES, &[Class::Place]),
            VerbFrame::Travel => self.add_city(clause, &TO_CITY),
            VerbFrame::Location(classes) => self.add_location(clause, classes),
            VerbFrame::Placing => {
                let object = Use::new(ClauseSlot::Theme, negated);
                clause.object = Some(self.noun_of(&[Class::Text, Class::Thing], object));
                self.add_adjunct(clause, ONTO_SURFACES, &[Class::Surface]);
            }
            VerbFrame::Copula => clause.quality = Some(self.quality(&clause.subject)),
        }
    }

    /// Adds an adverbial of time with the given probability, if one fits. Plain qualities take no date
    /// or frequency, and comparisons take no time at all.
    pub(super) fn add_time(&mut self, clause: &mut Clause, probability: f64) {
        let modal = clause.modal.is_some();
        let negated = clause.negated || clause.object.as_ref().is_some_and(PhrasePlan::is_none);
        let fits = |reference: TimeReference| match clause.quality {
            Some(Quality::More(..)) => false,
            Some(Quality::Plain(_)) if matches!(reference, TimeReference::Dated | TimeReference::Habit) => {
                false
            }
            _ => reference.fits(clause.tense, modal, negated),
        };
        let fitting: Vec<_> = TIMES.iter().filter(|time| fits(time.reference)).collect();
        if !fitting.is_empty() && self.random.chance(probability) {
            clause.time = Some(*self.random.choose(&fitting));
        }
    }

    /// Adds optional elements. Only time is added under negation, because the other elements would attract
    /// the negation.
    fn elaborate(&mut self, clause: &mut Clause) {
        self.add_time(clause, TIME);
        if clause.negated {
            return;
        }
        match clause.verb.frame {
            VerbFrame::Plain | VerbFrame::Motion if self.random.chance(MANNER) => {
                clause.manner = Some(*self.random.choose(MANNERS));
            }
            VerbFrame::Plain | VerbFrame::Motion | VerbFrame::Travel if self.random.chance(COMPANION) => {
                self.add_adjunct(clause, COMPANY, &[Class::Person, Class::Animal]);
                // Company precedes direction.
                clause.adjuncts.rotate_right(1);
            }
            VerbFrame::Accusative(classes)
                if !classes.contains(&Class::Place) && self.random.chance(BENEFICIARY) =>
            {
                let subject = clause.subject.agreement().0;
                let phrase = self.living(&[Class::Person], Use::new(ClauseSlot::Other, false), subject);
                clause.adjuncts.push(Adjunct { preposition: &FOR, phrase });
                return;
            }
            _ => {}
        }
        let somewhere = match clause.verb.frame {
            VerbFrame::Plain => true,
            VerbFrame::Accusative(_) => clause.object.as_ref().map(PhrasePlan::class) != Some(Class::Place),
            _ => false,
        };
        if somewhere && self.random.chance(PLACE) {
            self.add_location(clause, &[Class::Place]);
        }
    }

    fn add_location(&mut self, clause: &mut Clause, classes: &[Class]) {
        if classes.contains(&Class::Surface) && self.random.chance(0.5) {
            self.add_adjunct(clause, AT_SURFACES, &[Class::Surface]);
        } else if self.random.chance(0.3) {
            self.add_city(clause, &IN_CITY);
        } else {
            self.add_adjunct(clause, AT_PLACES, &[Class::Place]);
        }
    }

    fn add_city(&mut self, clause: &mut Clause, preposition: &'static Preposition) {
        let phrase = PhrasePlan::City(*self.random.choose(CITIES));
        clause.adjuncts.push(Adjunct { preposition, phrase });
    }

    fn add_adjunct(&mut self, clause: &mut Clause, prepositions: &'static [Preposition], classes: &[Class]) {
        let preposition = self.random.choose(prepositions);
        let phrase = self.noun_of(classes, Use::new(ClauseSlot::Other, clause.negated));
        clause.adjuncts.push(Adjunct { preposition, phrase });
    }

    fn object(&mut self, classes: &[Class], slot: ClauseSlot, clause: &Clause) -> PhrasePlan {
        let place = Use::new(slot, clause.negated);
        if classes.contains(&Class::Person) && self.random.chance(0.6) {
            self.living(&[Class::Person], place, clause.subject.agreement().0)
        } else {
            self.noun_of(classes, place)
        }
    }

    fn quality(&mut self, subject: &PhrasePlan) -> Quality {
        let adjectives = adjectives_of(subject.class());
        let adjective = *self.random.choose(&adjectives);
        match adjective.comparative {
            Some(forms) if self.random.chance(COMPARISON) => {
                let standard = Use::new(ClauseSlot::Other, false);
                Quality::More(forms, self.noun_of(&[subject.class()], standard))
            }
            _ => Quality::Plain(adjective),
        }
    }
}
