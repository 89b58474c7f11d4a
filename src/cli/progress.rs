//! Training as it is seen on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use attentive::count::plural;
use attentive::train::report::{Event, Observer, StartReport, StepReport, ValidationReport};
use indicatif::{FormattedDuration, HumanCount, ProgressBar, ProgressFinish, ProgressStyle};

use super::message::{self, Label};
use super::samples;

/// Lines about updates come no closer than this.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Shows training.
pub(super) struct Progress {
    view: Box<dyn View>,
    max_steps: u64,
    rate: Rate,
}

/// A place where training is shown.
trait View {
    /// The run begins after `step` of at most `max_steps` updates.
    fn start(&mut self, step: u64, max_steps: u64);
    /// An update is done. `text` tells of it in at most as many columns as it is given.
    fn step(&mut self, step: u64, logged: bool, text: &dyn Fn(usize) -> String);
    /// Something that stays to be read.
    fn line(&mut self, line: &str);
}

impl Progress {
    /// For standard error as it is.
    pub(super) fn new() -> Self {
        if io::stderr().is_terminal() {
            Self::in_view(Bar(ProgressBar::hidden()))
        } else {
            Self::in_view(Lines {
                out: io::stderr(),
                between: BETWEEN_LINES,
                last: None,
            })
        }
    }

    fn in_view(view: impl View + 'static) -> Self {
        Self {
            view: Box::new(view),
            max_steps: 0,
            rate: Rate::default(),
        }
    }
}

impl Observer for Progress {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(text) => self.view.line(&Label::Note.line(text)),
            Event::Warning(text) => self.view.line(&Label::Warning.line(text)),
            Event::Start(report) => {
                self.max_steps = report.max_steps;
                self.view.line(&start_line(report));
                self.view.start(report.step, report.max_steps);
            }
            Event::Step { report, logged } => {
                self.rate.add(report);
                let text = |columns| step_text(report, &self.rate, self.max_steps, columns);
                self.view.step(report.step, *logged, &text);
            }
            Event::Validation(report) => {
                self.view.line(&validation_line(report));
                for sample in &report.samples {
                    samples::lines(sample)
                        .iter()
                        .for_each(|line| self.view.line(line));
                }
            }
            // Saving is routine; the last word of the command names the directory.
            Event::Saved { .. } => {}
        }
    }
}

/// A progress bar below the lines.
struct Bar(ProgressBar);

impl View for Bar {
    fn start(&mut self, step: u64, max_steps: u64) {
        // The message is made to fit.
        let style = ProgressStyle::with_template("{bar:10} {human_pos}/{human_len} {wide_msg}");
        let bar = ProgressBar::new(max_steps).with_finish(ProgressFinish::AndClear);
        self.0 = bar
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            .with_position(step);
    }

    fn step(&mut self, step: u64, _logged: bool, text: &dyn Fn(usize) -> String) {
        self.0.set_position(step);
        let count = format!(
            "{}/{}",
            HumanCount(step),
            HumanCount(self.0.length().unwrap_or_default())
        );
        let before = BAR_COLUMNS + 1 + count.len() + 1;
        self.0
            .set_message(text(terminal_columns().saturating_sub(before)));
    }

    fn line(&mut self, line: &str) {
        self.0.suspend(|| message::say(line));
    }
}

/// The columns of the bar itself, as its template says.
const BAR_COLUMNS: usize = 10;

/// The width of the terminal.
fn terminal_columns() -> usize {
    const USUAL: usize = 80;
    match terminal_size::terminal_size_of(io::stderr()) {
        Some((terminal_size::Width(columns), _)) => columns.into(),
        None => USUAL,
    }
}

/// Plain lines, for a file or another program.
struct Lines<W> {
    out: W,
    between: Duration,
    last: Option<Instant>,
}

impl<W: Write> View for Lines<W> {
    fn start(&mut self, _step: u64, _max_steps: u64) {}

    fn step(&mut self, step: u64, logged: bool, text: &dyn Fn(usize) -> String) {
        if logged && self.last.is_none_or(|last| last.elapsed() >= self.between) {
            self.last = Some(Instant::now());
            self.line(&format!(
                "update {}  {}",
                HumanCount(step),
                text(usize::MAX)
            ));
        }
    }

    fn line(&mut self, line: &str) {
        // A log that nobody can read must not stop the training.
        let _ = writeln!(self.out, "{line}");
    }
}

/// How fast it goes: sums in which older updates count less and less.
#[derive(Default)]
struct Rate {
    tokens: f64,
    seconds: f64,
    steps: f64,
}

impl Rate {
    fn add(&mut self, report: &StepReport) {
        const KEPT: f64 = 0.97;
        let tokens = report.tgt_tokens as f64;
        self.tokens = KEPT * self.tokens + tokens;
        self.seconds = KEPT * self.seconds + tokens / report.tokens_per_second;
        self.steps = KEPT * self.steps + 1.0;
    }

    fn tokens_per_second(&self) -> f64 {
        self.tokens / self.seconds
    }

    fn time_for(&self, steps: u64) -> Duration {
        Duration::try_from_secs_f64((steps as f64 * self.seconds / self.steps).round())
            .unwrap_or(Duration::MAX)
    }
}

