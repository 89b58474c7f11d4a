//! Shortlists of Firefox.

use super::*;

#[test]
fn shortlists_are_those_of_a_plain_scan() {
    let foreign = Foreign::open(&fixture("firefox"), None, &Languages::default()).unwrap();
    let list = foreign.shortlist.as_ref().unwrap();
    let bytes = fs::read(fixture("firefox").join(LEXICON)).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[8 * at..][..8].try_into().unwrap()) as usize;
    let (first, n_offsets) = (number(2) as TokenId, number(4));
    let candidate = |at: usize| {
        let start = 8 * (6 + n_offsets) + 4 * at;
        TokenId::from_le_bytes(bytes[start..][..4].try_into().unwrap())
    };
    for token in 0..603 {
        let mut expected: Vec<TokenId> = (0..first).chain([token]).collect();
        expected.extend((number(6 + token as usize)..number(7 + token as usize)).map(candidate));
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(list.candidates(&[token]), expected);
    }
    let (_folder, dir) = written(foreign);
    assert!(checkpoint::load(&dir).unwrap().shortlist.is_some());
}

#[test]
fn damaged_shortlists_are_refused() {
    let folder = copied("firefox");
    let path = folder.path().join(LEXICON);
    let whole = fs::read(&path).unwrap();
    let problem = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        refusal(folder.path())
    };
    assert!(problem(&whole[..40]).contains("truncated"));
    assert!(problem(&whole[..whole.len() - 8]).contains("its length is not what it says"));
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    assert!(problem(&changed(0)).contains("no shortlist of Firefox"));
    assert!(problem(&changed(8)).contains("checksum"));
    assert!(problem(&changed(16)).contains("checksum"));
    assert!(problem(&changed(32)).contains("source tokens"));
}
