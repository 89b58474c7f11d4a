//! Overrides of single keys, as from a command line.

use super::{CORPUS, message, parse};
use crate::{CorpusSource, Positions};

/// Overrides, and a part of the message about each.
const REFUSED: [(&str, &str); 36] = [
    (
        "train.batch_tokens",
        "the override `train.batch_tokens` sets nothing: expected KEY=VALUE | as in `train.",
    ),
    (
        "train.batch_token=1",
        "unknown config key `train.batch_token` (an override) | did you mean `train.batch_tokens`?",
    ),
    ("=1", "unknown config key `` (an override) | the keys at the top are"),
    ("train.optimzer.kind=adam", "did you mean `train.optimizer.kind`?"),
    ("plugh.xyzzy=1", "the sections are `data`, `data.train`, `data.valid`, `decode`"),
    ("data.src=x", "did you mean `data.train.src`?"),
    ("train.lr_scheduler=noam", "did you mean `train.schedule.kind = \"noam\"`?"),
    ("train.schedule=noam", "did you mean `train.schedule.kind = \"noam\"`?"),
    ("train.schedule=exponential", "did you mean `train.schedule.kind`?"),
    ("train.schedule=warmup_stable_decay", "did you mean `train.schedule.kind = \"wsd\"`?"),
    ("train.scheduler={kind='noam'}", "did you mean `train.schedule`?"),
    ("train.optimizer=AdamW", "did you mean `train.optimizer.kind = \"adamw\"`?"),
    ("model=gpt2", "did you mean `model.family = \"decoder_only\"`?"),
    ("train.schedule.name=noam", "did you mean `train.schedule.kind = \"noam\"`?"),
    ("train.schedule.type=linear", "did you mean `train.schedule.kind = \"linear\"`?"),
    ("tokenizer.type=sentencepiece", "did you mean `tokenizer.kind = \"bpe\"`?"),
    ("model.type=bert", "did you mean `model.family = \"encoder_only\"`?"),
    ("model.rope=true", "write `positions = \"rotary\"`"),
    ("model.pre_norm=true", "did you mean `model.norm_position`?"),
    ("train.logging_steps=10", "did you mean `train.log_every`?"),
    ("tokenizer.vocab_file=my.model", "did you mean `tokenizer.from`?"),
    ("data.test=x", "a test set belongs to no run"),
    ("train.validate_beam=4", "did you mean `decode.beam_width`? (validation is always greedy)"),
    ("train.valid_beam_size=4", "did you mean `decode.beam_width`? (validation is always greedy)"),
    ("seed=9223372036854775808", "found the string `9223372036854775808` (an override) | "),
    ("seed.x=1", "unknown config key `seed.x`"),
    (
        "train.batch_tokens=many",
        "`train.batch_tokens`: expected a whole number, 0 or more, found the string `many` (an override)",
    ),
    ("train.batch_tokens=", "found the string `` (an override)"),
    (
        "model.dropout=.5",
        "`model.dropout`: expected a number, found the string `.5` (an override) | write `0.5`",
    ),
    ("model.dropout=1.5", "found 1.5 (an override)"),
    ("train=3", "`train`: expected a section of keys, found `3` (an override)"),
    (
        "train={batch_tokens=-1}",
        "`train.batch_tokens`: expected a whole number, 0 or more, found `-1` (an override)",
    ),
    ("train={keep_last=0}", "`train.keep_last`: expected a whole number, 1 or more, found 0 (an override)"),
    ("data.train.tsv=x", "`data.train`: expected exactly one of"),
    ("data.valid.src=x", "`data.valid.tgt`: expected a file aligned with `src`, found nothing"),
    (
        "data.valid={}",
        "`data.valid`: expected exactly one of `src` + `tgt`, `moses`, `tsv`, `csv`, `jsonl`, `tmx`, \
         `xliff`, `text` and `builtin`, found none",
    ),
];

#[test]
fn overrides_win_and_may_add_sections() {
    let text = format!("{CORPUS}\n[train]\nbatch_tokens = 1");
    let overrides = [
        "train.batch_tokens = 2",
        "train.batch_tokens=3",
        "data.valid.src=dev.en",
        "data.valid.tgt='dev=x.de'",
        "model.positions=rotary",
        "train.schedule={ kind = 'cosine', warmup_steps = 5 }",
    ];
    let config = parse(&text, &overrides).unwrap();
    assert_eq!(config.train.batch_tokens, 3);
    assert_eq!(config.train.schedule.warmup_steps, 5);
    assert_eq!(config.model.positions, Positions::Rotary);
    let valid = CorpusSource::aligned("dev.en", "dev=x.de");
    assert_eq!(config.data.valid, Some(valid));
}

#[test]
fn overrides_are_read_strictly() {
    for (text, part) in REFUSED {
        let message = message(parse(CORPUS, &[text]));
        assert!(message.contains(part), "`{text}` says: {message}");
    }
}
