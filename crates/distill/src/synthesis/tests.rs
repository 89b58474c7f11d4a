use attentive_config::Family;
use attentive_metrics::Utility;
use attentive_processes::in_threads;
use attentive_samples::Sample;

use super::*;

fn pipeline() -> Pipeline {
    let Sample { config, tokenizers, model } = Sample::of(Family::Transformer);
    Pipeline::from_parts(config, tokenizers, model)
}

#[test]
fn any_number_of_processes_makes_the_same_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    let line = |n: usize| format!("the cat {n} sees the dog {}\n", n % 7);
    fs::write(&text, (0..3 * LINES + 5).map(line).collect::<String>()).unwrap();
    let mut corpora = Vec::new();
    for n in [1, 2, 3] {
        let output = folder.path().join(format!("{n}.tsv"));
        let counts = in_threads(n, |processes| {
            let pipeline = pipeline();
            let translate = TranslateOptions::from(&pipeline.config().decode);
            let options = SynthesisOptions { translate, choice: SynthesisChoice::All, backward: false };
            let files = SynthesisFiles { text: &text, references: None, output: &output, counts: None };
            let synthesis = Synthesis::open(files, options, "sample", &processes).unwrap();
            synthesis.run(&pipeline, &processes).unwrap()
        });
        assert!(counts.iter().all(|one| one.lines == 3 * LINES + 5 && *one == counts[0]), "{counts:?}");
        corpora.push((counts[0], fs::read(&output).unwrap()));
    }
    assert!(corpora.iter().all(|corpus| *corpus == corpora[0]));
}

#[test]
fn only_translations_become_pairs() {
    let candidate = |text: &str, finished| attentive_pipeline::Candidate {
        text: text.into(),
        score: -1.5,
        tokens: vec![7],
        finished,
        ..Default::default()
    };
    let found =
        || vec![candidate("b\tc", true), candidate("", true), candidate("cut", false), candidate("a", true)];
    let translate = TranslateOptions::from(&pipeline().config().decode);
    let mut options = SynthesisOptions { translate, choice: SynthesisChoice::All, backward: false };
    let part = Part::of_line("line", found(), None, options);
    assert_eq!(part.rows, ["line\tb c\t-1.5000", "line\ta\t-1.5000"]);
    let counts = SynthesisCounts { lines: 1, pairs: 2, empty: 1, cut_off: 1, ..Default::default() };
    assert_eq!(part.counts, counts);
    options.choice = SynthesisChoice::ClosestTo(Utility::Chrf);
    options.backward = true;
    assert_eq!(Part::of_line("line", found(), Some("a"), options).rows, ["a\tline\t-1.5000"]);
}

#[test]
fn a_corpus_whose_parts_were_not_removed_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let [text, output, counts] = ["text", "pairs.tsv", "counts"].map(|name| folder.path().join(name));
    fs::write(&text, "the cat sees the dog\n".repeat(10)).unwrap();
    let (pipeline, alone) = (pipeline(), Processes::alone());
    let translate = TranslateOptions::from(&pipeline.config().decode);
    let options = SynthesisOptions { translate, choice: SynthesisChoice::All, backward: false };
    let files = SynthesisFiles { text: &text, references: None, output: &output, counts: Some(&counts) };
    let open = || Synthesis::open(files, options, "sample", &alone);
    open().unwrap().make_parts(&pipeline, &alone).unwrap();
    // As after a crash between writing the corpus and removing its parts.
    let known = SynthesisCounts { lines: 10, pairs: 7, ..Default::default() };
    fs::write(Synthesis::parts_of(&output).join(COUNTS), to_json(&known).unwrap()).unwrap();
    fs::write(&output, "what was written\n").unwrap();
    assert_eq!(open().unwrap().run(&pipeline, &alone).unwrap(), known);
    assert_eq!(fs::read_to_string(&output).unwrap(), "what was written\n");
    assert_eq!(serde_json::from_slice::<SynthesisCounts>(&fs::read(&counts).unwrap()).unwrap(), known);
    assert!(!Synthesis::parts_of(&output).exists());
    assert!(open().unwrap_err().to_string().contains("already exists"));
}
