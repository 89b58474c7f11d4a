//! `attentive distill`: stages that run only when something changed, also after `kill -9`.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli_damage::start;
use crate::cli_model::CONFIG;
use crate::run::{Folder, Outcome, for_family};

/// A plan with every kind of text.
const PLAN: &str = r#"
licences = ["CC0"]

[teacher]
models = ["runs/c"]
choice = "all"
candidates = 1
# So little trained, it goes on to the limit otherwise.
sampling = { temperature = 2.0, seed = 7 }

[text]
parallel = { src = "train.src", tgt = "train.tgt" }
monolingual = ["mono.src"]
original = 0.5

[filter]
without = ["letters", "numbers", "copy", "ratio", "repetition", "duplicate"]
drop_worst = 0.1

[student]
config = "student.toml"
set = ["train.max_steps=8"]
guided_alignment = 0.1
undistilled = true

[test]
src = "test.src"
tgt = "test.tgt"
"#;

/// The results that must have the same bits in the end.
const RESULTS: [&str; 7] = [
    "translations/pairs.tsv",
    "translations-mono.src/pairs.tsv",
    "corpus/corpus.tsv",
    "student/model/model.safetensors",
    "undistilled/model/model.safetensors",
    "int8/model/packed.safetensors",
    "distillation.json",
];

/// A folder with a teacher, a plan and its text.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("c.toml", CONFIG.replace("max_steps = 6", "max_steps = 60"));
    folder.succeeds("train c.toml --set train.validate_every=0 --set train.save_every=60");
    let digits = |n: usize| format!("{} {} {} {}", n % 10, n / 10 % 10, n / 3 % 10, n / 7 % 10);
    let lines = |numbers: std::ops::Range<usize>, is_reversed: bool| -> String {
        let line = |n| {
            let line = digits(n);
            let words: Vec<&str> = line.split(' ').collect();
            let words = if is_reversed { words.into_iter().rev().collect() } else { words };
            words.join(" ") + "\n"
        };
        numbers.map(line).collect()
    };
    folder
        .write("train.src", lines(0..300, false))
        .write("train.tgt", lines(0..300, true))
        .write("mono.src", lines(300..700, false))
        .write("test.src", lines(700..720, false))
        .write("test.tgt", lines(700..720, true))
        .write(
            "student.toml",
            CONFIG.replace("n_decoder_layers = 1", "n_decoder_layers = 1\ndecoder_mixing = 'ssru'"),
        )
        .write("plan.toml", PLAN);
    folder
}

fn distill(folder: &Folder, out: &str) -> String {
    let outcome = folder.succeeds(&format!("distill plan.toml --output {out}"));
    outcome.stderr
}

fn results(folder: &Folder, out: &str) -> Vec<Vec<u8>> {
    RESULTS.iter().map(|file| fs::read(folder.path(out).join(file)).unwrap()).collect()
}

/// The stages of which `said` says this.
fn stages<'a>(said: &'a str, what: &str) -> Vec<&'a str> {
    let stage = |line: &'a str| {
        let (name, rest) = line.split_once("stage `")?.1.split_once("` ")?;
        rest.starts_with(what).then_some(name)
    };
    said.lines().filter_map(stage).collect()
}

const ALL: [&str; 8] = [
    "translations",
    "translations-mono.src",
    "corpus",
    "alignment",
    "student",
    "undistilled",
    "int8",
    "report",
];

