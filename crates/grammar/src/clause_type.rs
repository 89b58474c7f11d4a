//! How a sentence is built from clauses.

use super::plan::{Clause, Front, Link, Phrase, Sentence};

/// How a sentence is built from clauses. Each sentence has exactly one type, and the English text alone determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClauseType {
    /// One main clause and no other: "The dog sleeps."
    Statement,
    /// A main clause whose subject or object has a relative clause: "I know the man who sings."
    Relative,
    /// Two main clauses joined by "and" or "but".
    Compound,
    /// A main clause and an adverbial clause with "because", "although", "if", "while" or "when", in either order.
    Adverbial,
    /// A main clause and its object clause with "that" or "whether".
    Reported,
    /// A question that asks for yes or no.
    YesNoQuestion,
    /// A question with a question word, such as "who", "which", "how many", "where" or "why".
    WhQuestion,
}

impl ClauseType {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Statement,
        Self::Relative,
        Self::Compound,
        Self::Adverbial,
        Self::Reported,
        Self::YesNoQuestion,
        Self::WhQuestion,
    ];

    /// Its name as a label, such as "yes_no_question".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Relative => "relative",
            Self::Compound => "compound",
            Self::Adverbial => "adverbial",
            Self::Reported => "reported",
            Self::YesNoQuestion => "yes_no_question",
            Self::WhQuestion => "wh_question",
        }
    }

    /// The type of a planned sentence.
    pub(super) fn of(plan: &Sentence) -> Self {
        match plan {
            Sentence::Statement(clause) if has_relative(clause) => Self::Relative,
            Sentence::Statement(_) => Self::Statement,
            Sentence::Question(clause) => match clause.front {
                Front::Subject | Front::Time => Self::YesNoQuestion,
                Front::Object | Front::Word(_) => Self::WhQuestion,
            },
            Sentence::WhoDoes(_) => Self::WhQuestion,
            Sentence::Compound(..) => Self::Compound,
            Sentence::Complex(_, link, _) | Sentence::Fronted(link, _, _) => match link {
                Link::That | Link::Whether => Self::Reported,
                Link::Because | Link::Although | Link::If | Link::While | Link::When => {
                    Self::Adverbial
                }
            },
        }
    }
}

fn has_relative(clause: &Clause) -> bool {
    let phrases = [Some(&clause.subject), clause.object.as_ref()];
    phrases
        .into_iter()
        .flatten()
        .any(|phrase: &Phrase| phrase.relative().is_some())
}
