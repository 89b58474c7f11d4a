//! Values that `validate` refuses and accepts.

use super::{CORPUS, accepts, message, parse, refuses};
use crate::Config;
use crate::schema::{KeyType, SCHEMA};

/// Each of `cases` is lines of `[data]`, the key in the error, and a part of the message.
fn refuses_data(cases: &[(&str, &str, &str)]) {
    for (lines, key, part) in cases {
        let message = message(parse(&format!("[data]\n{lines}"), &[]));
        assert!(message.contains(&format!("config key `{key}`")), "`{lines}` says: {message}");
        assert!(message.contains(part), "`{lines}` says: {message}");
    }
}

#[test]
fn a_corpus_has_exactly_one_source() {
    refuses_data(&[
        ("", "data.train", "`tmx`, `xliff`, `text` and `builtin`, found none"),
        (
            "train = { src = 'a', tgt = 'b', tsv = 'c' }",
            "data.train",
            "found `src` + `tgt` and `tsv` (`x.toml`, line 2)",
        ),
        ("train = { tgt = 'b', jsonl = 'c' }", "data.train", "found `src` + `tgt` and `jsonl`"),
        ("train = { src = 'a' }", "data.train.tgt", "a file aligned with `src`, found nothing"),
        ("train = { tgt = 'a' }", "data.train.src", "a file aligned with `tgt`, found nothing"),
        ("train = { src = '', tgt = 'b' }", "data.train.src", "a path, found an empty string"),
        ("train = { tsv = 'a' }\nvalid = { }", "data.valid", "found none (`x.toml`, line 3)"),
        (
            "train = { tsv = 'a', weight = 2 }",
            "data.train.weight",
            "since `weight` only applies to one of several corpora",
        ),
        ("train = []", "data.train", "and `builtin`, found an empty list"),
        ("train = [{ tsv = 'a' }, { tsv = 'b', jsonl = 'c' }]", "data.train", "found `tsv` and `jsonl`"),
        (
            "train = [{ tsv = 'a' }, { tsv = 'b', weight = 0 }]",
            "data.train.weight",
            "from 0.001 to 1000, found 0",
        ),
        ("train = [{ tsv = 'a' }, { pears = 3 }]", "data.train.pears", "did you mean `data.train.pairs`?"),
        ("train = [[{ tsv = 'a' }]]", "data.train", "a section of keys, found an array"),
        ("train = [{ tsv = 'a' }, 'b']", "data.train", "a section of keys, found the string `b`"),
        ("train = { tsv = 'a' }\nvalid = [{ tsv = 'b' }]", "data.valid", "a section of keys, found an array"),
        (
            "train = [{ tsv = 'a' }, { text = 'b' }]",
            "data.train",
            "pairs, since this family learns from two sides",
        ),
    ]);
    for form in ["tsv = 'a'", "jsonl = 'a.gz'", "builtin = 'grammar', pairs = 1"] {
        assert!(parse(&format!("data.train = {{ {form} }}"), &[]).is_ok(), "{form}");
    }
}

#[test]
fn built_in_corpora_have_a_number_of_pairs() {
    refuses_data(&[
        (
            "train = { builtin = 'reverse' }",
            "data.train.pairs",
            "the number of pairs to generate, found nothing",
        ),
        ("train = { builtin = 'reverse', pairs = 0 }", "data.train.pairs", "1 or more, found 0"),
        (
            "train = { builtin = 'grammar', pairs = 9000000000000000000 }",
            "data.train.pairs",
            "at most 100000000, found 9000000000000000000 (`x.toml`, line 2)",
        ),
        ("train = { builtin = 'grammar', pairs = 100000001 }", "data.train.pairs", "at most 100000000"),
        (
            "train = { tsv = 'a', pairs = 5 }",
            "data.train.pairs",
            "since `pairs` only applies to `builtin`, found 5",
        ),
    ]);
}

#[test]
fn sizes_have_a_maximum() {
    for (key, most) in [
        ("tokenizer.vocab_size", 16_777_216_u64),
        ("model.d_model", 65_536),
        ("model.d_ff", 262_144),
        ("model.n_encoder_layers", 1000),
        ("model.n_decoder_layers", 1000),
        ("model.max_len", 1_048_576),
        ("train.micro_batches_per_update", 65_536),
        ("decode.beam_width", 1000),
    ] {
        let found = most * 1_000_000;
        let expected = format!("at most {most}, found {found}");
        refuses(&[(&format!("{key} = {found}"), key, &expected)]);
    }
}

