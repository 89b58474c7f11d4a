//! `attentive plot`.

use std::fs;

use crate::cli_model::CONFIG;
use crate::run::{Folder, Outcome};

const UPDATES: &str = r#"{"kind":"step","step":1,"epoch":0,"loss":9.5,"nll":9.4,"perplexity":12088.4,"learning_rate":1e-5}
{"kind":"step","step":2,"epoch":0,"loss":7.5,"nll":7.4,"perplexity":1635.9,"learning_rate":2e-5}
{"kind":"validation","step":2,"loss":7.0,"nll":6.9,"perplexity":992.3,"samples":[],"best":true,"seconds":1.0}
"#;
const WITH_BLEU: &str = r#"{"kind":"validation","step":4,"loss":6.0,"nll":5.9,"bleu":{"name":"BLEU","value":12.5,"signature":"","detail":""}}
"#;

/// A folder with the run `runs/<name>` for each log.
fn runs(logs: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, log) in logs {
        fs::create_dir_all(folder.path(format!("runs/{name}"))).unwrap();
        folder.write(&format!("runs/{name}/metrics.jsonl"), log);
    }
    folder
}

/// The chart that `arguments` write to standard output, without messages.
fn svg(folder: &Folder, arguments: &str) -> String {
    let Outcome { code, stdout, stderr } = folder.run(arguments);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments}");
    assert!(stdout.starts_with("<svg xmlns=") && stdout.ends_with("</svg>\n"));
    assert!(!stdout.contains("NaN") && !stdout.contains("inf"));
    stdout
}

#[test]
fn curves_of_several_runs_share_a_chart() {
    let log = format!("{UPDATES}{WITH_BLEU}");
    let folder = runs(&[("one", UPDATES), ("a & <b>", &log)]);
    let mut command = folder.command("plot curves runs/one");
    let outcome: Outcome = command.arg("runs/a & <b>").output().unwrap().into();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    for text in [
        ">one, training<",
        ">one, validation<",
        ">a &amp; &lt;b&gt;, training<",
        ">Loss<",
        ">BLEU of the validation sentences<",
    ] {
        assert!(outcome.stdout.contains(text), "{text}");
    }
}

#[test]
fn metrics_can_be_chosen() {
    let folder = runs(&[("one", UPDATES)]);
    let default = svg(&folder, "plot curves runs/one");
    assert!(default.contains(">Loss<") && !default.contains("BLEU"));
    let chosen = svg(&folder, "plot curves runs/one --metric perplexity,learning_rate");
    assert!(chosen.contains(">Perplexity<") && chosen.contains(">Learning rate<"));
    assert!(!chosen.contains(">Loss<"));
}

#[test]
fn out_names_a_file() {
    let folder = runs(&[("one", UPDATES)]);
    let outcome = folder.run("plot curves runs/one --output c.svg");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""));
    assert!(outcome.stderr.contains("`c.svg`"), "{outcome:?}");
    let written = fs::read_to_string(folder.path("c.svg")).unwrap();
    assert_eq!(written, svg(&folder, "plot curves runs/one"));
}

#[test]
fn a_log_is_never_overwritten() {
    let folder = runs(&[("one", UPDATES)]);
    folder.fails(
        "plot curves runs/one --output runs/one/metrics.jsonl",
        2,
        &["is a file of the model", "hint: "],
    );
    let kept = fs::read_to_string(folder.path("runs/one/metrics.jsonl")).unwrap();
    assert_eq!(kept, UPDATES);
}

#[test]
fn unreadable_logs_are_named() {
    let damaged = format!("{UPDATES}garbage\n");
    let folder = runs(&[("one", UPDATES), ("bad", &damaged), ("new", "")]);
    fs::create_dir_all(folder.path("runs/empty")).unwrap();
    for (name, complaint) in [
        ("missing", "`runs/missing`: no such run directory"),
        ("empty", "`runs/empty/metrics.jsonl`: no such file"),
        ("bad", "`runs/bad/metrics.jsonl`: line 4"),
        ("new", "no update has been logged"),
        ("one/metrics.jsonl", "not a file"),
    ] {
        let command = format!("plot curves runs/one runs/{name}");
        folder.fails(&command, 1, &[complaint, "hint: "]);
    }
    folder.fails(
        "plot curves runs/one --metric bleu",
        1,
        &["`runs/one/metrics.jsonl` has no `bleu`", "validate_sentences"],
    );
    folder.write("runs/new/metrics.jsonl", "{\"kind\":\"step\",\"step\":1}\n");
    folder.fails("plot curves runs/new", 1, &["has no `loss`", "hint: "]);
    folder.fails("plot curves runs/one --metric blue", 2, &["blue", "bleu"]);
    folder.fails("plot curves", 2, &["<RUN>"]);
}

