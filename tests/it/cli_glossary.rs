//! `attentive translate --glossary`.

use serde_json::Value;

use crate::run::Folder;
use crate::support::toy;

/// A glossary, a sentence, its translation, and part of its only warning, if it has one.
type Case = (&'static str, &'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    ("dog\tPudel", "The dog sees the cat.", "Das Pudel sieht das Katze.", ""),
    ("dog\tPudel", "The cat sees the dog.", "Das Katze sieht das Pudel.", ""),
    ("cat\tKater\ndog\tPudel", "The dog sees the cat.", "Das Pudel sieht das Kater.", ""),
    ("cat\tHund\ndog\tKatze", "The dog sees the cat.", "Das Katze sieht das Hund.", ""),
    // Twice.
    ("dog\tPudel", "The dog likes the dog.", "Das Pudel mag das Pudel.", ""),
    // At the start and in another case.
    ("my\tdein", "My dog sees the cat.", "Dein Hund sieht das Katze.", ""),
    ("My\tdein", "The dog sees my cat.", "Das Hund sieht dein Katze.", ""),
    ("DOG\tPudel", "The dog sees the cat.", "Das Hund sieht das Katze.", ""),
    ("Dog\tPudel", "The dog sees the cat.", "Das Pudel sieht das Katze.", ""),
    ("dog\tPudel", "The DOG sees the cat.", "", "Pudel"),
    // Several words on either side.
    ("old dog\tPudel", "The old dog sees the cat.", "Das Pudel sieht das Katze.", ""),
    ("dog\tkleine Pudel", "The red dog sees the cat.", "Das rote kleine Pudel sieht das Katze.", ""),
    ("red bird\tgreise Dohle", "The cat hears the red bird.", "Das Katze hört das greise Dohle.", ""),
    // What the model writes anyway, in whichever Unicode form.
    ("dog\tHund", "The dog sees the cat.", "Das Hund sieht das Katze.", ""),
    ("hears\tho\u{308}rt", "The dog hears the cat.", "Das Hund hört das Katze.", ""),
    // Nothing but a term, which the model need not be able to write.
    ("dog\tPudel", "Dog", "Pudel", ""),
    ("old dog\tÑandú", "(Old dog!)", "(Ñandú!)", ""),
    // What it cannot write.
    (
        "dog\tÑandú\ncat\tKater",
        "The dog sees the cat.",
        "Das Hund sieht das Kater.",
        "the term `Ñandú` cannot be written",
    ),
    // Two terms of which the model writes one anyway, and two with the same translation.
    ("dog\tHund\ncat\tKater", "The dog sees the cat.", "Das Hund sieht das Kater.", ""),
    ("dog\tPudel\nbird\tPudel", "The dog sees the bird.", "Das Pudel sieht das Pudel.", ""),
    // What is not translated, and has no capital at the beginning.
    ("dog", "The dog sees the cat.", "Das dog sieht das Katze.", ""),
    ("my", "My dog sees the cat.", "my Hund sieht das Katze.", ""),
    // A target without any character that counts.
    ("dog\t\u{3164}", "The dog sees the cat.", "", "cannot"),
    // Verbs and adjectives.
    ("sees\tprüft", "The dog sees the cat.", "", "`prüft`"),
    ("likes\tehrt", "The red dog likes the cat.", "Das rote Hund ehrt das Katze.", ""),
    ("small\tgroße", "The dog sees the small cat.", "", "`große`"),
];

fn translated(folder: &Folder, glossary: &str, text: &str, options: &str) -> (Vec<String>, Vec<String>) {
    folder.write("terms.tsv", glossary).write("text", text);
    let outcome = folder.succeeds(&format!("translate toy text --glossary terms.tsv --json {options}"));
    let lines: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let strings = |of: &str, key: &str| -> Vec<String> {
        let all = lines.iter().flat_map(|line| line[of].as_array().unwrap());
        let text = |one: &Value| if key.is_empty() { one.clone() } else { one[key].clone() };
        all.map(|one| text(one).as_str().unwrap().to_owned()).collect()
    };
    (strings("translations", "text"), strings("warnings", ""))
}

#[test]
fn terms_take_the_places_of_what_translates_them() {
    let folder = toy::trained();
    for &(glossary, text, expected, warning) in CASES {
        let (found, warnings) = translated(&folder, glossary, text, "");
        if expected.is_empty() {
            // The source or the target is beyond the vocabulary.
            assert!(!warnings.is_empty(), "{text}: {found:?}");
            continue;
        }
        assert_eq!(found, [expected], "{glossary}: {warnings:?}");
        match warning {
            "" => assert!(warnings.is_empty(), "{text}: {warnings:?}"),
            words => assert!(warnings.len() == 1 && warnings[0].contains(words), "{warnings:?}"),
        }
    }
    // Together and in other batches as one by one.
    let glossary = "dog\tPudel\ncat\tKater\n";
    let texts = ["The dog sees the cat.", "The red bird likes the cat.", "", "The child hears the horse."];
    let text = texts.join("\n");
    let (together, _) = translated(&folder, glossary, &text, "");
    let (alone, _) = translated(&folder, glossary, &text, "--batch-size 1 --threads 1");
    assert_eq!(together, alone);
    assert_eq!(together[2..], ["", "Das Kind hört das Pferd."]);
    // Sentence by sentence.
    let (joined, _) = translated(&folder, glossary, &texts[..2].join(" "), "--split-sentences");
    assert_eq!(joined, [together[..2].join(" ")]);
    // Each of the best.
    let (best, _) = translated(&folder, "dog\tPudel", texts[0], "--n-best 3 --alignments");
    assert!(best.iter().all(|one| one.contains("Pudel")), "{best:?}");
}

#[test]
fn files_have_terms_and_wrong_glossaries_are_named() {
    let folder = toy::trained();
    folder.write("a.md", "# The dog sees the cat.\n\nThe **dog** likes the bird.\n");
    folder.write("terms.csv", "dog,Pudel,en,de\n");
    let outcome = folder.run("translate toy a.md --glossary terms.csv");
    assert_eq!(
        outcome.stdout, "# Das Pudel sieht das Katze.\n\nDas **Pudel** mag das Vogel.\n",
        "{outcome:?}"
    );
    for (content, words) in [
        ("dog\tPudel\ndog\tKater", "line 2 has a second translation of `dog`"),
        ("", "there are no entries"),
        ("a\tb\tc", "line 1 has 2 tabs"),
    ] {
        folder.write("wrong.tsv", content);
        let outcome = folder.run("translate toy a.md --glossary wrong.tsv");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(words) && outcome.stderr.contains("wrong.tsv"), "{outcome:?}");
    }
    for (options, words) in
        [("--glossary none.tsv", "none.tsv"), ("--glossary terms.csv --prefix a.md", "cannot be used with")]
    {
        let outcome = folder.run(&format!("translate toy toy.tsv {options}"));
        assert!(outcome.code != Some(0) && outcome.stderr.contains(words), "{outcome:?}");
    }
}
