//! The clause structure of a sentence.

use super::plan::{Clause, Front, Link, PhrasePlan, SentencePlan};

/// The clause structure of a sentence. Each sentence has exactly one type, which the English text alone
/// determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClauseType {
    /// A single main clause: "The dog sleeps."
    Statement,
    /// A main clause whose subject or object has a relative clause: "I know the man who sings."
    Relative,
    /// Two main clauses joined by "and" or "but".
    Compound,
    /// A main clause and an adverbial clause with "because", "although", "if", "while" or "when", in either
    /// order.
    Adverbial,
    /// A main clause and its object clause with "that" or "whether".
    Reported,
    /// A yes-no question.
    YesNoQuestion,
    /// A question with a question word, such as "who", "which", "how many", "where" or "why".
    WhQuestion,
}

impl ClauseType {
    /// All clause types.
    pub const ALL: [Self; 7] = [
        Self::Statement,
        Self::Relative,
        Self::Compound,
        Self::Adverbial,
        Self::Reported,
        Self::YesNoQuestion,
        Self::WhQuestion,
    ];

    /// The name used as a label, such as "yes_no_question".
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
    pub(super) fn of(plan: &SentencePlan) -> Self {
        match plan {
            SentencePlan::Statement(clause) if has_relative(clause) => Self::Relative,
            SentencePlan::Statement(_) => Self::Statement,
            SentencePlan::Question(clause) => match clause.front {
                Front::Subject | Front::Time => Self::YesNoQuestion,
                Front::Object | Front::Word(_) => Self::WhQuestion,
            },
            SentencePlan::WhoDoes(_) => Self::WhQuestion,
            SentencePlan::Compound(..) => Self::Compound,
            SentencePlan::Complex(_, link, _) | SentencePlan::Fronted(link, _, _) => match link {
                Link::That | Link::Whether => Self::Reported,
                Link::Because | Link::Although | Link::If | Link::While | Link::When => Self::Adverbial,
            },
        }
    }
}

fn has_relative(clause: &Clause) -> bool {
    let phrases = [Some(&clause.subject), clause.object.as_ref()];
    phrases.into_iter().flatten().any(|phrase: &PhrasePlan| phrase.relative().is_some())
}
