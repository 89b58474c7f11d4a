use std::collections::BTreeMap;
use std::sync::Arc;

use attentive_base::batch::{Batch, TokenId};
use attentive_config::{
    AugmentationConfig, Config, CorpusFormat, CorpusSource, Task, TokenizerConfig, TokenizerKind, TrainConfig,
};
use attentive_text::{self as text, Masks, Tokenizers};

use crate::encoding::line_encoder::LineEncoder;
use crate::{
    Batcher, Budget, CorpusAlignments, DataKind, ExampleLayout, Examples, Position, Store, StoreFacts,
    StoreKey, StoreWriter, Variation, read,
};

/// Batches of a small corpus with a variation, and its configuration and tokenizers.
struct Corpus {
    config: Config,
    tokenizers: Tokenizers,
    examples: Vec<crate::Example>,
    key: StoreKey,
    folder: tempfile::TempDir,
    alignments: Arc<CorpusAlignments>,
}

/// Changes settings of `[train]`.
type Set = fn(&mut TrainConfig);

fn corpus(kind: TokenizerKind, set: Set) -> Corpus {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.tsv");
    let nouns = ["cat", "dog", "garden", "house", "bird", "singing teacher"];
    let pair = |n: usize| {
        let (a, b) = (nouns[n % 6], nouns[n / 6 % 6]);
        format!("the {a} sees {n} {b}s.\tdie {b} sieht {n} kleine {a}.\n")
    };
    let mut pairs: Vec<String> = (0..198).map(pair).collect();
    let capitals = nouns.join(" ").to_uppercase();
    pairs.extend([(); 2].map(|()| format!("</> THE {capitals} SEES.\tDIE {capitals} SIEHT KLEINE </>.\n")));
    std::fs::write(&file, pairs.concat()).unwrap();
    let mut config = Config::default();
    set(&mut config.train);
    config.data.train = Some(CorpusSource::file(CorpusFormat::Tsv, file));
    config.tokenizer = TokenizerConfig { kind, vocab_size: 150, ..TokenizerConfig::default() };
    let source = config.data.training().unwrap();
    let lines = read(source, DataKind::of(&config), None, 0, &mut crate::unwatched).unwrap();
    let (src, tgt) = (lines.src_texts(), lines.tgt_texts());
    let tokenizers = text::learn(&config.tokenizer, Masks::Without, &src, &tgt).unwrap();
    let encoder = LineEncoder::new(Task::Translate, &tokenizers, 256);
    let (examples, _) = crate::encode(&lines, encoder, &mut crate::unwatched).unwrap();
    let key = StoreKey::of(&config).unwrap();
    let links = folder.path().join("links");
    // The third word is "sees" and "sieht".
    std::fs::write(&links, "2-2\n".repeat(200)).unwrap();
    let (alignments, _) = CorpusAlignments::read(&links).unwrap();
    Corpus { config, tokenizers, examples, key, folder, alignments: Arc::new(alignments) }
}

impl Corpus {
    fn batcher(&self, examples: impl Into<Examples>) -> Batcher {
        let (sides, seed) = (self.tokenizers.sides(), self.config.seed);
        let batcher = Batcher::new(examples, Budget::new(400), seed, sides, None).unwrap();
        let alignments = Some(Arc::clone(&self.alignments));
        batcher.varied(Variation::new(&self.config, &self.tokenizers, alignments).unwrap()).unwrap()
    }

    /// The sources and targets of the lines of an epoch, as tokens.
    fn epoch(&self, batcher: &mut Batcher) -> BTreeMap<usize, (Vec<TokenId>, Vec<TokenId>)> {
        let epoch = batcher.position().epoch;
        let mut lines = BTreeMap::new();
        while batcher.position().epoch == epoch {
            let batch = batcher.next_batch().unwrap();
            let (src, tgt) = (batch.src_tokens().unwrap(), &batch.tgt_out);
            assert_eq!(batch.tgt_in().unwrap().lens(), tgt.lens());
            for (row, &line) in batch.lines.iter().enumerate() {
                let of = |rows: &attentive_base::batch::Padded| {
                    let start = row * rows.width();
                    rows.ids[start..start + rows.lens()[row]].to_vec()
                };
                let (tgt_in, tgt) = (of(batch.tgt_in().unwrap()), of(tgt));
                assert_eq!(tgt_in[1..], tgt[..tgt.len() - 1]);
                lines.insert(line, (of(src), tgt));
            }
        }
        lines
    }

    fn texts(&self, (src, tgt): &(Vec<TokenId>, Vec<TokenId>)) -> (String, String) {
        (self.tokenizers.src().decode(src).unwrap(), self.tokenizers.tgt().decode(tgt).unwrap())
    }
}

const VARIATIONS: [(TokenizerKind, Set); 3] = [
    (TokenizerKind::Bpe, |train| train.bpe_dropout = 0.2),
    (TokenizerKind::Unigram, |train| train.unigram_alpha = 0.2),
    (TokenizerKind::Bpe, |train| {
        train.augmentation = AugmentationConfig {
            upper_case: 0.2,
            title_case: 0.2,
            typos: 0.2,
            no_final_punctuation: 0.2,
            inline_tags: 0.2,
        };
    }),
];

