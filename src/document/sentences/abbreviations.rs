//! What a full stop after a word means.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Titles, which a name follows. They count with a capital letter only, unless a text has none.
const TITLES: &[&str] = &[
    "adj", "adm", "brig", "capt", "cmdr", "col", "cpl", "dhr", "dipl", "doc", "dott", "dr", "dra",
    "drs", "fr", "frl", "gen", "gov", "hl", "hon", "hr", "hrn", "ing", "insp", "ir", "judr", "lt",
    "mag", "maj", "messrs", "mevr", "mgr", "mlle", "mlles", "mm", "mme", "mmes", "mr", "mrs", "ms",
    "mudr", "mx", "phdr", "phil", "pres", "prof", "pvt", "rep", "rev", "sen", "sgt", "sig", "sigg",
    "sra", "sras", "sres", "srta", "sta", "ste", "sto", "ud", "uds", "vd", "vds", "yrd", "κα",
    "акад", "доц", "мр", "проф", "тов",
];

/// Abbreviations in the middle of a sentence.
const NEVER: &[&str] = &[
    "a.k.a", "allg", "approx", "bijv", "bkz", "bl.a", "bspw", "bzgl", "bzw", "ca", "cf", "d.h",
    "d.w.z", "doç", "dr", "drs", "dvs", "e.g", "ehem", "einschl", "env", "evtl", "exkl", "f.eks",
    "geb", "gegr", "gest", "ggf", "i.d.r", "i.e", "inkl", "insb", "inż", "lfd", "m.in", "mgr",
    "napr", "např", "np", "o.g", "p.e", "p.ej", "p.ex", "prof", "resp", "s.o", "s.u", "sog",
    "t.ex", "tgl", "tj", "tzn", "tzv", "u.u", "v.d", "verh", "vgl", "viz", "vs", "vö", "z.b", "zb",
    "zzgl", "örn", "öğr", "π.χ", "акад", "доц", "напр", "проф", "св", "т.е", "ул", "вул",
    // Before numbers and names
    "abb", "afb", "anm", "aufl", "bd", "blz", "chap", "eq", "figs", "févr", "janv", "juil", "kap",
    "nr", "núm", "pág", "págs", "pp", "tél", "vols", "zif", "ziff", "čl", "№", "рис", "сс", "стр",
    "табл", "kl", "sig", "sigg", "dott", "sra", "sras", "sres", "srta", "ing",
];

/// Abbreviations that belong to a number after them; elsewhere they are words at the end of a sentence.
const BEFORE_NUMBER: &[&str] = &[
    "abs", "apr", "art", "aug", "bl", "cap", "cc", "ch", "dec", "dez", "déc", "ed", "feb", "fig",
    "gl", "jan", "jul", "jun", "lib", "mar", "max", "min", "mind", "nn", "no", "nos", "nov", "num",
    "nº", "oct", "okt", "op", "pag", "par", "pg", "pos", "poz", "rd", "rys", "sec", "sep", "sept",
    "str", "tab", "tel", "ver", "vol", "гл", "ст",
];

/// Abbreviations that may end a sentence, or go on with a name.
const UNCLEAR: &[&str] = &[
    "al", "assoc", "av", "avda", "ave", "blvd", "bros", "co", "corp", "cía", "dept", "dist", "eds",
    "ej", "ex", "ft", "gmbh", "hrsg", "inc", "jr", "llc", "ltd", "ltda", "mt", "plc", "sr", "ss",
    "st", "std", "вв", "гг", "дол", "др", "им", "коп", "млн", "млрд", "пр", "руб", "см", "ср",
    "тыс",
];

/// Words after which a number with a full stop is an ordinal, as in the German "der 3. Oktober".
const BEFORE_ORDINAL: &[&str] = &[
    "ab", "am", "beim", "bis", "das", "dem", "den", "der", "des", "det", "die", "diesem", "diesen",
    "dieser", "ihr", "ihre", "ihrem", "ihren", "ihrer", "im", "jede", "jedem", "jeden", "jeder",
    "jedes", "mein", "meine", "meinem", "meinen", "meiner", "oder", "sein", "seine", "seinem",
    "seinen", "seiner", "seit", "und", "unser", "unsere", "unserem", "unseren", "vom", "zum",
    "zur",
];

