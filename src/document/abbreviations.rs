//! Abbreviations after which a sentence goes on.
//!
//! Unicode's rules end a sentence at a full stop before a capital letter. The list mends the worst of that in languages
//! whose abbreviations often precede a capital letter. It leaves out abbreviations that usually end a sentence, such as
//! "etc.". A sentence end that is overlooked costs little: two sentences are translated together.

/// Titles, references, addresses and months, in lower case and without the full stop.
const KNOWN: &[&str] = &[
    // English
    "approx", "ave", "brig", "capt", "cf", "col", "dept", "dr", "ed", "eds", "eq", "est", "fig",
    "figs", "gen", "gov", "hon", "jr", "lt", "maj", "messrs", "mr", "mrs", "ms", "mt", "mx", "no",
    "nos", "op", "pp", "pres", "prof", "pvt", "rep", "rev", "sec", "sen", "sgt", "sr", "st", "viz",
    "vol", "vols", "vs", // German
    "abb", "abs", "allg", "anm", "art", "aufl", "bd", "bspw", "bzgl", "bzw", "ca", "dipl", "ehem",
    "evtl", "exkl", "frl", "geb", "gegr", "gest", "ggf", "hl", "hr", "hrn", "hrsg", "ing", "inkl",
    "insb", "kap", "lfd", "mag", "max", "mind", "nr", "phil", "rd", "sog", "std", "str", "tel",
    "tgl", "verh", "vgl", "zzgl", // French, Spanish, Italian, Portuguese
    "av", "avda", "chap", "dott", "dra", "env", "ex", "mlle", "mlles", "mm", "mme", "mmes", "num",
    "núm", "pág", "págs", "sig", "sra", "sras", "sres", "srta", "tél", "ud", "uds",
    // Dutch, Swedish, Danish
    "bijv", "dhr", "drs", "fr", "mevr", "mw", "resp", // Polish, Czech, Russian
    "np", "tzn", "tzv", "ul", "гг", "им", "мр", "ул", // Months
    "apr", "aug", "dec", "dez", "feb", "jan", "jul", "jun", "mar", "nov", "oct", "okt", "sep",
    "sept",
];

/// Whether `text` ends in an abbreviation, an initial or an ordinal number, so that the full stop is not the end of a sentence.
pub(super) fn is_unfinished(text: &str) -> bool {
    let Some(text) = text.strip_suffix('.') else {
        return false;
    };
    let word = text.rsplit(char::is_whitespace).next().unwrap_or(text);
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    is_initials(word) || is_ordinal(word) || KNOWN.contains(&word.to_lowercase().as_str())
}

/// "J", "z.B", "U.S": parts of one letter, or "Ph.D": of two.
fn is_initials(word: &str) -> bool {
    let short = |part: &str, most| {
        (1..=most).contains(&part.chars().count()) && part.chars().all(char::is_alphabetic)
    };
    match word.split_once('.') {
        None => short(word, 1),
        Some(_) => word.split('.').all(|part| short(part, 2)),
    }
}

/// "3" as in the German "am 3. Oktober", or the number of a list's item.
fn is_ordinal(word: &str) -> bool {
    (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}