fn start_line(report: &StartReport) -> String {
    let StartReport {
        step,
        max_steps,
        n_parameters,
        n_examples,
        src_vocab,
        tgt_vocab,
        steps_per_epoch,
        memory,
        products,
    } = report;
    let count = |n: usize| HumanCount(n as u64).to_string();
    let course = match step {
        0 => format!(
            "up to {} {}",
            HumanCount(*max_steps),
            plural(*max_steps, "update")
        ),
        _ => format!(
            "going on after update {} of {}",
            HumanCount(*step),
            HumanCount(*max_steps)
        ),
    };
    format!(
        "{} parameters; vocabularies of {} and {}; {} {}, {} {} an epoch; {course}; \
         {products}; about {:.0} MB of memory at most",
        count(*n_parameters),
        count(*src_vocab),
        count(*tgt_vocab),
        count(*n_examples),
        plural(*n_examples as u64, "example"),
        HumanCount(*steps_per_epoch),
        plural(*steps_per_epoch, "update"),
        *memory as f64 / 1e6
    )
}

/// How it goes, in at most `columns` columns: fields that do not fit as a whole are left out, the least important first.
fn step_text(report: &StepReport, rate: &Rate, max_steps: u64, columns: usize) -> String {
    const GAP: &str = "  ";
    let left = rate.time_for(max_steps.saturating_sub(report.step));
    let speed = HumanCount(rate.tokens_per_second() as u64);
    // Each with its place in the order of importance.
    let fields = [
        (0, format!("loss {:.3}", report.loss)),
        (3, format!("perplexity {:.2}", report.perplexity)),
        (2, format!("{speed} tokens/s")),
        (1, format!("{} left", FormattedDuration(left))),
        (4, format!("rate {:.1e}", report.learning_rate)),
    ];
    let text = |shown: usize| {
        let fields = fields.iter().filter(|(rank, _)| *rank < shown);
        let fields: Vec<&str> = fields.map(|(_, field)| field.as_str()).collect();
        fields.join(GAP)
    };
    let fitting = (1..=fields.len())
        .rev()
        .map(text)
        .find(|text| text.len() <= columns);
    fitting.unwrap_or_default()
}

fn validation_line(report: &ValidationReport) -> String {
    let mut line = format!(
        "validation after update {}: loss {:.3}  perplexity {:.2}  accuracy {:.1} %",
        HumanCount(report.step),
        report.loss,
        report.perplexity,
        100.0 * report.accuracy
    );
    if let Some(bleu) = &report.bleu {
        line += &format!("  BLEU {:.2}", bleu.value);
    }
    if let Some(exact) = report.exact_match {
        line += &format!("  exact {:.1} %", 100.0 * exact);
    }
    if report.best {
        line += "  (best so far)";
    }
    line
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use attentive::checkpoint::Products;
    use attentive::config::Matmul;
    use attentive::train::report::Sample;

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
            String::from_utf8_lossy(&self.0.borrow())
                .lines()
                .map(str::to_owned)
                .collect()
        }
    }

    fn lines(between: Duration) -> (Shared, Progress) {
        let out = Shared::default();
        (
            out.clone(),
            Progress::in_view(Lines {
                out,
                between,
                last: None,
            }),
        )
    }

    fn update(step: u64) -> StepReport {
        StepReport {
            step,
            epoch: 0,
            loss: 3.5,
            nll: 2.0,
            perplexity: 7.389,
            accuracy: 0.5,
            learning_rate: 3e-4,
            gradient_norm: 1.0,
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
            steps_per_epoch: 120,
            memory: 400_000_000,
            products: Products {
                matmul: Matmul::F32,
                instructions: "AVX2".into(),
            },
        }
    }

    #[test]
    fn updates_are_thinned_to_logged_ones_that_are_not_too_close() {
        for (between, expected) in [(Duration::MAX, 1), (Duration::ZERO, 3)] {
            let (out, mut progress) = lines(between);
            for step in 1..=30 {
                progress.on(&Event::Step {
                    report: &update(step),
                    logged: step % 10 == 0,
                });
            }
            assert_eq!(out.lines().len(), expected);
        }
    }

    #[test]
    fn a_line_says_how_it_goes() {
        let (out, mut progress) = lines(Duration::ZERO);
        progress.on(&Event::Start(&start()));
        progress.on(&Event::Step {
            report: &update(400),
            logged: true,
        });
        let expected =
            "update 400  loss 3.500  perplexity 7.39  2,000 tokens/s  00:20:00 left  rate 3.0e-4";
        assert_eq!(out.lines()[1], expected);
        assert!(
            out.lines()[0]
                .starts_with("1,234,567 parameters; vocabularies of 400 and 500; 40,000 examples")
        );
    }

    #[test]
    fn validations_show_scores_and_samples() {
        let (out, mut progress) = lines(Duration::MAX);
        let sample = Sample {
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
            best: true,
            seconds: 1.0,
        }));
        let lines = out.lines();
        let expected = "validation after update 500: loss 2.000  perplexity 3.00  accuracy 71.2 %  exact 25.0 %  (best so far)";
        assert_eq!(lines[0], expected);
        assert_eq!(lines[1..], ["✗ a cat", "  → ein Hund", "  = eine Katze"]);
    }

    #[test]
    fn fields_that_do_not_fit_are_left_out_as_a_whole() {
        let mut rate = Rate::default();
        rate.add(&update(400));
        let text = |columns| step_text(&update(400), &rate, 1000, columns);
        let whole = "loss 3.500  perplexity 7.39  2,000 tokens/s  00:20:00 left  rate 3.0e-4";
        assert_eq!(text(whole.len()), whole);
        let without_rate = "loss 3.500  perplexity 7.39  2,000 tokens/s  00:20:00 left";
        assert_eq!(text(whole.len() - 1), without_rate);
        assert_eq!(text(50), "loss 3.500  2,000 tokens/s  00:20:00 left");
        assert_eq!(text(30), "loss 3.500  00:20:00 left");
        assert_eq!(text(10), "loss 3.500");
        assert_eq!(text(9), "");
    }

    #[test]
    fn a_rate_without_updates_does_not_panic() {
        assert_eq!(Rate::default().time_for(10), Duration::MAX);
    }
}
