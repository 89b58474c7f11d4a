//! A model that translates the sentences of a tiny language word by word, trained in seconds.

use std::collections::BTreeSet;

use attentive::random::Random;

use crate::run::Folder;

const CONFIG: &str = "
[data]
train = { tsv = 'toy.tsv' }
[tokenizer]
vocab_size = 90
[model]
d_model = 32
n_heads = 2
d_ff = 64
n_encoder_layers = 1
n_decoder_layers = 1
dropout = 0.0
[train]
max_steps = 500
precision = 'f32'
batch_tokens = 1024
[train.optimizer]
learning_rate = 0.01
[train.schedule]
warmup_steps = 50
";

const NOUNS: [(&str, &str); 6] = [
    ("dog", "Hund"),
    ("cat", "Katze"),
    ("bird", "Vogel"),
    ("horse", "Pferd"),
    ("child", "Kind"),
    ("teacher", "Lehrer"),
];
const ARTICLES: [(&str, &str); 2] = [("the", "das"), ("my", "mein")];
const ADJECTIVES: [(&str, &str); 3] = [("old ", "alte "), ("small ", "kleine "), ("red ", "rote ")];
const VERBS: [(&str, &str); 3] = [("sees", "sieht"), ("hears", "hört"), ("likes", "mag")];

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// A folder with the model `toy`.
pub(crate) fn trained() -> Folder {
    let folder = Folder::new();
    train(&folder, "toy");
    folder
}

/// Trains the model `output` in `folder`.
pub(crate) fn train(folder: &Folder, output: &str) {
    let mut random = Random::new(1, 0);
    let mut lines = BTreeSet::new();
    while lines.len() < 600 {
        let mut phrase = || {
            let (article, its_article) = ARTICLES[random.below(ARTICLES.len())];
            let (noun, its) = NOUNS[random.below(NOUNS.len())];
            let (adjective, its_own) = match random.below(4) {
                3 => ("", ""),
                one => ADJECTIVES[one],
            };
            (format!("{article} {adjective}{noun}"), format!("{its_article} {its_own}{its}"))
        };
        let ((a, b), (c, d)) = (phrase(), phrase());
        let (verb, its) = VERBS[random.below(VERBS.len())];
        lines.insert(format!("{} {verb} {c}.\t{} {its} {d}.\n", capital(&a), capital(&b)));
    }
    folder.write("toy.toml", CONFIG).write("toy.tsv", lines.into_iter().collect::<String>());
    folder.succeeds(&format!("train toy.toml --output {output}"));
}
