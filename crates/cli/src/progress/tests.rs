use std::cell::RefCell;
use std::rc::Rc;

use attentive_checkpoint::MatmulBackend;
use attentive_config::BestBy;
use attentive_model::engine::Precision;
use attentive_train::report::SampleTranslation;

use super::*;

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.0.borrow()).lines().map(str::to_owned).collect()
    }
}

fn lines(between: Duration) -> (Shared, ProgressDisplay) {
    let out = Shared::default();
    (out.clone(), ProgressDisplay::in_view(Lines::new(out, between)))
}

fn update(step: u64) -> StepReport {
    StepReport {
        step,
        epoch: 0,
        updates: 1,
        loss: 3.5,
        nll: 2.0,
        perplexity: 7.389,
        accuracy: 0.5,
        learning_rate: 3e-4,
        gradient_norm: 1.0,
        gradient_norms: Vec::new(),
        reference_probability: None,
        tgt_tokens: 4000,
        tokens_per_second: 2000.0,
    }
}

fn start() -> StartReport {
    StartReport {
        step: 0,
        max_steps: 1000,
        n_parameters: 1_234_567,
        n_examples: 40_000,
        src_vocab: 400,
        tgt_vocab: 500,
        labels: None,
        steps_per_epoch: 120,
        memory: 400_000_000,
        gpu_memory: 0,
        disk: 61_000_000,
        products: MatmulBackend { matmul: Precision::F32, instructions: "AVX2".into() },
        processes: 1,
    }
}

#[test]
fn only_logged_updates_some_time_apart_are_shown() {
    for (between, expected) in [(Duration::MAX, 1), (Duration::ZERO, 3)] {
        let (out, mut progress) = lines(between);
        for step in 1..=30 {
            let report = update(step);
            progress.on(&Event::Step { report: &report, logged: (step % 10 == 0).then_some(&report) });
        }
        assert_eq!(out.lines().len(), expected);
    }
}

#[test]
fn a_line_summarizes_an_update() {
    let (out, mut progress) = lines(Duration::ZERO);
    progress.on(&Event::Start(&start()));
    // The line shows the average, not only the last update.
    let mean = StepReport { loss: 3.25, updates: 10, ..update(400) };
    progress.on(&Event::Step { report: &update(400), logged: Some(&mean) });
    let expected = "update 400  loss 3.250  perplexity 7.39  2,000 tokens/s  00:20:00 left  learning rate \
                    3.0e-4  gradient norm 1.000";
    assert_eq!(out.lines()[1], expected);
    assert!(out.lines()[0].starts_with("1,234,567 parameters; vocabularies of 400 and 500; 40,000 examples"));
    progress.on(&Event::Start(&StartReport { gpu_memory: 1_300_000_000, ..start() }));
    let last = "at most about 400 MB of RAM and 1300 MB of the GPU's memory, 61 MB on disk";
    assert!(out.lines()[2].ends_with(last), "{}", out.lines()[2]);
    for (src_vocab, labels, expected) in
        [(400, 3, "parameters; vocabulary of 400, 3 labels; 40,000"), (0, 1, "parameters; 1 label; 40,000")]
    {
        let (out, mut progress) = lines(Duration::ZERO);
        progress.on(&Event::Start(&StartReport { src_vocab, labels: Some(labels), ..start() }));
        let line = &out.lines()[0];
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn validations_show_scores_and_samples() {
    let (out, mut progress) = lines(Duration::MAX);
    let sample = SampleTranslation {
        src: "a cat".into(),
        translation: "ein Hund".into(),
        reference: "eine Katze".into(),
    };
    progress.on(&Event::Validation(&ValidationReport {
        step: 500,
        loss: 2.0,
        nll: 1.0,
        perplexity: 3.0,
        accuracy: 0.712,
        bleu: None,
        exact_match: Some(0.25),
        samples: vec![sample],
        chrf: None,
        script: Some(0.5),
        best: true,
        best_by: vec![BestBy::Script],
        seconds: 1.0,
    }));
    let lines = out.lines();
    let expected = "validation after update 500: loss 2.000  perplexity 3.00  accuracy 71.2 %  script 0.5000  exact 25.0 %  (best so far, best script so far)";
    assert_eq!(lines[0], expected);
    assert_eq!(lines[1..], ["✗ a cat", "  → ein Hund", "  = eine Katze"]);
}

#[test]
fn preparation_is_shown_at_intervals() {
    let read = |lines| {
        Event::Preparing(Preparing::Corpus {
            what: "training data",
            progress: data::Progress::Read { lines },
        })
    };
    for (between, expected) in [
        (Duration::MAX, &[][..]),
        (Duration::ZERO, &["training data: 8,192 lines read", "learning the vocabulary"]),
    ] {
        let (out, mut progress) = lines(between);
        progress.on(&read(8192));
        progress.on(&Event::Preparing(Preparing::Vocabulary));
        assert_eq!(out.lines(), expected);
    }
}

#[test]
fn fields_that_do_not_fit_are_left_out_whole() {
    let mut rate = Rate::default();
    rate.add(&update(400));
    let text = |columns| step_text(&update(400), &rate, 1000, columns);
    let without_rate = "loss 3.500  perplexity 7.39  2,000 tokens/s  00:20:00 left";
    let with_rate = format!("{without_rate}  learning rate 3.0e-4");
    let whole = format!("{with_rate}  gradient norm 1.000");
    assert_eq!(text(whole.len()), whole);
    assert_eq!(text(whole.len() - 1), with_rate);
    assert_eq!(text(with_rate.len() - 1), without_rate);
    assert_eq!(text(50), "loss 3.500  2,000 tokens/s  00:20:00 left");
    assert_eq!(text(30), "loss 3.500  00:20:00 left");
    assert_eq!(text(10), "loss 3.500");
    assert_eq!(text(9), "");
}

#[test]
fn a_speed_without_updates_does_not_panic() {
    assert_eq!(Rate::default().time_for(10), Duration::MAX);
}