#[test]
fn only_what_changed_runs_again() {
    let folder = prepared();
    let dry = folder.run("distill plan.toml --output out --dry-run");
    assert_eq!(stages(&dry.stderr, "would run, for the first time"), ALL, "{dry:?}");
    // What takes long is tried.
    let tried = ["translations", "translations-mono.src", "student", "undistilled"];
    assert_eq!(stages(&dry.stderr, "would run, for the first time: about"), tried, "{dry:?}");
    assert!(dry.stderr.contains(" s in all, as far as is known"), "{dry:?}");
    assert!(!folder.path("out").exists());
    assert_eq!(stages(&distill(&folder, "out"), "begins"), ALL);
    let before = results(&folder, "out");
    let report = fs::read_to_string(folder.path("out/report/report.md")).unwrap();
    for system in ["| teacher |", "| student |", "| student, int8 |", "| undistilled |"] {
        assert!(report.contains(system), "{report}");
    }
    let json: Value =
        serde_json::from_slice(&fs::read(folder.path("out/report/report.json")).unwrap()).unwrap();
    for system in json["systems"].as_array().unwrap() {
        let [weights, ram] = ["weight_bytes", "ram_bytes"].map(|key| system[key].as_u64());
        assert!(weights.unwrap() > 1000 && system["bleu"]["value"].is_number(), "{json}");
        assert_eq!(ram.is_some(), cfg!(target_os = "linux"), "{json}");
        assert!(ram.is_none_or(|ram| ram > 1_000_000), "{json}");
    }
    let description = fs::read_to_string(folder.path("out/student/model/distillation.json")).unwrap();
    assert!(description.contains("CC0") && description.contains("drop_worst"), "{description}");
    assert_eq!(stages(&distill(&folder, "out"), "is up to date"), ALL);

    // A filter: from the corpus on, but not what does not depend on it.
    folder.write("plan.toml", PLAN.replace("drop_worst = 0.1", "drop_worst = 0.3"));
    let said = folder.run("distill plan.toml --output out --dry-run").stderr;
    let expected = ["corpus", "alignment", "student", "int8", "report"];
    assert_eq!(stages(&said, "would run; the last time"), expected, "{said}");
    assert_eq!(stages(&distill(&folder, "out"), "begins"), expected);
    folder.write("plan.toml", PLAN);
    distill(&folder, "out");
    assert!(results(&folder, "out") == before, "the same plan gives the same bits");

    // A text: its translations, and what follows from them.
    let mono = fs::read_to_string(folder.path("mono.src")).unwrap();
    folder.write("mono.src", mono.clone() + &mono.replace('1', "2"));
    let said = distill(&folder, "out");
    assert_eq!(stages(&said, "is up to date"), ["translations", "undistilled"], "{said}");
    folder.write("mono.src", mono);
    // Results that were damaged.
    folder.write("out/corpus/corpus.tsv", "1 2\t2 1\n").write("out/student/model/tokenizer.json", "{}");
    distill(&folder, "out");
    assert!(results(&folder, "out") == before);
    fs::remove_file(folder.path("out/int8/model/config.toml")).unwrap();
    folder.write("out/undistilled/model/provenance.json", "{");
    assert_eq!(stages(&distill(&folder, "out"), "begins"), ["undistilled", "int8"]);
    assert!(results(&folder, "out") == before);
    folder.write("out/corpus/stage.json", "{");
    folder.fails("distill plan.toml --output out", 1, &["stage.json`: damaged", "delete its folder"]);
    fs::remove_dir_all(folder.path("out/corpus")).unwrap();
    assert_eq!(stages(&distill(&folder, "out"), "begins"), ["corpus"]);
    // Another text before the one that is translated.
    folder.write("more.src", "1 2 3 4\n");
    folder.write("plan.toml", PLAN.replace("[\"mono.src\"]", "[\"more.src\", \"mono.src\"]"));
    let said = distill(&folder, "out");
    assert!(stages(&said, "is up to date").contains(&"translations-mono.src"), "{said}");
    folder.write("plan.toml", PLAN);
    distill(&folder, "out");
    assert!(results(&folder, "out") == before);

    assert!(report.contains("| student | undistilled |"), "{report}");
    // How often the log has a line changes nothing.
    let config = fs::read_to_string(folder.path("student.toml")).unwrap();
    let with =
        |line: &str| folder.write("student.toml", config.replace("[train]", &format!("[train]\n{line}")));
    with("keep_last = 9");
    assert_eq!(stages(&distill(&folder, "out"), "is up to date"), ALL);
    // Validation translates nothing that decides.
    with("validate_sentences = 3");
    assert_eq!(stages(&distill(&folder, "out"), "is up to date"), ALL);
    // A file beside the results.
    let copy = |from: &str, to: &str| fs::copy(folder.path(from), folder.path(to)).unwrap();
    copy("out/int8/model/shortlist.safetensors", "out/student/model/shortlist.safetensors");
    assert_eq!(stages(&distill(&folder, "out"), "is up to date"), ALL);
    fs::remove_file(folder.path("out/student/model/shortlist.safetensors")).unwrap();
    // How the student searches changes no weights, but what is made of them.
    folder.write("student.toml", config.replace("beam_width = 2", "beam_width = 3"));
    let said = distill(&folder, "out");
    assert_eq!(stages(&said, "goes on"), ["student", "undistilled"], "{said}");
    assert_eq!(stages(&said, "begins"), ["int8", "report"], "{said}");
    assert!(results(&folder, "out")[..5] == before[..5], "the weights stay");
    let int8 = fs::read_to_string(folder.path("out/int8/model/config.toml")).unwrap();
    assert!(int8.contains("beam_width = 3"), "{int8}");
    // More updates go on from fewer, and give the same bits as without a stop.
    let plan = PLAN.replace("max_steps=8", "max_steps=12");
    folder.write("plan.toml", &plan);
    let said = distill(&folder, "out");
    assert_eq!(stages(&said, "goes on"), ["student", "undistilled"], "{said}");
    let longer = results(&folder, "out");
    assert!(longer[3] != before[3]);
    fs::remove_dir_all(folder.path("out/student")).unwrap();
    distill(&folder, "out");
    assert!(results(&folder, "out") == longer);
    // The folder may move, and goes on there.
    fs::rename(folder.path("out"), folder.path("moved")).unwrap();
    folder.write("plan.toml", PLAN.replace("max_steps=8", "max_steps=14"));
    let dry = folder.run("distill plan.toml --output moved --dry-run").stderr;
    assert_eq!(stages(&dry, "would go on, after"), ["student", "undistilled"], "{dry}");
    let said = distill(&folder, "moved");
    assert_eq!(stages(&said, "goes on"), ["student", "undistilled"], "{said}");
    // The teacher has a shortlist now, and translates otherwise.
    copy("moved/int8/model/shortlist.safetensors", "runs/c/shortlist.safetensors");
    let dry = folder.run("distill plan.toml --output moved --dry-run").stderr;
    assert!(stages(&dry, "would run").contains(&"translations"), "{dry}");
}

