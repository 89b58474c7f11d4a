//! Tips that do not depend on files.

use clap::Parser;

fn tip(arguments: &[&str]) -> String {
    let all = ["attentive"].iter().chain(arguments);
    let all: Vec<String> = all.map(|word| word.to_string()).collect();
    let error = crate::Cli::try_parse_from(&all).err().expect("an error");
    super::added(error, &all).to_string()
}

#[test]
fn options_of_other_programs_have_tips() {
    for (option, own) in [
        ("--beam-size", "--beam-width"),
        ("--normalize=0.6", "--length-penalty"),
        ("--num-return-sequences", "--n-best"),
    ] {
        let text = tip(&["translate", "runs/x", option]);
        assert!(text.contains(&format!("it is called `{own}` here")), "{text}");
        assert!(!text.contains("similar"), "{text}");
    }
}

#[test]
fn each_command_explains_the_options_that_it_lacks() {
    for (line, words) in [
        ("serve a=b --port 80", "`--listen` takes address and port"),
        ("serve a=b -p 80", "`--listen` takes address and port"),
        ("serve a=b --host x", "`--listen` takes address and port"),
        ("train -c my.toml", "the configuration is the first argument"),
        ("train --config my.toml", "the configuration is the first argument"),
        ("train c.toml --arch transformer", "did you mean `model.family`?"),
        ("train c.toml --type transformer", "did you mean `model.family`?"),
        ("train c.toml --enc-depth 6", "did you mean `model.n_encoder_layers`?"),
        ("train c.toml --dim-vocabs 1", "did you mean `tokenizer.vocab_size`?"),
        ("train c.toml --lr-warmup 1", "did you mean `train.schedule.warmup_steps`?"),
        ("train c.toml --lr-decay-inv-sqrt 1", "this is the default schedule"),
        ("train c.toml --lr-scheduler noam", "did you mean `train.schedule.kind`?"),
        ("train c.toml --optimizer adam", "did you mean `train.optimizer.kind`?"),
        ("train c.toml --transformer-dropout 0", "did you mean `model.dropout`?"),
        ("train c.toml --tied-embeddings-all", "did you mean `model.tie_embeddings`?"),
        ("train c.toml --share-all-embeddings", "did you mean `model.tie_embeddings`?"),
        ("train c.toml --mini-batch-fit", "`--set train.batch_tokens=N`"),
        ("train c.toml --exponential-smoothing", "`--set train.average_last=N`"),
        ("train c.toml --overwrite", "`train.keep_last`"),
        ("train c.toml --valid-sets a b", "did you mean `data.valid`?"),
        ("train c.toml --vocabs a b", "did you mean `tokenizer.from`?"),
        ("train c.toml --pretrained-model a", "did you mean `model.from`?"),
        ("train c.toml --max-length 9", "did you mean `data.max_len`?"),
        ("train c.toml --valid-metrics bleu", "did you mean `train.best_by`?"),
        ("train c.toml --beam-size 4", "`decode.beam_width`? (validation is always greedy)"),
        ("train c.toml --save-dir x", "it is called `--output` here"),
        ("train c.toml --model x", "it is called `--output` here"),
        ("train c.toml --log x", "`metrics.jsonl`"),
        ("translate m --max-length-factor 3", "`decode.max_new_factor`"),
        ("translate m -b 4", "it is called `--beam-width` here"),
        ("translate -m m", "the model is the first argument"),
        ("translate m -i in", "`attentive translate MODEL in.txt`"),
        ("translate m --input in", "`attentive translate MODEL in.txt`"),
        ("translate m --quiet", "nothing corresponds"),
        ("score -i a b", "`attentive score OUT REF`"),
        ("score a b -tok 13a", "it is called `--tokenize` here"),
        ("score a b -lc", "it is called `--lowercase` here"),
        ("score a b --zzz", "docs/coming-from.md maps the options"),
        (
            "score a b --beam-size 4",
            "`attentive score` has no such option; other commands call it `--beam-width`",
        ),
    ] {
        if line.starts_with("serve") && !cfg!(feature = "server") {
            continue;
        }
        let arguments: Vec<&str> = line.split(' ').collect();
        let text = tip(&arguments);
        assert!(text.contains(words), "{line}: {text}");
        assert_eq!(text.matches("tip: ").count(), 1, "{line}: {text}");
        assert!(!text.contains("as a value"), "{line}: {text}");
    }
}

#[test]
fn the_usage_line_is_that_of_the_command() {
    for line in ["translate m --mini-batch 64", "translate m --zzz 3"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let text = tip(&arguments);
        let usage = "Usage: attentive translate [OPTIONS] <MODEL> [INPUT]\n";
        assert!(text.contains(usage), "{line}: {text}");
    }
    let text = tip(&["--json"]);
    assert!(text.contains("Usage: attentive [OPTIONS] <COMMAND>"), "{text}");
    assert!(!text.contains("as a value"), "{text}");
    let text = tip(&["config", "new", "--zzz"]);
    assert!(text.contains("Usage: attentive config new [OPTIONS]"), "{text}");
}

#[test]
fn devices_and_tokenizers_of_other_programs_have_tips() {
    for option in ["--gpu", "--device=cuda:0", "--cuda"] {
        let text = tip(&["classify", "runs/x", option]);
        assert!(text.contains("tip: this command runs on the CPU"), "{text}");
    }
    for command in ["train", "translate"] {
        let text = tip(&[command, "runs/x", "--cuda"]);
        assert!(text.contains("`--device gpu`"), "{text}");
        let text = tip(&[command, "runs/x", "--device", "cuda:0"]);
        assert!(text.contains("`gpu:N` with the number of a GPU"), "{text}");
    }
    for (name, words) in [("flores200", "flores200sacrebleuspm"), ("ja-mecab", "ipadic")] {
        let text = tip(&["score", "a", "b", "--tokenize", name]);
        assert!(text.contains(words) && text.contains("--tokenize none"), "{text}");
    }
    let text = tip(&["translate", "runs/x", "--beam-widht", "3"]);
    assert!(text.contains("--beam-width") && !text.contains("CPU"), "{text}");
    for (number, words) in [("0", "of at least 1"), ("two", "a whole number")] {
        let text = tip(&["translate", "runs/x", "--beam-width", number]);
        assert!(text.contains(words), "{text}");
    }
    for list in ["bleu chrf", "bleu,"] {
        let text = tip(&["score", "a", "b", "--metric", list]);
        assert!(text.contains("`--metric bleu,chrf,ter`"), "{text}");
    }
    let text = tip(&["score", "a", "b", "--tokenize", "14a"]);
    assert!(text.contains("13a"), "{text}");
}
