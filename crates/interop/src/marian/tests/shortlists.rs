//! Tests of shortlists in both formats.

use super::*;

/// The candidates as Marian completes them to a multiple of 8, with tokens from `first` on of `n`.
fn padded(mut candidates: Vec<TokenId>, first: TokenId, n: usize) -> Vec<TokenId> {
    candidates.sort_unstable();
    candidates.dedup();
    for token in first..n as TokenId {
        if !candidates.len().is_multiple_of(8) && !candidates.contains(&token) {
            candidates.push(token);
        }
    }
    candidates.sort_unstable();
    candidates
}

#[test]
fn shortlists_are_those_of_a_plain_scan() {
    let foreign = ForeignModel::open(&fixture("firefox"), None, &Languages::default()).unwrap();
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
        assert_eq!(list.candidates(&[token]), padded(expected, first, 603));
    }
    let list = list.clone();
    let (_folder, dir) = written(foreign);
    assert_eq!(*checkpoint::load(&dir).unwrap().shortlist.unwrap(), list);
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
    assert!(
        problem(&whole[..whole.len() - 8])
            .contains("its length differs from the length that its header declares")
    );
    // Some offsets are missing, and the number of candidates is 0.
    let mut short = whole[..48 + 8 * 20].to_vec();
    short[40..48].fill(0);
    mend_shortlist(&mut short);
    assert!(problem(&short).contains("its length differs from the length that its header declares"));
    let changed = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    assert!(problem(&changed(0)).contains("not a shortlist in Marian's binary format"));
    assert!(problem(&changed(8)).contains("checksum"));
    assert!(problem(&changed(16)).contains("checksum"));
    assert!(problem(&changed(32)).contains("source tokens"));
}

/// The candidates of each source token according to a list in text format, in a model with one vocabulary.
fn of_text(option: &str, file: &str, content: &[u8]) -> std::result::Result<Vec<Vec<TokenId>>, String> {
    let folder = copied("npz");
    let search = folder.path().join("decoder.yml");
    let text = fs::read_to_string(&search).unwrap();
    fs::write(&search, format!("{text}shortlist: {option}\n")).unwrap();
    fs::write(folder.path().join(file), content).unwrap();
    let foreign = ForeignModel::open(folder.path(), None, &Languages::default());
    let list = foreign.map_err(|error| error.to_string())?.shortlist.unwrap();
    let tokens = 0..list.src_vocab() as TokenId;
    Ok(tokens.map(|token| list.candidates(&[token])).collect())
}

#[test]
fn lists_as_text_are_those_of_a_plain_scan() {
    let vocab = fs::read_to_string(fixture("npz").join("vocab.yml")).unwrap();
    let words: Vec<String> = yaml::mapping(&vocab).unwrap().keys().cloned().collect();
    let n = words.len();
    let mut random = attentive_base::random::Random::new(5, 0);
    let pairs: Vec<[usize; 3]> =
        (0..2000).map(|_| [random.below(n), random.below(n), random.below(50)]).collect();
    let mut text = String::from("NULL NULL 0.9\nNULL : 0.9\nno-such-word also-none 0.7\n");
    for [src, tgt, number] in &pairs {
        text += &format!("{} {} {}\n", words[*tgt], words[*src], *number as f32 / 50.0);
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let found =
        of_text("[lists/lex.s2t.gz, 4, \"3\", 0.3]", "lex.s2t.gz", &packed.finish().unwrap()).unwrap();
    assert_eq!(found.len(), n + 1);
    for (src, found) in found.iter().enumerate() {
        let mut of_src: BTreeMap<usize, usize> = BTreeMap::new();
        for [_, tgt, number] in pairs.iter().filter(|pair| pair[0] == src) {
            of_src.insert(*tgt, *number);
        }
        if words.get(src).is_some_and(|word| word == "<unk>") {
            of_src.insert(src, 35);
        }
        let mut of_src: Vec<(usize, usize)> = of_src.into_iter().map(|(tgt, number)| (number, tgt)).collect();
        of_src.retain(|(number, _)| *number as f32 / 50.0 > 0.3);
        of_src.sort_unstable_by(|one, other| other.cmp(one));
        let mut expected: Vec<TokenId> = (0..4).collect();
        expected.extend((src < n).then_some(src as TokenId));
        expected.extend(of_src.iter().take(3).map(|(_, tgt)| *tgt as TokenId));
        assert_eq!(*found, padded(expected, 4, n), "source token {src}");
    }
}

#[test]
fn damaged_lists_as_text_are_refused() {
    let problem = of_text("[lex.s2t]", "lex.s2t", b": \" 0.5\n: \"\n").unwrap_err();
    assert!(problem.contains("lex.s2t`, line 2: expected a target token"), "{problem}");
    let problem = of_text("[lex.s2t, many]", "lex.s2t", b"").unwrap_err();
    assert!(problem.contains("its limits are [\"many\"]"), "{problem}");
    let found = of_text("[lex.s2t]", "lex.s2t", b"").unwrap();
    assert!(found.iter().all(|candidates| candidates.len() == found.len() - 1));
}
