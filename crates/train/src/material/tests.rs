use std::fs;

use attentive_base::batch::{Batch, TokenId};
use attentive_config::{CorpusFormat, CorpusSource, TokenizerKind};

use super::super::report::Silent;
use super::*;

/// The inputs of the first training batch and of the validation batches of a masked language model.
fn hidden(seed: u64) -> [Vec<TokenId>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let text = "a dog runs over the green field and barks at two cats\n".repeat(50);
    fs::write(folder.path().join("text"), text).unwrap();
    let mut config = Config { seed, ..Config::default() };
    config.data.dir = Some(folder.path().into());
    config.data.train = Some(CorpusSource::file(CorpusFormat::Text, "text"));
    config.data.hold_out = 0.5;
    config.tokenizer.kind = TokenizerKind::Word;
    config.model = attentive_samples::variant("family = 'encoder_only'");
    let read = |batch: &Batch| batch.src_tokens().unwrap().ids.clone();
    let alone = Processes::alone();
    let context = RunContext::default();
    let in_memory = InMemoryCorpora::default();
    let mut material = material(&config, context, in_memory, &alone, &mut Silent).unwrap();
    let validation = material.validation.unwrap().batches.into_iter();
    [read(&material.feed.next_batch().unwrap()), validation.flat_map(|batch| read(&batch)).collect()]
}

#[test]
fn validation_masks_do_not_depend_on_the_seed() {
    let [[training, validation], [other_training, other_validation]] = [1, 2].map(hidden);
    assert_eq!(validation, other_validation);
    assert_ne!(training, other_training);
}