/// Words that follow ordinals and have a capital letter.
const AFTER_ORDINAL: &[&str] = &[
    "april",
    "august",
    "bundesliga",
    "dezember",
    "etage",
    "februar",
    "feber",
    "geburtstag",
    "jahrhundert",
    "jahrhunderts",
    "jahrtausend",
    "januar",
    "juli",
    "juni",
    "jänner",
    "klasse",
    "liga",
    "mai",
    "märz",
    "november",
    "oktober",
    "platz",
    "semester",
    "september",
    "spieltag",
    "stock",
    "stockwerk",
    "weltkrieg",
    "weltkrieges",
    "weltkriegs",
    "ağustos",
    "aralık",
    "ekim",
    "eylül",
    "haziran",
    "kasım",
    "mart",
    "mayıs",
    "nisan",
    "ocak",
    "temmuz",
    "şubat",
];

/// Words that rarely stand after an abbreviation within a sentence when they have a capital letter.
const STARTERS: &[&str] = &[
    // English
    "a",
    "after",
    "all",
    "also",
    "although",
    "an",
    "and",
    "another",
    "are",
    "as",
    "at",
    "because",
    "before",
    "but",
    "by",
    "can",
    "did",
    "do",
    "does",
    "during",
    "each",
    "every",
    "everyone",
    "few",
    "for",
    "from",
    "had",
    "has",
    "have",
    "he",
    "her",
    "here",
    "his",
    "how",
    "however",
    "i",
    "if",
    "in",
    "is",
    "it",
    "its",
    "later",
    "let",
    "many",
    "meanwhile",
    "most",
    "my",
    "no",
    "nobody",
    "not",
    "now",
    "of",
    "on",
    "one",
    "only",
    "or",
    "other",
    "our",
    "please",
    "several",
    "she",
    "since",
    "so",
    "some",
    "someone",
    "such",
    "that",
    "the",
    "their",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "though",
    "to",
    "today",
    "two",
    "three",
    "under",
    "until",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "with",
    "yes",
    "yet",
    "you",
    "your",
    "people",
    "their",
    "both",
    "thus",
    "therefore",
    "next",
    "once",
    // German
    "der",
    "die",
    "das",
    "den",
    "dem",
    "des",
    "ein",
    "eine",
    "einen",
    "einem",
    "einer",
    "er",
    "sie",
    "es",
    "wir",
    "ihr",
    "ich",
    "du",
    "man",
    "und",
    "aber",
    "oder",
    "doch",
    "denn",
    "wenn",
    "weil",
    "als",
    "auch",
    "auf",
    "bei",
    "bis",
    "da",
    "dann",
    "dabei",
    "dafür",
    "damit",
    "danach",
    "daher",
    "deshalb",
    "dies",
    "diese",
    "dieser",
    "dieses",
    "diesen",
    "dort",
    "durch",
    "für",
    "gegen",
    "heute",
    "hier",
    "im",
    "ihre",
    "ist",
    "jede",
    "jeder",
    "jedes",
    "jetzt",
    "kein",
    "keine",
    "mein",
    "meine",
    "mit",
    "nach",
    "nicht",
    "noch",
    "nun",
    "nur",
    "ob",
    "ohne",
    "sein",
    "seine",
    "seit",
    "sind",
    "so",
    "über",
    "um",
    "unser",
    "unter",
    "viele",
    "vom",
    "von",
    "vor",
    "während",
    "war",
    "was",
    "wann",
    "warum",
    "wer",
    "wie",
    "wo",
    "zu",
    "zum",
    "zur",
    "zwei",
    "zwar",
    // French
    "ce",
    "ces",
    "cet",
    "cette",
    "ceci",
    "cela",
    "mais",
    "et",
    "il",
    "ils",
    "elle",
    "elles",
    "je",
    "tu",
    "nous",
    "vous",
    "on",
    "le",
    "la",
    "les",
    "un",
    "une",
    "des",
    "dans",
    "pour",
    "par",
    "avec",
    "sans",
    "sur",
    "sous",
    "si",
    "quand",
    "que",
    "qui",
    "quoi",
    "comme",
    "puis",
    "alors",
    "donc",
    "ensuite",
    "est",
    "sont",
    "son",
    "sa",
    "ses",
    "leur",
    "leurs",
    "mon",
    "ma",
    "mes",
    "notre",
    "deux",
    "plusieurs",
    "après",
    "avant",
    "aussi",
    "oui",
    "non",
    "où",
    "pourquoi",
    "comment",
    "chaque",
    "tout",
    "tous",
    "en",
    // Spanish, Portuguese, Italian, Catalan, Romanian
    "el",
    "los",
    "las",
    "una",
    "uno",
    "unos",
    "unas",
    "y",
    "pero",
    "como",
    "cuando",
    "donde",
    "este",
    "esta",
    "estos",
    "estas",
    "eso",
    "ese",
    "esa",
    "ella",
    "ellos",
    "ellas",
    "yo",
    "nosotros",
    "no",
    "sí",
    "se",
    "su",
    "sus",
    "también",
    "después",
    "dos",
    "entonces",
    "luego",
    "hoy",
    "ahora",
    "por",
    "para",
    "con",
    "sin",
    "según",
    "al",
    "porque",
    "o",
    "os",
    "as",
    "um",
    "uma",
    "e",
    "mas",
    "ele",
    "ela",
    "eles",
    "elas",
    "eu",
    "não",
    "sim",
    "isso",
    "isto",
    "esse",
    "essa",
    "também",
    "depois",
    "quando",
    "na",
    "gli",
    "lo",
    "i",
    "io",
    "lui",
    "lei",
    "noi",
    "loro",
    "questo",
    "questa",
    "questi",
    "queste",
    "ma",
    "però",
    "anche",
    "poi",
    "dopo",
    "prima",
    "sono",
    "è",
    "era",
    "c'è",
    "perché",
    "nel",
    "nella",
    "due",
    "che",
    "chi",
    "cosa",
    "els",
    "les",
    "aquest",
    "aquesta",
    "però",
    "acest",
    "această",
    "și",
    "dar",
    "după",
    "este",
    "sunt",
    "ei",
    "ele",
    "am",
    "în",
    "cu",
    "pe",
    // Dutch, Swedish, Danish, Norwegian, Finnish
    "het",
    "een",
    "de",
    "zij",
    "hij",
    "wij",
    "jij",
    "ze",
    "we",
    "ik",
    "dit",
    "dat",
    "deze",
    "die",
    "maar",
    "toen",
    "dan",
    "daarna",
    "ook",
    "er",
    "voor",
    "met",
    "van",
    "op",
    "na",
    "naar",
    "niet",
    "waarom",
    "hoe",
    "wat",
    "wie",
    "waar",
    "twee",
    "den",
    "det",
    "han",
    "hon",
    "hun",
    "vi",
    "ni",
    "jag",
    "jeg",
    "en",
    "ett",
    "et",
    "och",
    "og",
    "men",
    "när",
    "da",
    "då",
    "där",
    "der",
    "detta",
    "dette",
    "dessa",
    "disse",
    "efter",
    "etter",
    "med",
    "i",
    "på",
    "för",
    "til",
    "två",
    "to",
    "hän",
    "se",
    "he",
    "me",
    "te",
    "minä",
    "sinä",
    "ja",
    "mutta",
    "kun",
    "jos",
    "nyt",
    "sitten",
    "tämä",
    "nämä",
    "ne",
    "kaksi",
    "on",
    // Slavic languages
    "to",
    "ten",
    "ta",
    "on",
    "ona",
    "ono",
    "oni",
    "one",
    "my",
    "wy",
    "ja",
    "ale",
    "jest",
    "są",
    "gdy",
    "kiedy",
    "jak",
    "nie",
    "tak",
    "w",
    "z",
    "po",
    "dla",
    "dwa",
    "jej",
    "jego",
    "potem",
    "tento",
    "tato",
    "toto",
    "já",
    "když",
    "jako",
    "byl",
    "byla",
    "bylo",
    "je",
    "jsou",
    "pak",
    "dva",
    "v",
    "na",
    "s",
    "z",
    "он",
    "она",
    "оно",
    "они",
    "мы",
    "вы",
    "я",
    "ты",
    "это",
    "этот",
    "эта",
    "эти",
    "но",
    "и",
    "а",
    "в",
    "на",
    "с",
    "по",
    "для",
    "когда",
    "если",
    "как",
    "что",
    "потом",
    "затем",
    "после",
    "его",
    "её",
    "их",
    "мой",
    "моя",
    "наш",
    "не",
    "да",
    "нет",
    "два",
    "все",
    "там",
    "тогда",
    "так",
    "у",
    "к",
    "о",
    "від",
    "він",
    "вона",
    "воно",
    "вони",
    "ми",
    "ви",
    "це",
    "цей",
    "ця",
    "ці",
    "але",
    "та",
    "і",
    "й",
    "коли",
    "якщо",
    "як",
    "потім",
    "після",
    "його",
    "її",
    "їх",
    "той",
    "тя",
    "те",
    "ние",
    "аз",
    "това",
    // Turkish, Hungarian, Greek
    "bu",
    "şu",
    "o",
    "bir",
    "ve",
    "ama",
    "biz",
    "siz",
    "onlar",
    "ben",
    "sen",
    "sonra",
    "için",
    "iki",
    "az",
    "egy",
    "ez",
    "és",
    "de",
    "ő",
    "ők",
    "én",
    "te",
    "mi",
    "ha",
    "majd",
    "két",
    "nem",
    "ο",
    "η",
    "το",
    "οι",
    "τα",
    "ένας",
    "μια",
    "ένα",
    "και",
    "αλλά",
    "αυτός",
    "αυτή",
    "αυτό",
    "εγώ",
    "εμείς",
    "όταν",
    "αν",
    "μετά",
    "δεν",
    "δύο",
];

