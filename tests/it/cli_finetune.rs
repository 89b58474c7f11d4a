//! `model.from`: training that starts from a model.

use std::fs;

use serde_json::Value;

use crate::cli_import::with_models;
use crate::run::Folder;

/// How the fixtures are trained.
const TRAIN: &str = "
[train]
max_steps = 6
batch_tokens = 200
validate_every = 3
validate_sentences = 5
save_every = 2
schedule = { warmup_steps = 2 }
";

/// A folder with the imported models of these kinds, and corpora of the words that they know.
fn folder_with(kinds: &[&str]) -> Folder {
    let folder = with_models(kinds);
    let line = |n: usize| format!("w{} w{} w{}", n % 40, n * 7 % 40, n * 11 % 40);
    let lines = |label: bool| -> String {
        let label = |n| {
            if label { format!("odd{}\t", n % 2) } else { String::new() }
        };
        (0..60).map(|n| label(n) + &line(n) + "\n").collect()
    };
    folder.write("text", lines(false)).write("labeled.tsv", lines(true));
    folder
}

/// Writes `c.toml`, which starts from `model`, with these lines in `[model]` and `[data]`.
fn configure<'a>(folder: &'a Folder, from: &str, model: &str, data: &str) -> &'a Folder {
    let text = format!("[model]\nfrom = \"{from}\"\n{model}\n[data]\n{data}\n{TRAIN}");
    folder.write("c.toml", text)
}

const PAIRS: &str = "train = { src = 'text', tgt = 'text' }\nvalid = { src = 'text', tgt = 'text' }";

fn succeeds(folder: &Folder, arguments: &str) -> String {
    let outcome = folder.run(arguments);
    assert_eq!(outcome.code, Some(0), "{arguments}: {outcome:?}");
    outcome.stdout + &outcome.stderr
}

#[test]
fn an_imported_model_is_trained_and_resumed_without_it() {
    let folder = folder_with(&["marian"]);
    configure(&folder, "marian", "freeze = [\"encoder.*\", \"*.bias\"]", PAIRS);
    succeeds(&folder, "train c.toml --output whole");
    let said = succeeds(&folder, "train c.toml --output part --set train.max_steps=3");
    assert!(said.contains("weights are frozen"), "{said}");
    fs::remove_dir_all(folder.path("marian")).unwrap();
    succeeds(&folder, "train c.toml --output part --resume");
    let last = |run: &str, name: &str| {
        fs::read(folder.path(run).join("checkpoints/step-00000006").join(name)).unwrap()
    };
    for name in ["model.safetensors", "optimizer.safetensors"] {
        assert!(last("whole", name) == last("part", name), "{name}");
    }
    folder.fails(
        "train c.toml --output new",
        2,
        &["`model.from`", "`marian`, which does not exist (`c.toml`, line 2)"],
    );
    folder.fails(
        "train c.toml --output part --resume --set model.freeze=[]",
        2,
        &["`model.freeze`", "when the run in `part` began"],
    );
    let info: Value = serde_json::from_str(&folder.run("info part --json").stdout).unwrap();
    assert_eq!(info["config"]["model"]["from"], "marian");
    assert_eq!(info["provenance"]["from"]["path"], "marian");
    assert_eq!(info["config"]["tokenizer"]["special"]["bos"], "</s>");
    assert!(folder.run("info part").stdout.contains("from      marian, sha256 "));
    folder.write("in", "w1 w2\n");
    assert_eq!(succeeds(&folder, "translate part in").lines().count(), 1);
    // A run goes on from another one, or is repeated from its own configuration.
    configure(&folder, "part", "", PAIRS);
    succeeds(&folder, "train c.toml --output next");
    succeeds(&folder, "train next/config.toml --output again");
    let served = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
    assert!(served("next") == served("again"));
}