#[test]
fn an_incomplete_last_line_is_ignored() {
    let log = format!("{UPDATES}{{\"kind\":\"st");
    svg(&runs(&[("one", &log)]), "plot curves runs/one");
}

#[test]
fn every_kind_of_positions_is_drawn() {
    let folder = Folder::new();
    let all = svg(&folder, "plot positions --d-model 16 --len 60 --rows 8");
    for name in
        ["sinusoidal_interleaved", "sinusoidal_concatenated", "sinusoidal_tensor2tensor", "learned", "rotary"]
    {
        assert!(all.contains(&format!(">{name}: ")), "{name}");
    }
    assert!(all.contains(">Similarity to position 30<"));
    assert!(all.contains(">relative, encoder: 32 buckets of distances<"));
    assert!(all.contains(">relative, decoder: 32 buckets of distances<"));
    assert_eq!(all.matches(">Bucket of each distance<").count(), 2);
    let relative = svg(&folder, "plot positions --variant relative");
    assert!(!relative.contains("Similarity to position") && !relative.contains("What each head adds"));
    let both = svg(&folder, "plot positions --variant learned_relative");
    assert!(both.contains(">learned_relative: ") && both.contains(">Bucket of each distance<"));
    let one = svg(&folder, "plot positions --variant rotary --len 1001");
    assert!(one.contains(">rotary: ") && !one.contains("learned"));
    assert!(one.contains(">Similarity to position 1000<"));
    let chosen = svg(&folder, "plot positions --variant rotary --position 7");
    assert!(chosen.contains(">Similarity to position 7<"));
}

#[test]
fn invalid_position_options_are_refused() {
    let folder = Folder::new();
    for (arguments, complaint) in [
        ("--variant none", "`none`"),
        ("--variant sinusoidal", "sinusoidal_interleaved"),
        ("--d-model 7 --n-heads 1", "`--d-model`"),
        ("--d-model 64 --n-heads 5", "`--n-heads`"),
        ("--len 100 --position 100", "no position 100 among 100"),
        ("--len 1", "cannot compare 1 positions"),
        ("--rows 0", "--rows"),
        ("--rows 4097", "--rows"),
        ("--variant rotary --d-model 8 --n-heads 3", "`--n-heads`"),
        ("--len 99999999999", "`--len` must be from 2 to "),
    ] {
        folder.fails(&format!("plot positions {arguments}"), 2, &[complaint]);
    }
    folder.fails("plot positions missing", 1, &["`missing`"]);
    folder.fails("plot positions x --d-model 8", 2, &["--d-model"]);
}

#[test]
fn the_positions_of_a_model_are_drawn() {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG);
    folder.succeeds("train c.toml --set model.positions=learned");
    let learned = svg(&folder, "plot positions runs/c");
    assert!(learned.contains(">`src.positions.learned`, d = 16<"));
    assert!(learned.contains(">`tgt.positions.learned`, d = 16<"));
    assert!(learned.contains(">Similarity to position 128<"));
    folder.succeeds("train c.toml --set model.positions=relative --output runs/r");
    let relative = svg(&folder, "plot positions runs/r");
    assert_eq!(relative.matches(">What each head adds to the score<").count(), 2);
    assert!(relative.contains(">head 1<") && relative.contains(">head 2<"));
    folder.fails("plot positions runs/c --len 1", 2, &["1 positions"]);
    folder.fails("plot positions runs/c --len 257", 2, &["has learned 256 positions, not 257", "hint: "]);
}

#[test]
fn tables_are_bar_charts_side_by_side() {
    let folder = Folder::new();
    folder.write("a.tsv", "Training\tours\ttheirs\nsmall\t1.42\t1\n\nbase\t\t1\n");
    folder.write("b.tsv", "Translation\tours\ttheirs\nf32\t1.8\t1\n");
    let chart = svg(&folder, "plot bars a.tsv b.tsv --label times --note on-a-Zen-3");
    for text in
        [">Training<", ">Translation<", ">base<", ">1.42<", ">1.80<", ">times<", ">ours<", ">on-a-Zen-3<"]
    {
        assert!(chart.contains(text), "{text}: {chart}");
    }
    let dark = svg(&folder, "plot bars a.tsv b.tsv --label times --theme dark");
    assert!(!dark.contains("#ffffff") && chart.contains("#ffffff"));
}