#[test]
fn sizes_have_a_minimum() {
    let least = [
        ("data.max_len", 2),
        ("tokenizer.vocab_size", 8),
        ("tokenizer.min_frequency", 1),
        ("tokenizer.sample_lines", 1),
        ("model.d_model", 2),
        ("model.d_ff", 1),
        ("model.n_heads", 1),
        ("model.n_encoder_layers", 1),
        ("model.n_decoder_layers", 1),
        ("model.max_len", 2),
        ("train.micro_batches_per_update", 1),
        ("train.keep_last", 1),
        ("train.max_steps", 1),
        ("train.log_every", 1),
        ("train.schedule.plateau_patience", 1),
        ("decode.beam_width", 1),
    ];
    for (key, least) in least {
        let expected = format!("a whole number, {least} or more, found {}", least - 1);
        refuses(&[(&format!("{key} = {}", least - 1), key, &expected)]);
    }
    let big = Config { seed: 1 << 63, ..parse(CORPUS, &[]).unwrap() };
    assert!(
        big.validate()
            .unwrap_err()
            .to_string()
            .contains("`seed`: expected a whole number up to 9223372036854775807")
    );
}

#[test]
fn numbers_have_a_range() {
    let fractions = [
        "model.dropout",
        "model.attention_dropout",
        "model.activation_dropout",
        "train.label_smoothing",
        "train.optimizer.beta1",
        "train.optimizer.beta2",
        "train.optimizer.momentum",
    ];
    let positive = [
        "model.norm_epsilon",
        "model.logit_scale",
        "train.optimizer.learning_rate",
        "train.optimizer.epsilon",
    ];
    let not_negative =
        ["train.clip_norm", "train.optimizer.weight_decay", "decode.length_penalty", "decode.max_new_factor"];
    let bad = |keys: &[&str], values: &[&str]| {
        for key in keys {
            for value in values.iter().chain(&["nan", "inf", "-0.1"]) {
                refuses(&[(&format!("{key} = {value}"), key, "expected a number")]);
            }
        }
    };
    bad(&fractions, &["1.0", "1", "1.5"]);
    bad(&positive, &["0.0"]);
    bad(&not_negative, &[]);
    bad(&["train.schedule.min_factor"], &["1.1"]);
    bad(&["train.schedule.plateau_factor"], &["0.0", "1.0"]);
    accepts(&[
        "train.clip_norm = 0",
        "train.schedule.min_factor = 1",
        "decode.length_penalty = 0.0",
        "train.label_smoothing = 0.0",
    ]);
}

#[test]
fn no_number_may_be_nan_or_infinite() {
    let numbers = SCHEMA.iter().filter(|(_, kind)| **kind == KeyType::Number);
    for (key, _) in numbers {
        for value in ["nan", "inf", "-inf"] {
            if key.ends_with(".weight") {
                let train = format!("train = [{{ tsv = 'a', weight = {value} }}]");
                refuses_data(&[(&train, "data.train.weight", "a number from 0.001")]);
                continue;
            }
            refuses(&[(&format!("{key} = {value}"), key, "expected")]);
        }
    }
}

#[test]
fn inconsistent_model_sizes_are_refused() {
    refuses(&[
        (
            "model.n_heads = 5",
            "model.n_heads",
            "a divisor of `model.d_model` = 256, found 5 (`x.toml`, line 2) | the nearest is 4",
        ),
        ("model.d_model = 254", "model.n_heads", "found 4 (not set in `x.toml`) | the nearest is 2"),
        (
            "model = { d_model = 15, n_heads = 3 }",
            "model.d_model",
            "an even number, for sinusoidal positions, found 15",
        ),
        (
            "model = { d_model = 15, n_heads = 3, positions = 'sinusoidal_concatenated' }",
            "model.d_model",
            "an even number",
        ),
        (
            "model = { d_model = 15, n_heads = 3, positions = 'sinusoidal_tensor2tensor' }",
            "model.d_model",
            "an even number",
        ),
        (
            "model = { d_model = 2, n_heads = 1, positions = 'sinusoidal_tensor2tensor' }",
            "model.d_model",
            "4 or more",
        ),
        (
            "model = { d_model = 12, n_heads = 4, positions = 'rotary' }",
            "model.n_heads",
            "found 4 heads of size 3",
        ),
        (
            "model = { d_model = 3, n_heads = 1, positions = 'rotary' }",
            "model.n_heads",
            "found 1 head of size 3",
        ),
        ("tokenizer.vocabulary = 'separate'", "model.tie_embeddings", "`decoder` or `none`"),
        ("model.max_len = 100", "data.max_len", "at most `model.max_len` = 100"),
    ]);
    accepts(&[
        "model = { d_model = 15, n_heads = 3, positions = 'learned' }",
        "model = { d_model = 12, n_heads = 6, positions = 'rotary' }",
        "tokenizer.vocabulary = 'separate'\nmodel.tie_embeddings = 'decoder'",
    ]);
}