/// A folder with `wide`, a model that is little else than embeddings, and `c.toml`, which starts from it.
fn wide() -> Folder {
    let folder = Folder::new();
    let words: String = (0..9000).map(|n| format!("v{n} v{n}\n")).collect();
    folder.write("words", words).write(
        "wide.toml",
        "
[data]
train = { src = 'words', tgt = 'words' }
[tokenizer]
kind = 'word'
min_frequency = 1
vocab_size = 10000
[model]
d_model = 256
d_ff = 8
n_encoder_layers = 1
n_decoder_layers = 1
[train]
max_steps = 2
batch_tokens = 64
schedule = { warmup_steps = 1 }
",
    );
    succeeds(&folder, "train wide.toml --output wide");
    folder.write("c.toml", "[model]\nfrom = 'wide'\n[data]\ntrain = { src = 'words', tgt = 'words' }\n[train]\nmax_steps = 3\nbatch_tokens = 64\nschedule = { warmup_steps = 1 }\n");
    folder
}

#[test]
fn a_run_that_does_not_fit_is_told_what_freezing_saves() {
    let folder = folder_with(&["marian"]);
    configure(&folder, "marian", "", PAIRS);
    let small = "train c.toml --output run --set train.max_memory_mb=1";
    folder.fails(small, 2, &["weights, gradients, optimizer and data", "changes the limit\n"]);
    let folder = wide();
    folder.fails(small, 2, &["changes the limit; `model.freeze = [\"*.embedding.weight\"]` saves about 3"]);
    let more = format!("{small} --set model.freeze=[\"encoder.*\"]");
    folder.fails(&more, 2, &["`model.freeze = [\"encoder.*\", \"*.embedding.weight\"]` saves"]);
}

#[test]
fn what_a_run_takes_on_disk_is_predicted() {
    let folder = wide();
    let run = |out: &str, more: &str| {
        let freeze = "--set model.freeze=[\"src.embedding.weight\"] --set train.keep_last=1";
        let said = succeeds(&folder, &format!("train c.toml --output {out} {freeze} {more}"));
        let predicted: f64 =
            said.split(" of RAM, ").nth(1).unwrap().split(" MB on disk").next().unwrap().parse().unwrap();
        let mut found = 0;
        let mut seen = std::collections::HashSet::new();
        let mut folders = vec![folder.path(out)];
        while let Some(dir) = folders.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                assert!(!name.starts_with(".tmp-"), "{name} is left");
                match entry.metadata().unwrap() {
                    dir if dir.is_dir() => folders.push(entry.path()),
                    // Names of one file count once.
                    file if name != "frozen.safetensors" || seen.insert(name.clone()) => found += file.len(),
                    _ => (),
                }
            }
        }
        let found = found as f64 / 1e6;
        assert!(found <= predicted && found > 0.4 * predicted, "{found} MB of {predicted}");
    };
    run("run", "--set train.save_every=1");
    run("mean", "--set train.save_every=1 --set train.average_last=2 --set train.keep_last=2");
    // The mean of frozen weights is what they are, so they are stored once there, too.
    let file = fs::read(folder.path("mean/model.safetensors")).unwrap();
    assert!(!String::from_utf8_lossy(&file[..2000]).contains("src.embedding.weight"));
    folder.write("in", "v1 v2\n");
    let before = succeeds(&folder, "translate mean in --scores");
    succeeds(&folder, "train mean --resume --set train.keep_last=2");
    assert_eq!(succeeds(&folder, "translate mean in --scores"), before);
    assert!(!folder.path("mean/.tmp-frozen.safetensors").exists());
}