#[test]
fn folders_of_others_stay_as_they_are() {
    let folder = prepared();
    fs::create_dir_all(folder.path("mine/corpus")).unwrap();
    folder.write("mine/corpus/thesis.txt", "text\n");
    folder.fails(
        "distill plan.toml --output mine",
        2,
        &["`mine/corpus`", "is not a stage of a distillation"],
    );
    assert_eq!(fs::read_to_string(folder.path("mine/corpus/thesis.txt")).unwrap(), "text\n");
    folder.fails("distill plan.toml --output runs/c", 2, &["`runs/c` is a model"]);
}

#[test]
fn a_teacher_may_be_several_models() {
    let folder = prepared();
    folder.succeeds("train c.toml --output runs/d --set train.max_steps=50");
    folder.write("plan.toml", PLAN.replace("[\"runs/c\"]", "[\"runs/c\", \"runs/d\"]"));
    distill(&folder, "out");
    let report: Value =
        serde_json::from_slice(&fs::read(folder.path("out/report/report.json")).unwrap()).unwrap();
    let alone = fs::metadata(folder.path("runs/c/model.safetensors")).unwrap().len();
    assert_eq!(report["systems"][0]["weight_bytes"].as_u64(), Some(2 * alone), "both models of the teacher");
    assert_eq!(report["systems"][0]["name"], "teacher");
}