#[test]
fn inconsistent_training_settings_are_refused() {
    refuses(&[
        ("train.optimizer.momentum = 0.9", "train.optimizer.momentum", "only SGD has momentum"),
        ("train.schedule.warmup_steps = 0", "train.schedule.warmup_steps", "1 or more, found 0"),
        (
            "train.schedule = { kind = 'noam', warmup_steps = 0 }",
            "train.schedule.warmup_steps",
            "1 or more, found 0",
        ),
        (
            "train.max_steps = 1000\ntrain.schedule.kind = 'cosine'",
            "train.max_steps",
            "since the cosine ends here, found 1000",
        ),
        ("train.schedule = { kind = 'cosine', decay_steps = 9 }", "train.schedule.decay_steps", "more than"),
        (
            "train.max_steps = 1000\ntrain.schedule.kind = 'linear'",
            "train.max_steps",
            "since the fall of the learning rate ends here, found 1000",
        ),
        (
            "train.max_steps = 1500\ntrain.schedule = { kind = 'wsd', cooldown_steps = 501 }",
            "train.schedule.cooldown_steps",
            "at most 500, so that the warm-up ends before the cool-down begins, found 501",
        ),
        (
            "train.schedule = { kind = 'linear', cooldown_steps = 10 }",
            "train.schedule.cooldown_steps",
            "its default, 0, since `train.schedule.kind` is not `wsd`, found 10",
        ),
        ("train.ema = 0.9999", "train.ema", "up to, but not including, 0.5"),
        (
            "train.average_last = 4",
            "train.keep_last",
            "at least `train.average_last` = 4, the checkpoints to average, found 3",
        ),
        (
            "train = { device = 'gpu:1', precision = 'bf16' }",
            "train.precision",
            "`f32` or `auto`, since `train.device` is `gpu:1`, found `bf16`",
        ),
        (
            "train.device = 'cuda:1'",
            "train.device",
            "expected `cpu`, `gpu`, or `gpu:N` with the number of a GPU, found the string `cuda:1`",
        ),
        (
            "train = { device = 'gpu', consistency = 2.5 }",
            "train.consistency",
            "0, since `train.device` is `gpu`, found 2.5",
        ),
        (
            "train.consistency = 2.5\nmodel.dropout = 0.0",
            "train.consistency",
            "0, since two passes without dropout (`model.dropout`) are equal, found 2.5",
        ),
        (
            "train = { device = 'gpu', optimizer = { kind = 'muon' } }",
            "train.optimizer.kind",
            "another optimizer, since `train.device` is `gpu`, found `muon`",
        ),
        ("train.optimizer.muon_momentum = 0.9", "train.optimizer.muon_momentum", "is not `muon`"),
        ("train.bpe_dropout = 1.0", "train.bpe_dropout", "up to, but not including, 1"),
        (
            "tokenizer.kind = 'unigram'\ntrain.bpe_dropout = 0.1",
            "train.bpe_dropout",
            "`tokenizer.kind` is not `bpe`",
        ),
        ("train.unigram_alpha = 0.5", "train.unigram_alpha", "`tokenizer.kind` is not `unigram`"),
        (
            "train.augmentation = { upper_case = 0.9, title_case = 0.9 }",
            "train.augmentation.title_case",
            "at most 1 together",
        ),
        ("tokenizer.kind = 'unigram'\ntrain.unigram_alpha = 1e308", "train.unigram_alpha", "from 0 to 10"),
        ("train.augmentation.typos = 1.5", "train.augmentation.typos", "from 0 to 1"),
        ("train.augmentation.inline_tags = 0.1", "train.augmentation.inline_tags", "there are no alignments"),
        ("data.alignments = 'a'", "data.alignments", "`train.augmentation.inline_tags` are 0"),
        ("train.device = 'CUDA:1'", "train.device", "write `\"gpu:1\"`"),
        ("train.device = 0", "train.device", "write `\"gpu:0\"`"),
    ]);
    accepts(&[
        "train.optimizer = { kind = 'sgd', momentum = 0.9 }",
        "train.schedule = { kind = 'constant', warmup_steps = 0 }",
        "train.schedule = { kind = 'linear', warmup_steps = 0 }",
        "train.max_steps = 1500\ntrain.schedule = { kind = 'wsd', cooldown_steps = 500 }",
        "train = { device = 'gpu', precision = 'auto' }",
        "train = { device = 'cpu', precision = 'bf16' }",
        "train.consistency = 2.5",
        "train.optimizer = { kind = 'muon', muon_momentum = 0.9, weight_decay = 0.1, beta1 = 0.8 }",
        "train.bpe_dropout = 0.1",
        "tokenizer = { kind = 'unigram' }\ntrain.unigram_alpha = 0.5",
        "train.augmentation = { upper_case = 0.07, typos = 0.05 }",
        "data.alignments = 'a'\ntrain.augmentation.inline_tags = 0.005",
    ]);
}