#[test]
fn a_model_that_came_in_halves_is_exported_in_halves_after_training() {
    let text = "train = { text = 'text' }\nhold_out = 0.2";
    let kinds = [
        ("marian", "", PAIRS),
        ("m2m_100", "freeze = [\"*.positions.*\"]", PAIRS),
        ("mbart", "", PAIRS),
        ("t5", "", PAIRS),
        ("llama", "", text),
        ("gpt2", "", text),
    ];
    let folder = folder_with(&kinds.map(|(kind, ..)| kind));
    for (kind, model, data) in kinds {
        let path = folder.path(kind).join("provenance.json");
        let mut provenance: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        provenance["numbers"] = "bf16".into();
        fs::write(&path, provenance.to_string()).unwrap();
        configure(&folder, kind, model, data);
        succeeds(&folder, "train c.toml --output run --force --set train.max_steps=4");
        succeeds(&folder, "train c.toml --output run --resume");
        let info: Value = serde_json::from_str(&folder.run("info run --json").stdout).unwrap();
        assert_eq!((&info["precision"], &info["provenance"]["numbers"]), (&"f32".into(), &"bf16".into()));
        let theirs = format!("their-{kind}");
        let said = succeeds(&folder, &format!("export run --to hf --output {theirs}"));
        assert!(said.contains("rounded to bf16, the number type of the imported model"), "{kind}: {said}");
        let file = fs::read(folder.path(&theirs).join("model.safetensors")).unwrap();
        let header = String::from_utf8_lossy(&file[8..][..usize::from(file[0]) + 256 * usize::from(file[1])]);
        assert!(header.contains("\"BF16\"") && !header.contains("\"F32\""), "{kind}: {header}");
        let config = fs::read_to_string(folder.path(&theirs).join("config.json")).unwrap();
        assert!(config.contains("\"torch_dtype\": \"bfloat16\""), "{kind}: {config}");
        succeeds(&folder, &format!("import {theirs} --output again-{kind}"));
    }
}

/// What `transformers` computes must not be trained: `train` and `info` say so, and `export` before it reads
/// weights.
#[test]
fn trained_positions_that_transformers_computes_are_an_obstacle() {
    let folder = folder_with(&["m2m_100"]);
    let needed = "needs positions that were not trained: `freeze = [\"*.positions.*\"]`";
    assert!(folder.run("info m2m_100").stdout.contains("transformers  M2M-100"));
    configure(&folder, "m2m_100", "freeze = [\"*.embedding.weight\"]", PAIRS);
    let said = succeeds(&folder, "train c.toml --output run");
    assert!(said.contains(needed) && !said.contains("can be exported as M2M-100"), "{said}");
    let info = folder.run("info run").stdout;
    assert!(info.contains(needed), "{info}");
    folder.fails("export run --to hf --output theirs", 2, &[needed]);
    configure(&folder, "m2m_100", "freeze = [\"*.embedding.weight\", \"*.positions.*\"]", PAIRS);
    let said = succeeds(&folder, "train c.toml --output frozen");
    assert!(said.contains("can be exported as M2M-100") && !said.contains(needed), "{said}");
    succeeds(&folder, "export frozen --to hf --output theirs");
}

#[test]
fn what_contradicts_the_model_is_refused() {
    let folder = folder_with(&["marian"]);
    configure(&folder, "marian", "", PAIRS);
    let fails = |set: &str, words: &[&str]| {
        folder.fails(&format!("train c.toml --output run --set {set}"), 2, words);
        assert!(!folder.path("run").exists());
    };
    fails("model.d_model=32", &["`model.d_model`: expected 24, as in the model `marian`"]);
    fails("tokenizer.kind=bpe", &["`tokenizer.kind`", "as in the model `marian`"]);
    fails("model.family=classifier", &["`model.family`"]);
    fails("model.freeze=[\"encoder\"]", &["which matches none", "did you mean `encoder.*`?"]);
    fails("model.freeze=[\"*\"]", &["all of them"]);
    fails("model.from=text", &["`text`, which has no `config.toml`"]);
    folder.write("in", "w1 w2\n");
    succeeds(&folder, "quantize marian --precision int8 --output small --src in --ref in");
    fails("model.from=small", &["`small`, which `quantize` wrote", "that it was made from"]);
}

