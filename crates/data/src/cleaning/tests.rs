//! Each rule and each mend, as a table of cases.

use super::*;

fn pair(src: &str, tgt: &str) -> SentencePair {
    SentencePair { src: src.into(), tgt: tgt.into() }
}

fn english_german() -> CleaningOptions {
    CleaningOptions {
        languages: Some(ExpectedLanguages::new("en", "de").unwrap()),
        ..CleaningOptions::default()
    }
}

fn judged(src: &str, tgt: &str) -> CleanedPair {
    let mut cleaner = Cleaner::new(english_german());
    cleaner.clean(vec![Some(pair(src, tgt))]).remove(0)
}

#[test]
fn each_rule_drops_what_it_should() {
    use CleaningRule::*;
    let long = "word ".repeat(151);
    let long_word = format!("A {} here.", "x".repeat(101));
    let chinese = "我们昨天去了北京".repeat(50);
    let cases: [(CleaningRule, &str, &str); 31] = [
        (Empty, "", "Ein Hund läuft."),
        (Empty, "A dog runs.", " \t "),
        (Undecodable, "A dog runs through the snow.", "Ein Hund l\u{FFFD}uft durch den Schnee."),
        (Undecodable, "A dog\u{0} runs through the snow.", "Ein Hund läuft durch den Schnee."),
        (TooLong, &long, &long),
        (TooLong, "We went to Beijing yesterday.", &chinese),
        (LongWord, &long_word, &long_word),
        (Ratio, "A dog runs through the snow and jumps over a fence behind the house.", "Ein Hund."),
        (Ratio, "A dog.", "Ein Hund läuft durch den Schnee und springt hinter dem Haus über einen Zaun."),
        (Ratio, "We went to Beijing yesterday.", &chinese[..chinese.len() / 10]),
        (Letters, "12 34 56 78 90 - 12", "12 34 56 78 90 - 12"),
        (Letters, "+ - * / = a", "+ - * / = a"),
        (Copy, "A dog runs through the snow.", "a dog runs through the snow."),
        (Copy, "A dog runs through the snow", "a dog runs through the snow."),
        (Copy, "我们昨天去了北京。", "我们昨天去了北京。"),
        (Repetition, "We buy and sell all day long.", "我们买卖买卖买卖买卖。"),
        (Repetition, "A dog runs through the deep snow.", "Ein Hund Ein Hund Ein Hund Ein Hund Ein"),
        (Markup, "A [[dog]] runs through the snow.", "Ein Hund läuft durch den Schnee."),
        (Markup, "A dog runs through the snow.", "Ein Hund {{läuft}} durch den Schnee."),
        (Numbers, "There are 3 dogs in the snow.", "Es sind 4 Hunde im Schnee."),
        (Numbers, "There are 3 dogs in the snow.", "Es sind Hunde im Schnee."),
        (Numbers, "It has 1,0000 parts.", "Er hat 10000 Teile."),
        (Addresses, "See https://example.org/a for more.", "Siehe https://example.org/b für mehr."),
        (Addresses, "Write to a@example.org for more.", "Für mehr schreiben Sie uns bitte."),
        (Language, "Ein Hund läuft durch den tiefen Schnee.", "Ein Hund läuft durch den Schnee."),
        (Language, "Ein Hund läuft durch den Schnee.", "A dog runs through the snow in the morning."),
        (
            Language,
            "Hello everybody, this is a sentence in English.",
            "Bonjour tout le monde, ceci est une phrase en français.",
        ),
        (
            Language,
            "A woman in a red coat waits for the bus.",
            "Una mujer con un abrigo rojo espera el autobús delante de la estación.",
        ),
        (Language, "A dog runs through the snow.", "Собака бежит по глубокому снегу."),
        (Language, "Собака Rex бежит по глубокому снегу.", "Der Hund Rex läuft durch den tiefen Schnee."),
        (Language, "The dog Rex runs through the deep snow.", "Собака Rex бежит по глубокому снегу."),
    ];
    for (rule, src, tgt) in cases {
        assert_eq!(judged(src, tgt).dropped, Some(rule), "{src} | {tgt}");
    }
}

