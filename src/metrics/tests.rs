//! Every metric against sacreBLEU on the corpora of `tests/fixtures/metrics.json.gz`, which
//! `scripts/fixtures/metrics.py` writes.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Fixtures {
    sets: Vec<Set>,
}

#[derive(Deserialize)]
struct Set {
    hypotheses: Vec<String>,
    references: Vec<Vec<String>>,
    bleu: Vec<Expected<BleuOptions>>,
    bleu_first_line: Expected<BleuOptions>,
    chrf: Vec<Expected<ChrfOptions>>,
    ter: Vec<Expected<TerOptions>>,
}

#[derive(Deserialize)]
struct Expected<Options> {
    #[serde(flatten)]
    options: Options,
    score: f64,
    signature: String,
    line: String,
}

#[derive(Deserialize)]
struct BleuOptions {
    tokenize: BleuTokenizer,
    smoothing: (SmoothingMethod, Option<f64>),
    lowercase: bool,
    effective_order: bool,
    precisions: Vec<f64>,
    bp: f64,
    lengths: [u64; 2],
}

impl BleuOptions {
    fn metric(&self) -> Bleu {
        Bleu {
            tokenizer: self.tokenize,
            smoothing: self.smoothing.0.with_value(self.smoothing.1),
            case: case(self.lowercase),
            effective_order: self.effective_order,
        }
    }
}

#[derive(Deserialize)]
struct ChrfOptions {
    char_order: usize,
    word_order: usize,
    beta: u32,
    lowercase: bool,
    whitespace: bool,
    eps_smoothing: bool,
}

#[derive(Deserialize)]
struct TerOptions {
    normalized: bool,
    no_punct: bool,
    asian_support: bool,
    case_sensitive: bool,
}

fn case(lowercase: bool) -> Case {
    if lowercase { Case::Lower } else { Case::Mixed }
}

fn fixtures() -> Vec<Set> {
    let packed: &[u8] = include_bytes!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/metrics.json.gz"
    ));
    let fixtures: Fixtures = serde_json::from_reader(flate2::read::GzDecoder::new(packed))
        .expect("the fixtures are JSON");
    assert!(
        fixtures.sets.len() >= 240,
        "only {} sets",
        fixtures.sets.len()
    );
    fixtures.sets
}

/// `text` without what follows `version:` up to a blank, where ours and sacreBLEU's differ by design.
fn without_version(text: &str) -> String {
    let (before, after) = text
        .split_once("version:")
        .expect("a signature names a version");
    let rest = after.find(' ').map_or("", |blank| &after[blank..]);
    format!("{before}version:{rest}")
}

fn close(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-9
}

fn compare<Options>(ours: &Score, theirs: &Expected<Options>, set: &Set) {
    let context = || {
        format!(
            "{}\nhypotheses {:?}\nreferences {:?}",
            theirs.signature, set.hypotheses, set.references
        )
    };
    assert!(
        close(ours.value, theirs.score),
        "{} is not {}: {}",
        ours.value,
        theirs.score,
        context()
    );
    assert_eq!(
        without_version(&ours.signature),
        without_version(&theirs.signature)
    );
    assert_eq!(
        without_version(&ours.to_string()),
        without_version(&theirs.line),
        "{}",
        context()
    );
}

#[test]
fn bleu_is_sacrebleus() {
    let mut signatures = BTreeSet::new();
    for set in fixtures() {
        for expected in &set.bleu {
            let options = &expected.options;
            let metric = options.metric();
            let statistics = metric.statistics(&set.hypotheses, &set.references);
            let mut precisions = statistics.precisions(metric.smoothing);
            precisions.resize(MAX_NGRAM_ORDER, 0.0);
            assert_eq!(
                [statistics.hypothesis_len, statistics.reference_len],
                options.lengths
            );
            assert!(
                close(statistics.brevity_penalty(), options.bp),
                "{} is not {}",
                statistics.brevity_penalty(),
                options.bp
            );
            for (ours, theirs) in precisions.iter().zip(&options.precisions) {
                assert!(
                    close(*ours, *theirs),
                    "{precisions:?} is not {:?}",
                    options.precisions
                );
            }
            compare(
                &metric.corpus(&set.hypotheses, &set.references),
                expected,
                &set,
            );
            signatures.insert(expected.signature.clone());
        }
    }
    assert!(
        signatures.len() > 96,
        "the fixtures meet only {} combinations",
        signatures.len()
    );
}