#[test]
fn every_kind_can_be_trained() {
    let translate = ["bart", "bart_uneven", "mbart", "m2m_100", "t5"];
    let write = ["llama", "gpt2"];
    let encoders = ["bert", "bert_encoder", "distilbert", "roberta", "mpnet"];
    let kinds = [&translate[..], &write, &encoders].concat();
    let folder = folder_with(&kinds);
    let train = |kind: &str, model: &str, data: &str| {
        configure(&folder, kind, model, data);
        let out = format!("tuned-{kind}");
        succeeds(&folder, &format!("train c.toml --output {out} --force"));
        out
    };
    folder.write("in", "w1 w2\n");
    for kind in translate {
        let out = train(kind, "", PAIRS);
        succeeds(&folder, &format!("translate {out} in"));
        succeeds(&folder, &format!("rescore {out} --src in --tgt in"));
    }
    let text = "train = { text = 'text' }\nhold_out = 0.2";
    for kind in write {
        let out = train(kind, "", text);
        succeeds(&folder, &format!("generate {out} --prompt w1 --max-new-tokens 3"));
    }
    for kind in ["bert", "roberta", "mpnet"] {
        train(kind, "", text);
    }
    for kind in encoders {
        let data = "train = { tsv = 'labeled.tsv' }\nhold_out = 0.2";
        let model =
            "family = \"classifier\"\npooling = \"first\"\nlabel_layer = \"tanh\"\nfreeze = [\"src.*\"]";
        let out = train(kind, model, data);
        let label = succeeds(&folder, &format!("classify {out} in"));
        assert!(label.starts_with("odd"), "{label}");
    }
}

/// Heads that were imported go on with their own labels, and are served as before.
#[test]
fn imported_labels_are_trained_further() {
    let kinds = [
        "bert_classifier",
        "roberta_classifier",
        "distilbert_classifier",
        "bert_tagger",
        "xlm_roberta_tagger",
        "mpnet_tagger",
    ];
    let folder = folder_with(&kinds);
    let n = 40;
    let lines = |one: &dyn Fn(usize) -> String| (0..n).map(|n| one(n) + "\n").collect::<String>();
    let label = |n: usize| if n.is_multiple_of(2) { "good" } else { "bad" };
    folder
        .write("labels.tsv", lines(&|n| format!("{}\tw{} w3", label(n), n % 20)))
        .write("odd.tsv", lines(&|n| format!("odd\tw{} w3", n % 20)))
        .write("words", lines(&|n| format!("w{}ab w{}", n % 9, n % 7)))
        .write("tags", lines(&|n| format!("{} O", ["B-PER", "B-LOC"][n % 2])))
        .write("in", "w1ab w2\n");
    for kind in kinds {
        let is_tagger = kind.ends_with("tagger");
        let data = if is_tagger {
            "train = { src = 'words', tgt = 'tags' }\nhold_out = 0.2"
        } else {
            "train = { tsv = 'labels.tsv' }\nhold_out = 0.2"
        };
        configure(&folder, kind, "", data);
        let out = format!("tuned-{kind}");
        succeeds(&folder, &format!("train c.toml --output {out}"));
        if is_tagger {
            let tags = succeeds(&folder, &format!("tag {out} in"));
            assert_eq!(tags.split_whitespace().count(), 2, "{kind}: {tags}");
            succeeds(&folder, &format!("evaluate {out} --src words --ref tags"));
        } else {
            let label = succeeds(&folder, &format!("classify {out} in"));
            let known = ["bad", "so so", "good"];
            let first = label.lines().next().unwrap_or_default();
            assert!(known.contains(&first), "{kind}: {label}");
        }
    }
    configure(&folder, "bert_classifier", "", "train = { tsv = 'odd.tsv' }\nhold_out = 0.2");
    let known = "the base model `bert_classifier` has only the labels ";
    let problem = ["unknown label `odd`: ", known, "a new label needs a new model"];
    folder.fails("train c.toml --output new", 1, &problem);
}