/// Starters that also begin surnames, as in "R. De Niro", so that an initial before them decides nothing.
const PARTICLES: &[&str] = &[
    "de", "de", "del", "der", "den", "das", "die", "du", "da", "dos", "el", "la", "le", "les",
    "lo", "van", "von", "al", "an", "so", "to", "no", "in", "on",
];

/// French and Italian words that are joined with the next one.
const ELIDED: &[&str] = &[
    "c", "d", "j", "l", "m", "n", "qu", "s", "t", "un", "all", "dell", "nell", "quest",
];

static ABBREVIATIONS: LazyLock<HashMap<&'static str, Kind>> = LazyLock::new(|| {
    let lists = [
        (NEVER, Kind::Never),
        (BEFORE_NUMBER, Kind::BeforeNumber),
        (UNCLEAR, Kind::Unclear),
        // Some are in `NEVER` too, so that they count in any case.
        (TITLES, Kind::Title),
    ];
    let entries = lists
        .into_iter()
        .flat_map(|(list, kind)| list.iter().map(move |word| (*word, kind)));
    entries.collect()
});

static STARTING: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| STARTERS.iter().copied().collect());

/// What a full stop after a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The end of a sentence.
    Other,
    /// Part of a title.
    Title,
    /// Part of an abbreviation that needs something after it, or of a number.
    Never,
    /// Part of an abbreviation if a number follows.
    BeforeNumber,
    /// Part of an abbreviation, and perhaps the end of a sentence as well.
    Unclear,
}

