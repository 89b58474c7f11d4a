//! Numerals from 2 to 999, spelled out.

const ENGLISH_SMALL: [&str; 20] = [
    "",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const ENGLISH_TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const GERMAN_SMALL: [&str; 20] = [
    "",
    "ein",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
];
const GERMAN_TENS: [&str; 10] =
    ["", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"];

/// The English words: 345 is "three", "hundred", "forty-five".
///
/// # Panics
/// If `number` is outside 2..=999.
pub(super) fn english(number: u16) -> Vec<String> {
    check(number);
    let (hundreds, rest) = (usize::from(number / 100), usize::from(number % 100));
    let mut words = Vec::new();
    if hundreds > 0 {
        words.extend([ENGLISH_SMALL[hundreds].to_owned(), "hundred".to_owned()]);
    }
    match (rest / 10, rest % 10) {
        (0, 0) => {}
        (0 | 1, _) => words.push(ENGLISH_SMALL[rest].to_owned()),
        (tens, 0) => words.push(ENGLISH_TENS[tens].to_owned()),
        (tens, ones) => words.push(format!("{}-{}", ENGLISH_TENS[tens], ENGLISH_SMALL[ones])),
    }
    words
}

/// The German word: 345 is "dreihundertfünfundvierzig". Numbers that end in 01 are excluded because "eins" is
/// declined.
///
/// # Panics
/// If `number` is outside 2..=999 or ends in 01.
pub(super) fn german(number: u16) -> String {
    check(number);
    let (hundreds, rest) = (usize::from(number / 100), usize::from(number % 100));
    assert!(rest != 1, "{number} requires declension");
    let mut word = String::new();
    if hundreds > 0 {
        word.push_str(GERMAN_SMALL[hundreds]);
        word.push_str("hundert");
    }
    match (rest / 10, rest % 10) {
        (0 | 1, _) => word.push_str(GERMAN_SMALL[rest]),
        (tens, 0) => word.push_str(GERMAN_TENS[tens]),
        (tens, ones) => {
            word.push_str(GERMAN_SMALL[ones]);
            word.push_str("und");
            word.push_str(GERMAN_TENS[tens]);
        }
    }
    word
}

fn check(number: u16) {
    assert!((2..=999).contains(&number), "expected a number from 2 to 999, found {number}");
}

#[cfg(test)]
mod tests {
    use super::{english, german};

    #[test]
    fn numbers_in_words() {
        let words = |number| (english(number).join(" "), german(number));
        for (number, en, de) in [
            (2, "two", "zwei"),
            (16, "sixteen", "sechzehn"),
            (17, "seventeen", "siebzehn"),
            (20, "twenty", "zwanzig"),
            (21, "twenty-one", "einundzwanzig"),
            (23, "twenty-three", "dreiundzwanzig"),
            (30, "thirty", "dreißig"),
            (66, "sixty-six", "sechsundsechzig"),
            (100, "one hundred", "einhundert"),
            (112, "one hundred twelve", "einhundertzwölf"),
            (345, "three hundred forty-five", "dreihundertfünfundvierzig"),
            (770, "seven hundred seventy", "siebenhundertsiebzig"),
        ] {
            assert_eq!(words(number), (en.to_owned(), de.to_owned()), "{number}");
        }
    }
}