#[test]
fn good_pairs_are_kept_as_they_are() {
    for (src, tgt) in [
        ("A dog runs through the snow.", "Ein Hund läuft durch den Schnee."),
        ("GNOME", "GNOME"),
        ("Free Software", "Free Software"),
        ("Yes.", "Genau so ist es."),
        ("It costs 1,000.50 dollars in 2024.", "Es kostet 2024 1.000,50 Dollar."),
        ("It has 12,345 parts and 1,000,000 words.", "Er hat 12345 Teile und 1 000 000 Wörter."),
        ("On 05/11/2020, H2O and 10 m2 were here.", "Am 5.11.2020 waren H₂O und 10 m² hier."),
        ("There are 42 dogs and 0 cats here.", "Es gibt ４２ Hunde und ٠ Katzen hier."),
        ("See https://example.org/.", "Siehe (https://example.org)."),
        ("See http://example.org/a here.", "Siehe https://www.example.org/a hier."),
        ("The letter Ã is used here.", "Der Buchstabe Ã kommt hier vor."),
        ("The word IRMÃ is short here.", "Das Wort IRMÃ ist kurz hier."),
        ("He said: no, no, no!", "Er sagte: nein, nein, nein!"),
        ("Use `<file>` and a < b > c.", "Nutzen Sie `<Datei>` und a < b > c."),
        ("Look at <b>this</b> dog here.", "Sieh <b>diesen</b> Hund hier an."),
        ("AT&T sells fish & chips here.", "AT&T verkauft hier Fisch & Chips."),
        ("PÅ” and ISÄ… are words", "PÅ” und ISÄ… sind Worte"),
        ("„HÄ“, said the man here.", "„HÄ“, sagte der Mann hier."),
        ("See <a href=\"x\">this</a> dog here.", "Sieh <a href=\"y\">diesen</a> Hund hier."),
        ("CAFÉ», Ä–Ö in São Paulo.", "CAFÉ», Ä–Ö aus São Paulo!"),
        ("The volume is 120 Å³, the area 7 Å².", "Das Volumen ist 120 Å³, die Fläche 7 Å²."),
        ("It is 5 Å±0.2, in Å·mol and Å® here.", "Es ist 5 Å±0,2, in Å·mol und Å® hier."),
        ("GNOME XML library - documentation", "GNOME-XML-Bibliothek - Dokumentation"),
        ("Dokumentation", "Multitouch Protocol Translation Library"),
    ] {
        let found = judged(src, tgt);
        assert_eq!((found.dropped, found.pair), (None, pair(src, tgt)), "{src} | {tgt}");
        assert!(found.mended.is_empty(), "{src}: {:?}", found.mended);
    }
}