#[test]
fn bleu_of_a_sentence_is_sacrebleus() {
    for set in fixtures() {
        let references: Vec<&str> = set
            .references
            .iter()
            .map(|stream| stream[0].as_str())
            .collect();
        let expected = &set.bleu_first_line;
        compare(
            &expected
                .options
                .metric()
                .sentence(&set.hypotheses[0], &references),
            expected,
            &set,
        );
    }
}

#[test]
fn chrf_is_sacrebleus() {
    for set in fixtures() {
        for expected in &set.chrf {
            let options = &expected.options;
            let metric = Chrf {
                char_order: options.char_order,
                word_order: options.word_order,
                beta: options.beta,
                case: case(options.lowercase),
                whitespace: options.whitespace,
                epsilon_smoothing: options.eps_smoothing,
            };
            compare(
                &metric.corpus(&set.hypotheses, &set.references),
                expected,
                &set,
            );
        }
    }
}

#[test]
fn ter_is_sacrebleus() {
    for set in fixtures() {
        for expected in &set.ter {
            let options = &expected.options;
            let metric = Ter {
                case: case(!options.case_sensitive),
                normalized: options.normalized,
                remove_punctuation: options.no_punct,
                asian_support: options.asian_support,
            };
            compare(
                &metric.corpus(&set.hypotheses, &set.references),
                expected,
                &set,
            );
        }
    }
}

#[test]
fn a_sentence_is_a_corpus_of_one_line() {
    let (hypothesis, references) = ("a b c d e", ["a c d e f", "b c d"]);
    let streams = references.map(|reference| vec![reference]);
    assert_eq!(
        Chrf::default().sentence(hypothesis, &references),
        Chrf::default().corpus(&[hypothesis], &streams)
    );
    assert_eq!(
        Ter::default().sentence(hypothesis, &references),
        Ter::default().corpus(&[hypothesis], &streams)
    );
    let bleu = Bleu {
        effective_order: true,
        ..Bleu::default()
    };
    assert_eq!(
        Bleu::default().sentence(hypothesis, &references),
        bleu.corpus(&[hypothesis], &streams)
    );
}

#[test]
fn nothing_scores_nothing() {
    let (hypotheses, references): ([&str; 0], [Vec<&str>; 1]) = ([], [vec![]]);
    assert_eq!(Bleu::default().corpus(&hypotheses, &references).value, 0.0);
    assert_eq!(Chrf::default().corpus(&hypotheses, &references).value, 0.0);
    assert_eq!(Ter::default().corpus(&hypotheses, &references).value, 0.0);
}

#[test]
#[should_panic(expected = "2 hypotheses but 1 references in stream 1")]
fn refuses_unaligned_references() {
    Bleu::default().corpus(&["a", "b"], &[vec!["a", "b"], vec!["a"]]);
}

#[test]
fn the_default_scores_have_sacrebleus_names() {
    let score = Chrf {
        word_order: 2,
        ..Chrf::default()
    }
    .sentence("a", &["a"]);
    assert_eq!((score.name.as_str(), score.value), ("chrF2++", 100.0));
    assert_eq!(
        format!("{:.1}", Ter::default().sentence("a b c", &["a b d", "x"])),
        format!(
            "TER|nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:attentive-{} = 50.0",
            env!("CARGO_PKG_VERSION")
        )
    );
}
