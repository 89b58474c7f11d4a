//! Draws plans: sentence structure and words. All choices that could make the English ambiguous are excluded
//! here.

mod clause;
mod phrase;
mod question;

use super::features::{Modal, Tense};
use super::nouns::Class;
use super::plan::{Clause, Front, Join, Link, PhrasePlan, SentencePlan};
use super::verbs::{CLAUSE_VERBS, VerbFrame};
use super::words::AdverbialPosition;
use crate::random::RandomChoices;
use clause::{Detail, Mood};

/// Probability that a statement opens with its adverbial of time.
const FRONTED_TIME: f64 = 0.45;
/// Probability of an adverbial of time in each clause of a complex sentence.
const TIME_IN_COMPLEX: f64 = 0.15;

/// A generator of plans.
pub(super) struct Planner<'a> {
    random: RandomChoices<'a>,
}

impl<'a> Planner<'a> {
    /// A planner that draws from `random`.
    pub(super) fn new(random: RandomChoices<'a>) -> Self {
        Self { random }
    }

    /// Draws a sentence; the weights are percentages.
    pub(super) fn sentence(&mut self) -> SentencePlan {
        match self.random.below(100) {
            0..46 => SentencePlan::Statement(self.statement()),
            46..53 => SentencePlan::Statement(self.with_relative()),
            53..60 => self.compound(),
            60..68 => self.complex(),
            68..74 => self.reported(),
            74..85 => {
                let mood = self.mood();
                SentencePlan::Question(self.clause(mood, Detail::Full))
            }
            _ => self.question(),
        }
    }

    fn statement(&mut self) -> Clause {
        let mood = self.mood();
        let mut clause = self.clause(mood, Detail::Full);
        self.front_time(&mut clause);
        clause
    }

    fn front_time(&mut self, clause: &mut Clause) {
        let movable = clause.time.is_some_and(|time| time.position == AdverbialPosition::End);
        if movable && self.random.chance(FRONTED_TIME) {
            clause.front = Front::Time;
        }
    }

    /// Draws a statement whose subject or object has a relative clause. Nothing follows the object in
    /// English, so the relative clause always ends where the sentence ends.
    fn with_relative(&mut self) -> Clause {
        loop {
            let mood = self.mood();
            let mut clause = self.clause(mood, Detail::Bare);
            let ends_with_object = clause.adjuncts.is_empty();
            let target = match &mut clause.object {
                Some(object) if ends_with_object && self.random.chance(0.7) => object,
                _ => &mut clause.subject,
            };
            if let PhrasePlan::Noun(phrase) = target
                && phrase.can_have_relative()
            {
                phrase.relative = Some(Box::new(self.relative(phrase, clause.verb)));
                return clause;
            }
        }
    }

    fn compound(&mut self) -> SentencePlan {
        let join = match self.random.below(13) {
            0..4 => Join::And,
            4..8 => Join::But,
            _ => Join::AndAlso,
        };
        if join != Join::AndAlso {
            let mood = self.mood();
            let first = self.dependent(mood);
            let mood = self.mood_like(mood);
            return SentencePlan::Compound(first, join, self.dependent(mood));
        }
        let mood = self.plain_mood();
        let first = loop {
            let first = self.clause(mood, Detail::Bare);
            if first.subject.is_alive() && !first.negated {
                break first;
            }
        };
        let subject = first.subject.clone();
        let second = self.clause_of(mood, subject);
        SentencePlan::Compound(first, join, second)
    }

    fn complex(&mut self) -> SentencePlan {
        let link = *self.random.choose(&[Link::Because, Link::Although, Link::If, Link::While, Link::When]);
        let (main, dependent) = match link {
            Link::When => (Mood::plain(Tense::Past), Mood::plain(Tense::Past)),
            Link::If => (self.present_mood(), Mood::plain(Tense::Present)),
            Link::While => {
                let mood = self.plain_mood();
                (mood, mood)
            }
            _ => {
                let mood = self.mood();
                (mood, self.mood_like(mood))
            }
        };
        let (main, dependent) = (self.dependent(main), self.dependent(dependent));
        if self.random.chance(0.4) {
            SentencePlan::Fronted(link, dependent, main)
        } else {
            SentencePlan::Complex(main, link, dependent)
        }
    }

    /// "… knows that …", "… asks whether …".
    fn reported(&mut self) -> SentencePlan {
        let verb = self.random.choose(CLAUSE_VERBS);
        let past = self.random.chance(0.35);
        let mood = Mood::plain(if past { Tense::Past } else { Tense::Present });
        let negated = matches!(verb.frame, VerbFrame::That) && self.random.chance(0.1);
        let subject = self.subject(&[Class::Person], negated);
        let main = Clause::new(verb, subject, mood.tense, mood.modal, negated);
        let link = match verb.frame {
            VerbFrame::Whether => Link::Whether,
            _ => Link::That,
        };
        let mood = self.mood_like(mood);
        SentencePlan::Complex(main, link, self.dependent(mood))
    }

    /// Draws a clause of a complex sentence.
    fn dependent(&mut self, mood: Mood) -> Clause {
        let mut clause = self.clause(mood, Detail::Bare);
        self.add_time(&mut clause, TIME_IN_COMPLEX);
        clause
    }

    fn mood(&mut self) -> Mood {
        match self.random.below(100) {
            0..42 => Mood::plain(Tense::Present),
            42..64 => Mood::plain(Tense::Past),
            64..77 => Mood::plain(Tense::Perfect),
            77..95 => self.modal_mood(),
            _ => Mood {
                tense: Tense::Past,
                modal: Some(*self.random.choose(&[Modal::Can, Modal::Must, Modal::Want])),
            },
        }
    }

    fn plain_mood(&mut self) -> Mood {
        Mood::plain(*self.random.choose(&[Tense::Present, Tense::Past]))
    }

    fn modal_mood(&mut self) -> Mood {
        let modal = match self.random.below(9) {
            0..3 => Modal::Will,
            3 | 4 => Modal::Can,
            5 => Modal::Must,
            6 => Modal::Want,
            7 => Modal::Should,
            _ => Modal::May,
        };
        Mood { tense: Tense::Present, modal: Some(modal) }
    }

    fn present_mood(&mut self) -> Mood {
        if self.random.chance(0.5) { Mood::plain(Tense::Present) } else { self.modal_mood() }
    }

    /// Draws a mood compatible with another one in the same sentence: both past, or neither past.
    fn mood_like(&mut self, other: Mood) -> Mood {
        loop {
            let mood = self.mood();
            if (mood.tense == Tense::Past) == (other.tense == Tense::Past) {
                return mood;
            }
        }
    }
}