#[test]
fn plans_that_cannot_be_carried_out_are_refused() {
    let folder = prepared();
    folder.write("empty", "").write("blank", " \n\n");
    let family = "decoder_only";
    let lm = for_family(CONFIG, family).replace("[model]\n", &format!("[model]\nfamily = '{family}'\n"));
    let outcome = folder.write("lm.toml", lm).run("train lm.toml --output lm --set train.max_steps=1");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for (from, to, complaints) in [
        ("models = [\"runs/c\"]", "", &["`teacher`", "either `models` or `translations`"][..]),
        ("models = [\"runs/c\"]", "models = [\"runs/x\"]", &["runs/x"]),
        ("choice = \"all\"", "choice = \"mbr\"", &["teacher.candidates", "from 2"]),
        ("drop_worst = 0.1", "drop_worst = 1.0", &["filter.drop_worst"]),
        ("without = [", "without = ['nonsense', ", &["unknown variant `nonsense`", "`ratio`"]),
        ("candidates = 1", "candidate = 2", &["candidate", "docs/distillation.md"]),
        ("parallel = { src = \"train.src\", tgt = \"train.tgt\" }", "", &["text.original"]),
        ("config = \"student.toml\"", "config = \"none.toml\"", &["none.toml"]),
        ("src = \"test.src\"", "src = \"train.src\"", &["differ in length"]),
        ("drop_worst = 0.1", "drop_worst = 0.1\nlanguages = ['xx', 'yy']", &["xx"]),
        ("drop_worst = 0.1", "languages = ['en', 'de', 'fr']", &["the codes of two languages"]),
        (
            "without = [",
            "limits = { max_ratio = 0.5 }\nwithout = [",
            &["filter.limits.max_ratio", "found 0.5"],
        ),
        ("without = [", "rules = false\nwithout = [", &["filter.without", "`filter.rules` is false"]),
        ("models = [\"runs/c\"]", "models = [\"lm\"]", &["`lm` is no translator"]),
        ("drop_worst = 0.1", "drop_worst = 0.1\nbackward = 'lm'", &["`lm` is no translator"]),
        ("monolingual = [\"mono.src\"]", "monolingual = [\".\"]", &["no file that can be read"]),
        ("monolingual = [\"mono.src\"]", "monolingual = [\"blank\"]", &["`blank` has no text"]),
        ("choice = \"all\"", "choice = \"best\"", &["`teacher.sampling`", "nothing to choose among samples"]),
        (
            "src = \"test.src\"\ntgt = \"test.tgt\"",
            "src = \"empty\"\ntgt = \"empty\"",
            &["`empty` has no text"],
        ),
        ("\"train.max_steps=8\"", "\"data.valid={ src = 'no', tgt = 'no' }\"", &["`no`"]),
        ("\"train.max_steps=8\"", "\"model.decoder=recurrent\"", &["model.decoder"]),
        (
            "\"train.max_steps=8\"",
            "\"data.alignments='a'\", \"train.guided_alignment=1\", \"model.alignment_head=1\"",
            &["`data.alignments`"],
        ),
        ("guided_alignment = 0.1", "guided_alignment = -1", &["student.guided_alignment", "`plan.toml`"]),
        (
            "[test]",
            "[firefox]\nlanguages = ['../x', 'de']\ncalibrate = { src = 'test.src', tgt = 'test.tgt' }\n\n[test]",
            &["the codes of two languages"],
        ),
        (
            "[test]",
            "[firefox]\nlanguages = ['en', 'de']\ncalibrate = { src = 'test.src', tgt = 'test.tgt' }\n\n[test]",
            &["Firefox", "`model.d_model` or `model.d_ff` is not a multiple of 64"],
        ),
    ] {
        assert!(PLAN.contains(from), "{from}");
        folder.write("plan.toml", PLAN.replacen(from, to, 1));
        let outcome = folder.run("distill plan.toml --output out");
        assert_ne!(outcome.code, Some(0), "{to}");
        for complaint in complaints {
            assert!(outcome.stderr.contains(complaint), "{to}: {outcome:?}");
        }
        assert!(!folder.path("out").exists(), "{to}: nothing is done before");
    }
}

#[test]
fn a_file_of_translations_is_a_teacher() {
    let folder = prepared();
    folder.succeeds("synthesize runs/c mono.src --sample --temperature 2 --output given.tsv");
    let plan = PLAN
        .replace("models = [\"runs/c\"]", "translations = [\"given.tsv\"]")
        .replace("choice = \"all\"\ncandidates = 1\n", "")
        .replace("sampling = { temperature = 2.0, seed = 7 }", "")
        .replace("monolingual = [\"mono.src\"]", "")
        .replace("undistilled = true", "");
    folder.write("plan.toml", plan.replace("[teacher]", "[teacher]\nchoice = 'all'"));
    folder.fails("distill plan.toml --output out", 2, &["`teacher.choice`", "the translations are given"]);
    folder.write("plan.toml", plan);
    assert_eq!(
        stages(&distill(&folder, "out"), "begins"),
        ["corpus", "alignment", "student", "int8", "report"]
    );
    let report = fs::read_to_string(folder.path("out/report/report.md")).unwrap();
    assert!(!report.contains("| teacher |") && report.contains("| student, int8 |"), "{report}");
}

/// Kills a distillation at random moments `kills` times, and compares the results with an undisturbed one's.
fn kill(kills: usize) {
    let folder = prepared();
    let begun = Instant::now();
    distill(&folder, "whole");
    let whole = begun.elapsed();
    let mut moments = Vec::new();
    while moments.len() < kills {
        let mut child = start(&folder, "distill plan.toml --output parts");
        let random = RandomState::new().build_hasher().finish();
        let moment = Duration::from_micros(random % whole.as_micros() as u64);
        sleep(moment);
        let is_running = child.try_wait().unwrap().is_none();
        child.kill().unwrap();
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        moments.push(moment);
        if !is_running {
            assert_eq!(outcome.code, Some(0), "killed after {moments:?}: {outcome:?}");
            assert!(results(&folder, "parts") == results(&folder, "whole"), "killed after {moments:?}");
            fs::remove_dir_all(folder.path("parts")).unwrap();
        }
    }
    distill(&folder, "parts");
    assert!(results(&folder, "parts") == results(&folder, "whole"), "killed after {moments:?}");
}

#[test]
fn a_killed_distillation_goes_on_to_the_same_bits() {
    kill(5);
}

#[test]
#[ignore = "takes a minute"]
fn a_distillation_killed_twenty_times_goes_on_to_the_same_bits() {
    kill(20);
}
