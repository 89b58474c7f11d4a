//! Tests of what is kept.

use attentive_pipeline::GlossaryFormat;

use super::*;

fn new_dictionary(entries: &str) -> NewDictionary {
    of_languages("en-de", entries)
}

fn of_languages(name: &str, entries: &str) -> NewDictionary {
    NewDictionary {
        direction: TranslationDirection::of_name(name).unwrap(),
        format: GlossaryFormat::Tsv,
        entries: entries.into(),
    }
}

fn added(glossaries: &Glossaries, owner: u64, entries: &str) -> Result<Arc<StoredGlossary>, Problem> {
    glossaries.add(Client(owner), "terms".into(), vec![new_dictionary(entries)], &StopFlag::default())
}

/// The terms of the only dictionary.
fn terms(glossary: &StoredGlossary) -> Vec<(&str, &str)> {
    let entries = glossary.dictionaries[0].terms.entries().iter();
    entries.map(|entry| (&*entry.source, &*entry.target)).collect()
}

#[test]
fn dictionaries_are_merged_replaced_and_removed() {
    let glossaries = Glossaries::new();
    let (owner, stop) = (Client(1), StopFlag::default());
    let id = added(&glossaries, 1, "a\tb\nc\td").unwrap().id.clone();
    let more = [new_dictionary("c\te\nf\tg"), of_languages("de-en", "x\ty")];
    let changed = glossaries.change(owner, &id, Some("other"), &more, &stop).unwrap();
    assert_eq!((&*changed.name, changed.dictionaries.len()), ("other", 2));
    assert_eq!(terms(&changed), [("c", "e"), ("f", "g"), ("a", "b")]);
    glossaries.replace(owner, &id, &new_dictionary("z\tz"), &stop).unwrap();
    let replaced = glossaries.get(owner, &id).unwrap();
    let language = |code: &str| code.parse::<Language>().unwrap();
    let (en, de) = (language("en"), language("de"));
    assert_eq!(replaced.dictionary(&en, &de).unwrap().terms.entries().len(), 1);
    glossaries.remove_dictionary(owner, &id, &en, &de).unwrap();
    let gone = glossaries.remove_dictionary(owner, &id, &en, &de).unwrap_err();
    assert_eq!(gone.kind, ProblemKind::NoGlossary);
    assert_eq!(glossaries.get(owner, &id).unwrap().dictionaries.len(), 1);
    let twice = vec![new_dictionary("a\tb"), new_dictionary("a\tb")];
    assert!(glossaries.change(owner, &id, None, &twice, &stop).is_err());
    assert!(glossaries.add(owner, "terms".into(), twice, &stop).is_err());
}

#[test]
fn mistakes_are_named() {
    let of_csv = |entries: &str| NewDictionary { format: GlossaryFormat::Csv, ..new_dictionary(entries) };
    for (dictionary, expected) in [
        (new_dictionary(""), "argument: entries"),
        (new_dictionary("\n \n"), "argument: entries"),
        (new_dictionary("a  b\tc\nd\te\na b\tf"), "line 3 has a second translation of `a  b`"),
        (of_csv("a,b,en,fr"), "line 1 is of another language than the glossary: `fr`"),
        (new_dictionary("a"), "provided: line 1 has 0 tabs"),
    ] {
        let found = Glossaries::new().add(Client(1), "terms".into(), vec![dictionary], &StopFlag::default());
        let problem = found.unwrap_err().message;
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn identifiers_are_random_uuids() {
    let ids: Vec<String> = (0..100).map(|_| new_id()).collect();
    for id in &ids {
        let lens: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lens, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn glossaries_belong_to_their_owners_and_are_bounded() {
    let glossaries = Glossaries::new();
    let add = |owner, text: &str| added(&glossaries, owner, text);
    let first = add(1, "a\tb").unwrap();
    assert_eq!(add(2, "a\tb\na\tc").unwrap_err().kind, ProblemKind::Invalid);
    assert!(glossaries.of(Client(2)).is_empty());
    let get = |owner| glossaries.get(Client(owner), &first.id);
    assert_eq!(get(2).unwrap_err().kind, ProblemKind::NoGlossary);
    assert_eq!(terms(&get(1).unwrap()), [("a", "b")]);
    for _ in 1..MAX_GLOSSARIES[1] {
        add(1, "a\tb").unwrap();
    }
    assert_eq!(add(1, "a\tb").unwrap_err().kind, ProblemKind::Quota);
    add(2, "a\tb").unwrap();
    assert!(glossaries.remove(Client(2), &first.id).is_err());
    glossaries.remove(Client(1), &first.id).unwrap();
    assert!(get(1).is_err());
    add(1, "a\tb").unwrap();
}

#[test]
fn glossaries_of_revoked_keys_are_released() {
    let glossaries = Glossaries::new();
    let add = |owner| added(&glossaries, owner, "a\tb");
    let used = add(1).unwrap();
    let memory = Arc::downgrade(&used.dictionaries[0]);
    // More rotations of keys than there is room for if nothing were released.
    for owner in 1..=3 * MAX_GLOSSARIES[0] as u64 / 5 {
        glossaries.keep_those_of([Client(owner)].into());
        for _ in 0..5 {
            add(owner).unwrap();
        }
        assert_eq!(glossaries.of(Client(owner)).len(), 5 + usize::from(owner == 1));
    }
    assert!(glossaries.of(Client(1)).is_empty());
    assert_eq!(add(1).unwrap_err().kind, ProblemKind::WrongKey);
    // A request that uses one goes on.
    assert_eq!(terms(&used), [("a", "b")]);
    drop(used);
    assert!(memory.upgrade().is_none());
}

#[test]
fn memory_is_bounded_and_comes_back() {
    let glossaries = Glossaries::new();
    let term = "x".repeat(MAX_NAME_BYTES - 8);
    let large: String = (0..500).map(|n| format!("{n}\t{term}\n")).collect();
    let add = || added(&glossaries, 1, &large);
    let added: Vec<_> = std::iter::from_fn(|| add().ok()).collect();
    assert!((5..MAX_GLOSSARIES[1]).contains(&added.len()), "{}", added.len());
    assert_eq!(add().unwrap_err().kind, ProblemKind::Quota);
    let id = added[0].id.clone();
    drop(added);
    glossaries.remove(Client(1), &id).unwrap();
    add().unwrap();
}
