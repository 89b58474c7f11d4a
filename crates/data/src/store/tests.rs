use std::fs;

use attentive_base::random::Random;
use attentive_config::Config;
use attentive_config::{CorpusFormat, CorpusSource, TokenizerConfig, TokenizerKind};
use attentive_text::{self as text, Masks, Tokenizers};

use super::*;
use crate::{Batcher, Budget, Examples, Position};

/// Tokenizers with a vocabulary of about `size` words.
fn tokenizers(size: usize) -> Tokenizers {
    let config = TokenizerConfig {
        kind: TokenizerKind::Word,
        vocab_size: size,
        min_frequency: 1,
        ..TokenizerConfig::default()
    };
    let words: Vec<String> = (0..size).map(|word| format!("w{word}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    text::learn(&config, Masks::With, &words, &[]).unwrap()
}

/// A folder with a corpus file, and the key of the corpus.
fn corpus() -> (tempfile::TempDir, StoreKey) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text.txt");
    fs::write(&file, "a dog\n").unwrap();
    let mut config = Config::default();
    config.data.train = Some(CorpusSource::file(CorpusFormat::Tsv, file));
    (folder, StoreKey::of(&config).unwrap())
}

fn store(
    folder: &Path,
    key: &StoreKey,
    tokenizers: &Tokenizers,
    layout: ExampleLayout,
    examples: &[Example],
) -> Store {
    let mut store_writer = StoreWriter::begin(folder, key, tokenizers, layout).unwrap();
    for example in examples {
        store_writer.push(example, &[]).unwrap();
    }
    let settings = StoreFacts {
        key: key.clone(),
        encoded: EncodeStats { kept: examples.len(), ..EncodeStats::default() },
        files: Vec::new(),
        n_parts: 1,
        lines: examples.len(),
    };
    let start = tokenizers.tgt().special().start;
    store_writer.finish(settings).unwrap().starting_with(start)
}

/// Pairs of random lengths and tokens.
fn pairs(n: usize, tokenizers: &Tokenizers) -> Vec<Example> {
    let (mut random, vocabulary) = (Random::new(3, 0), tokenizers.tgt().vocab_size());
    let pair = |line| {
        let mut tokens = |bound| -> Vec<u32> {
            let n = random.below(bound);
            (0..n).map(|_| random.below(vocabulary) as u32).collect()
        };
        let (src, tgt) = (tokens(7), tokens(6));
        Example::translation(src, &tgt, tokenizers.sides(), line)
    };
    (1..=n).map(pair).collect()
}

#[test]
fn examples_are_read_as_they_were_written() {
    for size in [100, 70_000] {
        let tokenizers = tokenizers(size);
        let special = tokenizers.tgt().special();
        let pairs = pairs(500, &tokenizers);
        let texts = |make: fn(&[u32], text::SpecialTokens, usize) -> Example| -> Vec<Example> {
            let of = |pair: &Example| make(pair.src(), special, pair.line);
            pairs.iter().map(of).collect()
        };
        let whole = texts(|ids, special, line| Example::whole(ids.to_vec(), special, line));
        for (layout, examples) in [
            (ExampleLayout::Decoded, pairs.clone()),
            (ExampleLayout::Decoded, texts(Example::text)),
            (ExampleLayout::Masked, whole),
        ] {
            let (folder, key) = corpus();
            let made = store(folder.path(), &key, &tokenizers, layout, &examples);
            let mut found = Store::find(folder.path(), &key).unwrap().unwrap();
            assert_eq!(found.dir(), made.dir());
            assert_eq!(found.tokenizers().unwrap().files(), tokenizers.files());
            found = found.starting_with(special.start);
            assert_eq!(found.len(), examples.len());
            let least = examples.iter().map(|one| one.lengths().least_batch_tokens());
            assert_eq!(found.least_batch_tokens(), least.max());
            found.load(&[0]).unwrap();
            for (index, example) in examples.iter().enumerate() {
                assert_eq!(found.lengths(index), example.lengths());
                assert_eq!(found.get(index), *example);
            }
        }
    }
}

#[test]
fn batches_do_not_depend_on_where_examples_are() {
    let tokenizers = tokenizers(50);
    let examples = pairs(5 * SHARD + 10, &tokenizers);
    let (folder, key) = corpus();
    let stored = store(folder.path(), &key, &tokenizers, ExampleLayout::Decoded, &examples);
    let n = examples.len();
    let batcher =
        |examples: Examples| Batcher::new(examples, Budget::new(3000), 5, tokenizers.sides(), None).unwrap();
    let (mut memory, mut disk) = (batcher(examples.into()), batcher(Examples::Disk(stored)));
    let (mut seen, mut windows) = (vec![false; n], 0);
    while memory.position().epoch == 0 {
        assert_eq!(memory.position(), disk.position());
        assert_eq!(memory.sizes(), disk.sizes());
        windows = windows.max(memory.position().window + 1);
        let batch = memory.next_batch().unwrap();
        assert_eq!(disk.next_batch().unwrap(), batch);
        for &line in &batch.lines {
            assert!(!std::mem::replace(&mut seen[line - 1], true), "line {line} again");
        }
    }
    assert!(seen.into_iter().all(|seen| seen), "each example once");
    assert_eq!(windows, 2);
    // A position late in another epoch.
    let late = Position { epoch: 3, window: 1, batch: 7 };
    memory.seek(late).unwrap();
    disk.seek(late).unwrap();
    assert_eq!(disk.next_batch().unwrap(), memory.next_batch().unwrap());
    let outside = Position { window: 2, ..late };
    assert!(matches!(disk.seek(outside), Err(Error::Data { .. })));
}

#[test]
fn another_corpus_has_another_key() {
    let (folder, key) = corpus();
    let tokenizers = tokenizers(50);
    assert!(Store::find(folder.path(), &key).unwrap().is_none());
    store(folder.path(), &key, &tokenizers, ExampleLayout::Decoded, &[]);
    assert!(Store::find(folder.path(), &key).unwrap().is_some());
    let file = folder.path().join("text.txt");
    let mut config = Config::default();
    config.data.train = Some(CorpusSource::file(CorpusFormat::Tsv, file.clone()));
    assert_eq!(StoreKey::of(&config).unwrap(), key);
    let given = key.clone().encoded_with(&tokenizers);
    config.data.max_len -= 1;
    let shorter = StoreKey::of(&config).unwrap();
    config.data.max_len += 1;
    fs::write(&file, "a cat!\n").unwrap();
    let changed = StoreKey::of(&config).unwrap();
    let CorpusSource::File(mut file) = CorpusSource::file(CorpusFormat::Tsv, file) else { panic!() };
    file.tag = Some("<x>".into());
    config.data.train = Some(CorpusSource::File(file));
    let tagged = StoreKey::of(&config).unwrap();
    for other in [given, shorter, changed.clone(), tagged.clone()] {
        assert!(Store::find(folder.path(), &other).unwrap().is_none());
    }
    assert_ne!(changed, tagged);
}

#[test]
fn damage_is_noticed() {
    let tokenizers = tokenizers(50);
    let examples = pairs(300, &tokenizers);
    let (folder, key) = corpus();
    let mut store = store(folder.path(), &key, &tokenizers, ExampleLayout::Decoded, &examples);
    let shard = store.dir().join(shard_name(0));
    let whole = fs::read(&shard).unwrap();
    for place in [0, 9, 13, 20, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x40;
        fs::write(&shard, &damaged).unwrap();
        let error = store.load(&[0]).unwrap_err().to_string();
        assert!(error.contains("00000.shard` is damaged"), "{error}");
        fs::write(&shard, &whole[..place]).unwrap();
        assert!(matches!(store.load(&[0]), Err(Error::Data { .. })));
    }
    fs::write(&shard, &whole).unwrap();
    store.load(&[0]).unwrap();
    fs::remove_file(&shard).unwrap();
    store.load(&[]).unwrap();
    assert!(matches!(store.load(&[0]), Err(Error::Io { .. })));
    fs::write(store.dir().join(MANIFEST), "{}").unwrap();
    assert!(matches!(Store::find(folder.path(), &key), Err(Error::Data { .. })));
}

#[test]
fn what_a_killed_process_left_is_deleted() {
    let (folder, key) = corpus();
    let tokenizers = tokenizers(50);
    let unfinished = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(".unfinished")).count()
    };
    let begin = || StoreWriter::begin(folder.path(), &key, &tokenizers, ExampleLayout::Decoded).unwrap();
    let working = begin();
    let killed = begin();
    killed.abandon();
    assert_eq!(unfinished(), 2);
    let next = begin();
    assert_eq!(unfinished(), 2, "the one in work, and the new one");
    drop((working, next));
    assert_eq!(unfinished(), 0);
}