#[test]
fn what_needs_validation_is_refused_without() {
    let valid = "data.valid = { tsv = 'v' }";
    refuses(&[
        ("train.patience = 3", "train.patience", "0, since nothing is validated, found 3"),
        ("train.schedule.kind = 'plateau'", "train.schedule.kind", "since nothing is validated"),
        ("train.best_by = 'bleu'", "train.best_by", "`loss`, since nothing is validated"),
        (
            &format!("{valid}\ntrain.validate_every = 0\ntrain.patience = 3"),
            "train.patience",
            "nothing is validated",
        ),
        (
            &format!("{valid}\ntrain.best_by = 'bleu'\ntrain.validate_sentences = 0"),
            "train.best_by",
            "no validation sentence",
        ),
    ]);
    accepts(&[&format!(
        "{valid}\ntrain.patience = 3\ntrain.best_by = 'bleu'\ntrain.schedule.kind = 'plateau'"
    )]);
}

#[test]
#[cfg(unix)]
fn paths_are_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let mut config = parse(CORPUS, &[]).unwrap();
    config.data.dir = Some(std::ffi::OsStr::from_bytes(b"\xff").into());
    let message = config.validate().unwrap_err().to_string();
    assert!(message.starts_with("config key `data.dir`: expected a path in UTF-8"), "{message}");
}

#[test]
fn columns_languages_and_tags_belong_to_some_formats() {
    refuses_data(&[
        ("train = { tsv = 'a', columns = [1] }", "data.train.columns", "two columns, of source and target"),
        ("train = { tsv = 'a', columns = [0, 1] }", "data.train.columns", "names, or of numbers from 1"),
        (
            "train = { tsv = 'a', columns = 'en' }",
            "data.train.columns",
            "a list of names, or of numbers from 1",
        ),
        ("train = { jsonl = 'a', columns = [1, 2] }", "data.train.columns", "names of fields"),
        (
            "train = { tmx = 'a', languages = ['a', 'b'], columns = [1, 2] }",
            "data.train.columns",
            "only `tsv`",
        ),
        ("train = { tmx = 'a' }", "data.train.languages", "found nothing"),
        ("train = { moses = 'a' }", "data.train.languages", "such as `[\"en\", \"de\"]`"),
        ("train = { tmx = 'a', languages = ['en'] }", "data.train.languages", "two codes"),
        (
            "train = { xliff = 'a', languages = ['en', 'de'] }",
            "data.train.languages",
            "only `moses` and `tmx`",
        ),
        ("train = { builtin = 'grammar', pairs = 5, tag = '<x>' }", "data.train.tag", "only files of pairs"),
        ("train = { tsv = 'a', tag = '<x>' }", "data.train.tag", "one of `tokenizer.symbols`"),
    ]);
    let moses = parse("data.train = { moses = 'dir/train', languages = ['en', 'de'] }", &[]).unwrap();
    assert_eq!(moses.data.train, Some(crate::CorpusSource::aligned("dir/train.en", "dir/train.de")));
    let symbols = "tokenizer.symbols = ['<x>', '>>de<<']\n";
    for text in [
        "data.train = { tsv = 'a', columns = [3, 'de'] }",
        "data.train = { csv = 'a', columns = ['en', 'de'] }",
        "data.train = { jsonl = 'a', columns = ['translation.en', 'translation.de'] }",
        "data.train = { tmx = 'a', languages = ['en', 'de'] }",
        "data.train = { xliff = 'a' }",
        "data.train = [{ tsv = 'a', tag = '<x>' }, { src = 'a', tgt = 'b', tag = '>>de<<' }]",
    ] {
        let config = parse(&format!("{symbols}{text}"), &[]).unwrap();
        // Written out and read back.
        let table = toml::Table::try_from(&config).unwrap();
        let read = parse(&toml::to_string(&table).unwrap(), &[]).unwrap();
        assert_eq!(read, config, "{text}");
    }
    refuses(&[
        ("tokenizer.symbols = ['a b']", "tokenizer.symbols", "tokens without blanks"),
        ("tokenizer.symbols = ['']", "tokenizer.symbols", "tokens without blanks"),
        ("tokenizer.symbols = ['a', 'a']", "tokenizer.symbols", "each token once"),
        ("tokenizer.symbols = ['<s>']", "tokenizer.symbols", "every vocabulary"),
    ]);
}