/// The fixture knows words like `w1`.
#[test]
fn a_vocabulary_that_cannot_spell_the_data_is_warned_of() {
    let folder = folder_with(&["marian"]);
    let data = "train = { src = 'foreign', tgt = 'text' }\nvalid = { src = 'text', tgt = 'foreign' }";
    folder.write("foreign", "猫 狗 猫\n".repeat(60));
    let train = |data: &str| {
        configure(&folder, "marian", "", data);
        succeeds(&folder, "train c.toml --output run --force --set train.max_steps=1")
    };
    let warned = |what: &str, side: &str| {
        let said = train(data);
        let line = said
            .lines()
            .find(|line| line.contains(&format!("{what} data: ")) && line.contains("cannot spell"));
        let line = line.unwrap_or_else(|| panic!("{said}"));
        let end = format!(
            " % of the {side} tokens are `<unk>`: the vocabulary of `marian` cannot spell them; check the \
             language and the direction of the data; "
        );
        assert!(line.starts_with("warning: ") && line.contains(&end), "{line}");
        assert_eq!(said.matches("cannot spell them").count(), 2, "{said}");
    };
    warned("training", "source");
    warned("validation", "target");
    let said = train(PAIRS);
    assert!(!said.contains("cannot spell"), "{said}");
}

/// A tagger on top of a masked language model learns the label of a word at its first piece.
#[test]
fn a_new_tagger_reads_pieces() {
    let folder = folder_with(&["bert_tagger"]);
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hf");
    fs::create_dir(folder.path("theirs")).unwrap();
    for (kind, name) in
        [("bert", "config.json"), ("bert", "model.safetensors"), ("bert_tagger", "tokenizer.json")]
    {
        let from = fixtures.join(kind).join(name);
        fs::copy(from, folder.path("theirs").join(name)).unwrap();
    }
    succeeds(&folder, "import theirs --output bert");
    // The end of a word says its label, which its first piece alone cannot know.
    let ends = ["a", "b"];
    let word = |n: usize| format!("w{}{}", n % 9, ends[n * 5 / 3 % 2]);
    let tag = |n: usize| ends[n * 5 / 3 % 2].to_uppercase();
    let line = |one: &dyn Fn(usize) -> String, n: usize| one(n) + " " + &one(n + 1) + "\n";
    let lines = |one: &dyn Fn(usize) -> String| (0..80).map(|n| line(one, n)).collect::<String>();
    folder.write("words", lines(&word)).write("tags", lines(&tag));
    let data = "train = { src = 'words', tgt = 'tags' }\nvalid = { src = 'words', tgt = 'tags' }";
    configure(&folder, "bert", "family = \"tagger\"\ndropout = 0.0\nattention_dropout = 0.0", data);
    let more =
        "--set train.max_steps=60 --set train.optimizer.learning_rate=0.003 --set train.validate_every=30";
    succeeds(&folder, &format!("train c.toml --output tagger {more}"));
    let found = succeeds(&folder, "tag tagger words");
    let expected = fs::read_to_string(folder.path("tags")).unwrap();
    let pairs = found.split_whitespace().zip(expected.split_whitespace());
    let right = pairs.filter(|(found, expected)| found == expected).count();
    assert!(right >= 150, "{right} of 160");
    // The frame and the pieces are those of the source.
    let info: Value = serde_json::from_str(&folder.run("info tagger --json").stdout).unwrap();
    assert_eq!(info["config"]["model"]["word_pieces"], true);
    assert_eq!(info["config"]["model"]["source_first"], "[CLS]");
}

#[test]
fn profiles_and_prepared_data_start_from_the_model_too() {
    let folder = folder_with(&["marian"]);
    let data = "train = { src = 'text', tgt = 'text' }";
    configure(&folder, "marian", "freeze = [\"encoder.*\"]", data);
    let profile = succeeds(&folder, "train c.toml --profile=2");
    assert!(profile.contains("2 updates"), "{profile}");
    succeeds(&folder, "prepare c.toml");
    assert!(succeeds(&folder, "prepare c.toml --list").contains('*'));
    succeeds(&folder, "train c.toml --output memory --set data.store=memory");
    let said = succeeds(&folder, "train c.toml --output disk");
    assert!(said.contains("examples in `.attentive"), "{said}");
    let served = |run: &str| fs::read(folder.path(run).join("model.safetensors")).unwrap();
    assert!(served("memory") == served("disk"));
}