#[test]
fn malformed_tables_are_refused() {
    let folder = Folder::new();
    for (table, problem) in [
        ("", "line 1: expected a title"),
        ("\n\nTraining\n", "line 3: expected the names of series"),
        ("Training\tours\n", "line 1: expected a line for each group"),
        ("Training\tours\nsmall\t1\t2\n", "line 2: expected 1 number after the name, found 2"),
        ("Training\tours\n\nsmall\tfast\n", "line 3: expected a number of at least 0, found `fast`"),
        ("Training\tours\nsmall\t-1\n", "found `-1`"),
        ("Training\tours\nsmall\tinf\n", "found `inf`"),
        ("Training\tours\nsmall\tnan\n", "found `nan`"),
    ] {
        folder.write("t.tsv", table);
        let outcome = folder.run("plot bars t.tsv");
        assert_ne!(outcome.code, Some(0));
        assert!(outcome.stderr.contains(problem), "{table:?}: {outcome:?}");
    }
}

#[test]
fn models_and_configurations_are_drawn() {
    let folder = Folder::new();
    let corpus = "format = 1\ndata.train = { src = 'a', tgt = 'b' }\n";
    for (name, keys, expected) in [
        (
            "post",
            "",
            &["Add the input, layer norm", "Cross-attention", "× 3", "the same matrix as the embedding"][..],
        ),
        ("pre", "norm = 'rms'\nnorm_position = 'pre'", &["RMS norm", "Add the input<"]),
        ("ssru", "decoder_mixing = 'ssru'", &["SSRU in place of self-attention"]),
        (
            "gated",
            "activation = 'silu'\nfeed_forward_gate = true\nn_kv_heads = 1",
            &["SiLU, gated", "1 of keys and values"],
        ),
        ("relative", "positions = 'relative'", &["a learned bias of each distance"]),
        ("rotary", "positions = 'rotary'", &["rotated by their positions"]),
        (
            "bahdanau",
            "family = 'seq2seq'",
            &["Attention (Bahdanau)", "LSTM → and LSTM ←", "h, c", "its gates read embedding and context"],
        ),
        (
            "tutorial",
            "family = 'seq2seq'\ntie_embeddings = 'none'\nrecurrent = { cell = 'gru', attention = 'concat', \
             input_feeding = 'context', readout = false }",
            &["reads [embedding; context before]", "[h; context], side by side", "final"],
        ),
    ] {
        folder.write(&format!("{name}.toml"), format!("{corpus}[model]\n{keys}\n"));
        let picture = svg(&folder, &format!("plot model {name}.toml"));
        for text in expected.iter().chain(&["parameters", "<desc>", "Encoder", "Decoder", "Softmax"]) {
            assert!(picture.contains(text), "{text} in {name}: {picture}");
        }
    }
    let wider = svg(&folder, "plot model post.toml --set model.d_ff=96 --theme dark");
    assert!(wider.contains("→ 96 →"));
    folder.write("c.toml", CONFIG);
    assert_eq!(folder.run("train c.toml").code, Some(0));
    let model = svg(&folder, "plot model runs/c");
    assert!(model.contains(">runs/c</text>"));
    folder.fails(
        "plot model runs/c --set model.d_ff=96",
        2,
        &["`--set` changes a configuration", "config.toml"],
    );
    folder.fails("plot model missing.toml", 1, &["missing.toml"]);
}

#[test]
fn models_of_every_family_are_drawn() {
    let folder = Folder::new();
    let corpus = "data.train = { src = 'a', tgt = 'b' }";
    for (family, data, title) in [
        ("decoder_only", "data.train = { text = 'a' }", "Self-attention, masked"),
        ("encoder_only", "data.train = { text = 'a' }", "Softmax"),
        ("tagger", corpus, "one number for each label at each position"),
        ("classifier", corpus, "Mean of all positions"),
    ] {
        folder.write("f.toml", format!("format = 1\n{data}\n[model]\nfamily = '{family}'\n"));
        let picture = svg(&folder, "plot model f.toml");
        assert!(picture.contains(title), "{family}: {picture}");
    }
}