/// The last word before a full stop.
pub(super) struct Word<'a> {
    /// Without the full stop and without what encloses it.
    text: &'a str,
    /// The sentence before it.
    before: &'a str,
}

impl<'a> Word<'a> {
    /// The last word of `sentence`.
    pub(super) fn last(sentence: &'a str) -> Self {
        /// No abbreviation is longer.
        const MOST: usize = 24;
        let encloses = |c| {
            matches!(
                c,
                '(' | '[' | '/' | '’' | '\'' | '“' | '"' | '„' | '«' | '»'
            )
        };
        let letters = sentence.chars().rev().take(MOST);
        let letters = letters.take_while(|&c| !c.is_whitespace() && !encloses(c));
        let len = letters.map(char::len_utf8).sum::<usize>();
        let (before, text) = sentence.split_at(sentence.len() - len);
        Self { text, before }
    }

    /// What a full stop after it means if `after` follows; `cased` says whether the text has capital letters.
    pub(super) fn kind(&self, after: &str, cased: bool) -> Kind {
        let begins = self.before.trim().is_empty();
        if begins && self.is_item() {
            return Kind::Never;
        }
        if self.is_number() {
            return self.kind_of_number(after);
        }
        let spaced = self.spaced();
        let word = spaced.as_deref().unwrap_or(self.text);
        let last = word.rsplit('-').next().unwrap_or(word);
        let known = known(word).or_else(|| known(last));
        let capital = last.starts_with(char::is_uppercase);
        match known {
            Some(Kind::Title) if capital || !cased => Kind::Never,
            Some(Kind::Title) if NEVER.contains(&word) => Kind::Never,
            Some(Kind::Title) => Kind::Other,
            // "CA" is no "ca".
            Some(Kind::Never) if last.chars().all(char::is_uppercase) => Kind::Other,
            Some(kind) => kind,
            None if word.ends_with("str") => Kind::BeforeNumber,
            None if self.is_initial() && begins_number(after) => Kind::Never,
            None if self.is_dotted() || self.is_initial() => Kind::Unclear,
            None => Kind::Other,
        }
    }