#[test]
fn damage_that_can_be_undone_is_mended() {
    let cases = [
        (Mend::Entities, "Fish &amp; chips &#8211; &uuml;ber &quot;all&quot;", "Fish & chips – über \"all\""),
        (Mend::Entities, "a &lt; b &unknown; &amp ;", "a < b &unknown; &amp ;"),
        (Mend::Entities, "Fish &amp;amp;amp; chips", "Fish & chips"),
        (Mend::Entities, "a &amp;amp;lt; b &#38;lt; c &semi;", "a < b < c ;"),
        (Mend::Entities, "The cat &#59; and", "The cat ; and"),
        (Mend::Entities, "&notes; &amp; &region; &copyright;", "&notes; & &region; &copyright;"),
        (Mend::Tags, "one<br>two</p><p>three", "one two three"),
        (Mend::Tags, "<p>A <b class=\"x\">dog</b> runs.</p>", "A dog runs."),
        (
            Mend::Encoding,
            "Ein Hund lÃ¤uft Ã¼ber die StraÃŸe â€“ schnell.",
            "Ein Hund läuft über die Straße – schnell.",
        ),
        (Mend::Encoding, "FuÃ\u{9F}gÃ¤nger", "Fußgänger"),
        (Mend::Encoding, "Ã  la carte, dÃ©jÃ  vu", "à la carte, déjà vu"),
        (Mend::Encoding, "Ð¡Ð¾Ð±Ð°ÐºÐ°", "Собака"),
        (Mend::Encoding, "ÐŸÐ¾Ð¼ Ð¸ Ð²Ð¾Ð´Ð°", "Пом и вода"),
        (Mend::Encoding, "cÄƒ È™i aÈ™a", "că și așa"),
        (Mend::Encoding, "5 â‰¥ 3 â†’ true â˜… ðŸ˜€", "5 ≥ 3 → true ★ 😀"),
        (Mend::Encoding, "20Â°C, Â»thisÂ« and miestÅ³", "20°C, »this« and miestų"),
        (Mend::Encoding, "perÃ² hablÃ³", "però habló"),
        (Mend::Blanks, "AMANHÃ\u{A0}: voilà\u{A0}» é\u{A0}».", "AMANHÃ : voilà » é »."),
        (Mend::Blanks, "  A dog\u{A0} runs.\t", "A dog runs."),
    ];
    for (mend, damaged, expected) in cases {
        let (found, mended) = mend::mended(pair(damaged, "Ein Hund läuft."), false);
        assert_eq!(found, pair(expected, "Ein Hund läuft."), "{damaged}");
        assert!(mended.contains(&mend), "{damaged}: {mended:?}");
        let (found, _) = mend::mended(pair("A dog", damaged), false);
        assert_eq!(found.tgt, expected);
    }
}

#[test]
fn damage_stays_if_that_is_wanted() {
    let options = CleaningOptions { mends: false, ..CleaningOptions::default() };
    let damaged = pair("Fish &amp; chips &lt;b&gt;", "Fisch &amp; Pommes  &lt;b&gt;");
    let found = Cleaner::new(options).clean(vec![Some(damaged.clone())]).remove(0);
    assert_eq!((found.pair, found.mended, found.dropped), (damaged, Vec::new(), None));
}

#[test]
fn pairs_that_say_the_same_are_dropped_in_any_order_of_pieces() {
    let lines = ["A dog runs.", "a DOG runs", "A cat runs.", "A dog, runs!", "A cat 1", "A cat 2"];
    let pairs = || lines.map(|line| Some(pair(line, "Ein Tier läuft 1 2."))).to_vec();
    let options = CleaningOptions { without: vec![CleaningRule::Numbers], ..CleaningOptions::default() };
    let mut whole = Cleaner::new(options.clone());
    let found = whole.clean(pairs());
    let kept: Vec<bool> = found.iter().map(|one| one.dropped.is_none()).collect();
    assert_eq!(kept, [true, false, true, false, true, false]);
    let mut piecewise = Cleaner::new(options.clone());
    let again: Vec<CleanedPair> = pairs().into_iter().flat_map(|one| piecewise.clean(vec![one])).collect();
    assert_eq!((again, piecewise.report()), (found, whole.report()));
    assert_eq!((whole.report().pairs, whole.report().kept), (6, 3));
    let without = CleaningOptions { without: CleaningRule::ALL.into(), ..options };
    assert!(Cleaner::new(without).clean(pairs()).iter().all(|one| one.dropped.is_none()));
}

#[test]
fn one_source_of_each_target_is_kept_if_that_is_wanted() {
    let options = CleaningOptions { one_per_target: true, ..CleaningOptions::default() };
    let pairs = [
        ("A dog runs.", "Ein Hund läuft."),
        ("The dog is running.", "ein Hund läuft"),
        ("A cat runs.", "Eine Katze läuft."),
        ("Part 1 of the book.", "Teil 1 des Buches."),
        ("Part 2 of a book!", "Teil 2 des Buches!"),
    ];
    let mut cleaner = Cleaner::new(options);
    let found = cleaner.clean(pairs.map(|(src, tgt)| Some(pair(src, tgt))).into());
    let dropped: Vec<_> = found.iter().map(|one| one.dropped).collect();
    assert_eq!(dropped, [None, Some(CleaningRule::SameTarget), None, None, None]);
    assert_eq!(cleaner.report().dropped.last(), Some(&(CleaningRule::SameTarget, 1)));
}