#[test]
fn subwords_differ_between_epochs_and_spell_the_same_text() {
    for (kind, set) in VARIATIONS[..2].iter().copied() {
        let corpus = corpus(kind, set);
        let mut batcher = corpus.batcher(corpus.examples.clone());
        let [first, second] = [(), ()].map(|()| corpus.epoch(&mut batcher));
        assert_eq!(first.len(), 200);
        assert!(first.values().zip(second.values()).filter(|(a, b)| a != b).count() > 100, "{kind:?}");
        for example in &corpus.examples {
            let usual = (example.src().to_vec(), example.tgt_out.clone());
            for lines in [&first, &second] {
                assert_eq!(corpus.texts(&lines[&example.line]), corpus.texts(&usual), "{kind:?}");
            }
        }
    }
}

#[test]
fn augmentation_changes_its_share_of_the_pairs() {
    let corpus = corpus(TokenizerKind::Bpe, |train| {
        train.augmentation =
            AugmentationConfig { upper_case: 0.25, no_final_punctuation: 0.5, ..Default::default() };
    });
    let mut batcher = corpus.batcher(corpus.examples.clone());
    let lines = corpus.epoch(&mut batcher);
    let texts: Vec<(String, String)> = lines.values().map(|line| corpus.texts(line)).collect();
    let count = |is: fn(&str) -> bool| {
        let both = texts.iter().filter(|(src, tgt)| is(src) && is(tgt)).count();
        let one = texts.iter().filter(|(src, tgt)| is(src) || is(tgt)).count();
        assert_eq!(both, one, "both sides or none");
        both
    };
    let upper = count(|text| text.to_uppercase() == text);
    assert!((30..70).contains(&upper), "{upper} of 200 in upper case");
    let open = count(|text| !text.ends_with('.'));
    assert!((80..120).contains(&open), "{open} of 200 without a full stop");
}

#[test]
fn tags_surround_aligned_words() {
    let corpus = corpus(TokenizerKind::Bpe, |train| train.augmentation.inline_tags = 1.0);
    let mut batcher = corpus.batcher(corpus.examples.clone());
    let mut n_tagged = 0;
    for line in corpus.epoch(&mut batcher).values().take(198) {
        let (src, tgt) = corpus.texts(line);
        assert_eq!(src.contains('<'), tgt.contains('<'), "{src} {tgt}");
        if src.contains('<') {
            n_tagged += 1;
            let tagged =
                |text: &str| text.split_once('>')?.1.split_once("</").map(|(tagged, _)| tagged.to_owned());
            // The name of one of them is two words.
            if !src.contains("teacher") && !tgt.contains("teacher") {
                assert!(tagged(&src).unwrap().contains("sees"), "{src}");
                assert_eq!(tagged(&tgt).unwrap(), "sieht", "{tgt}");
            }
        }
    }
    assert!(n_tagged > 50, "{n_tagged}");
}

#[test]
fn batches_are_the_same_when_they_are_resumed_and_on_disk() {
    for (kind, set) in VARIATIONS {
        let corpus = corpus(kind, set);
        let mut batcher = corpus.batcher(corpus.examples.clone());
        let n = 2 * batcher.batches_per_epoch() + 3;
        let run: Vec<(Position, Batch)> =
            (0..n).map(|_| (batcher.position(), batcher.next_batch().unwrap())).collect();
        let dir = corpus.folder.path();
        let mut writer =
            StoreWriter::begin(dir, &corpus.key, &corpus.tokenizers, ExampleLayout::Decoded).unwrap();
        corpus.examples.iter().for_each(|example| writer.push(example, &[]).unwrap());
        let encoded = crate::EncodeStats { kept: corpus.examples.len(), ..Default::default() };
        let facts =
            StoreFacts { key: corpus.key.clone(), encoded, files: Vec::new(), n_parts: 1, lines: 200 };
        let start = corpus.tokenizers.tgt().special().start;
        let store: Store = writer.finish(facts).unwrap().starting_with(start);
        for first in [0, 1, n / 2, n - 2] {
            for examples in [Examples::Disk(store.clone()), corpus.examples.clone().into()] {
                let mut resumed = corpus.batcher(examples);
                resumed.seek(run[first].0).unwrap();
                for (position, batch) in &run[first..] {
                    assert_eq!(resumed.position(), *position);
                    assert_eq!(resumed.next_batch().unwrap(), *batch, "{kind:?}");
                }
            }
        }
    }
}

#[test]
fn examples_that_grow_fit_into_batches_and_the_model() {
    let mut corpus = corpus(TokenizerKind::Bpe, |train| train.bpe_dropout = 0.9);
    corpus.config.data.max_len = 30;
    let mut batcher = corpus.batcher(corpus.examples.clone());
    let lengths: Vec<usize> =
        corpus.epoch(&mut batcher).values().flat_map(|(src, tgt)| [src.len(), tgt.len()]).collect();
    assert!(lengths.iter().all(|&len| len <= 30) && lengths.contains(&30), "{lengths:?}");
    let sizes = batcher.sizes();
    assert!(sizes.iter().all(|size| size.tgt_tokens() <= 400 && size.src_tokens() <= 800), "{sizes:?}");
}

#[test]
fn other_vocabularies_are_refused() {
    let corpus = corpus(TokenizerKind::Unigram, |train| train.bpe_dropout = 0.1);
    let error = Variation::new(&corpus.config, &corpus.tokenizers, None).unwrap_err().to_string();
    assert!(error.contains("train.bpe_dropout") && error.contains("another kind"), "{error}");
}