    /// "J": a single letter, which may be the initial of a name.
    fn is_initial(&self) -> bool {
        let mut letters = self.text.chars();
        letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
    }

    /// "U.S" or "Ph.D": parts of one or two letters.
    fn is_dotted(&self) -> bool {
        let short = |part: &str| {
            (1..=2).contains(&part.chars().count()) && part.chars().all(char::is_alphabetic)
        };
        self.text.contains('.') && self.text.split('.').all(short)
    }

    /// "3": a number that may be an ordinal or part of a date.
    fn is_number(&self) -> bool {
        (1..=3).contains(&self.text.len()) && self.text.bytes().all(|b| b.is_ascii_digit())
    }

    /// "3", "b" or "IV" as in a list.
    fn is_item(&self) -> bool {
        self.is_number() || self.is_initial() || is_roman(self.text)
    }

    fn kind_of_number(&self, after: &str) -> Kind {
        let next = first_word(after).to_lowercase();
        let before = Self::last(self.before.trim_end());
        let is_english = before.text == "am" && Self::last(before.before.trim_end()).text == "I";
        let ordinal = !is_english
            && BEFORE_ORDINAL.contains(&before.text.to_lowercase().as_str())
            && !STARTING.contains(next.as_str());
        match ordinal || goes_on_as_date(after) || AFTER_ORDINAL.contains(&next.as_str()) {
            true => Kind::Never,
            false => Kind::Other,
        }
    }

    /// "z.B" for the last of the words "z. B": abbreviations are also written with blanks.
    fn spaced(&self) -> Option<String> {
        if !self.is_initial() {
            return None;
        }
        let first = Word::last(self.before.trim_end().strip_suffix('.')?);
        let joined = format!("{}.{}", first.text, self.text);
        (known(&joined).is_some()).then_some(joined)
    }
}

/// The kind of an abbreviation, whatever the case of its letters.
fn known(word: &str) -> Option<Kind> {
    ABBREVIATIONS.get(word.to_lowercase().as_str()).copied()
}

/// Whether `text` begins with a word that rarely follows an abbreviation, here `after`, within a sentence.
pub(super) fn is_starter(text: &str, after: &Word<'_>) -> bool {
    let word = first_word(text);
    let lower = word.to_lowercase();
    let rest = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let follows = |marks: &[char]| {
        rest.get(word.len()..)
            .is_some_and(|rest| rest.starts_with(marks))
    };
    if follows(&['.']) && word.chars().count() == 1 {
        return false;
    }
    let elided = follows(&['\'', '’']) && ELIDED.contains(&lower.as_str());
    let particle = after.is_initial() && PARTICLES.contains(&lower.as_str());
    elided || STARTING.contains(lower.as_str()) && !particle
}

/// The letters and digits at the beginning of `text`, after other characters.
fn first_word(text: &str) -> &str {
    /// No word in the lists is longer, nor do more marks stand before a word.
    const MOST: usize = 16;
    let mut chars = text.char_indices().take(MOST);
    let Some((start, _)) = chars.find(|(_, c)| c.is_alphanumeric()) else {
        return "";
    };
    let letters = text[start..]
        .chars()
        .take(MOST)
        .take_while(|c| c.is_alphanumeric());
    let len: usize = letters.map(char::len_utf8).sum();
    &text[start..start + len]
}

/// Whether a number follows, in digits or Roman numerals.
pub(super) fn begins_number(text: &str) -> bool {
    let word = first_word(text);
    word.starts_with(char::is_numeric) || is_roman(word) && word != "I"
}

/// "IV": a number in Roman numerals.
fn is_roman(word: &str) -> bool {
    (1..=6).contains(&word.len()) && word.chars().all(|c| matches!(c, 'I' | 'V' | 'X' | 'L'))
}

/// Whether `text` goes on like the date "3. 10. 2020" after its first number.
fn goes_on_as_date(text: &str) -> bool {
    let digits = text.bytes().take(5).take_while(u8::is_ascii_digit).count();
    match digits {
        1 | 2 => text[digits..].starts_with('.'),
        4 => true,
        _ => false,
    }
}