#[test]
fn names_of_rules_and_languages_are_checked() {
    for rule in CleaningRule::ALL {
        assert_eq!(rule.name().parse::<CleaningRule>().unwrap(), rule);
    }
    let wrong = "numers".parse::<CleaningRule>().unwrap_err();
    assert!(wrong.contains("no rule `numers`"), "{wrong}");
    assert!(
        ExpectedLanguages::new("en", "xx").unwrap_err().to_string().contains("`xx` cannot be recognized")
    );
    assert!(ExpectedLanguages::new("en", "sr_Latn").is_err());
    for code in ["pt_BR", "zh-CN", "no", "NB", "eng", "sr_Cyrl", "zh_Hans"] {
        assert!(ExpectedLanguages::of_one_side(code).is_ok(), "{code}");
    }
    let same = ExpectedLanguages::new("en", "en_GB").unwrap_err().to_string();
    assert!(same.contains("are the same language"), "{same}");
    // A pair that could not be read.
    assert_eq!(
        Cleaner::new(CleaningOptions::default()).clean(vec![None])[0].dropped,
        Some(CleaningRule::Unreadable)
    );
}

#[test]
fn languages_in_other_scripts_may_have_latin_names() {
    for (code, text) in [
        ("ja", "経済産業省が新製品安全法改正案を国会に提出した。"),
        ("ja", "このパッケージはlibwebkit2gtk-4.0-devのドキュメントを提供します。"),
        ("zh", "使用 LibreOffice Writer 打开 Microsoft Word 文档。"),
        ("ru", "Библиотека GObject Introspection для Telepathy"),
    ] {
        let languages = Some(ExpectedLanguages::of_one_side(code).unwrap());
        let options = CleaningOptions { languages, is_one_side: true, ..CleaningOptions::default() };
        let without = vec![CleaningRule::Ratio, CleaningRule::Copy];
        let mut cleaner = Cleaner::new(CleaningOptions { without, ..options });
        assert_eq!(cleaner.clean(vec![Some(pair(text, text))])[0].dropped, None, "{text}");
        let english = "This is a sentence in English, and nothing else.";
        let found = cleaner.clean(vec![Some(pair(english, english))]);
        assert_eq!(found[0].dropped, Some(CleaningRule::Language), "{code}");
    }
}

#[test]
fn marks_tell_words_apart() {
    let words = ["เขาขายข้าวที่นี่", "เขาขายข่าวที่นี่", "क्या है", "कया है"];
    let mut cleaner =
        Cleaner::new(CleaningOptions { without: vec![CleaningRule::Copy], ..CleaningOptions::default() });
    let found = cleaner.clean(words.map(|word| Some(pair(word, word))).into());
    assert!(found.iter().all(|one| one.dropped.is_none()), "{found:?}");
}

#[test]
fn text_in_one_language_has_no_markup_and_no_repetitions() {
    let without = vec![CleaningRule::Ratio, CleaningRule::Copy];
    let options = CleaningOptions { is_one_side: true, without, ..CleaningOptions::default() };
    let mut cleaner = Cleaner::new(options);
    let mut cleaned = |text: &str| cleaner.clean(vec![Some(pair(text, text))]).remove(0);
    assert_eq!(cleaned("<p>A <b>paragraph</b></p>").pair.src, "A paragraph");
    assert_eq!(cleaned("A [[wiki|text]] {{cite}}").dropped, Some(CleaningRule::Markup));
    assert_eq!(cleaned("buy now buy now buy now buy now").dropped, Some(CleaningRule::Repetition));
}
