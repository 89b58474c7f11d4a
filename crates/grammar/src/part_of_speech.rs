//! Parts of speech.

/// Parts of speech, named as in Universal Dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartOfSpeech {
    /// ADJ.
    Adjective,
    /// ADP: prepositions and verb particles.
    Adposition,
    /// ADV.
    Adverb,
    /// AUX: auxiliaries, modals and copulas.
    Auxiliary,
    /// CCONJ: coordinating conjunctions.
    Conjunction,
    /// DET: articles, demonstratives and possessives.
    Determiner,
    /// NOUN.
    Noun,
    /// NUM.
    Numeral,
    /// PART: negation, infinitive marker, genitive marker.
    Particle,
    /// PRON.
    Pronoun,
    /// PROPN.
    ProperNoun,
    /// PUNCT.
    Punctuation,
    /// SCONJ: subordinating conjunctions.
    Subordinator,
    /// VERB.
    Verb,
}

impl PartOfSpeech {
    /// The Universal Dependencies tag, such as "ADJ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adjective => "ADJ",
            Self::Adposition => "ADP",
            Self::Adverb => "ADV",
            Self::Auxiliary => "AUX",
            Self::Conjunction => "CCONJ",
            Self::Determiner => "DET",
            Self::Noun => "NOUN",
            Self::Numeral => "NUM",
            Self::Particle => "PART",
            Self::Pronoun => "PRON",
            Self::ProperNoun => "PROPN",
            Self::Punctuation => "PUNCT",
            Self::Subordinator => "SCONJ",
            Self::Verb => "VERB",
        }
    }
}
