//! Training progress on standard error: a bar on a terminal, occasional lines otherwise.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use attentive_base::count::plural;
use attentive_data as data;
use attentive_train::report::{Event, Observer, Preparing, StartReport, StepReport, ValidationReport};
use indicatif::{FormattedDuration, HumanCount, ProgressBar, ProgressFinish, ProgressStyle};

use super::message::{self, Label};
use super::samples;

/// Minimum time between lines about updates.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Displays the progress of training.
pub(super) struct ProgressDisplay {
    view: Box<dyn View>,
    max_steps: u64,
    rate: Rate,
}

/// Describes updates in at most the given number of columns.
type Text<'a> = dyn Fn(&StepReport, usize) -> String + 'a;

/// A display for progress.
trait View {
    /// Called while the run is being prepared.
    fn prepare(&mut self, text: &dyn Fn() -> String);
    /// Called when training starts after `step` of at most `max_steps` updates.
    fn start(&mut self, step: u64, max_steps: u64);
    /// Called after an update. `logged` is the report that ends with this update, if there is one. `text`
    /// describes a report in at most the given number of columns.
    fn step(&mut self, report: &StepReport, logged: Option<&StepReport>, text: &Text<'_>);
    /// Prints a permanent line.
    fn line(&mut self, line: &str);
}

impl ProgressDisplay {
    /// Chooses the display for standard error: a bar on a terminal, otherwise plain lines.
    pub(super) fn new() -> Self {
        if io::stderr().is_terminal() {
            Self::in_view(Bar::default())
        } else {
            Self::in_view(Lines::new(message::stderr(), BETWEEN_LINES))
        }
    }

    fn in_view(view: impl View + 'static) -> Self {
        Self { view: Box::new(view), max_steps: 0, rate: Rate::default() }
    }
}

impl Observer for ProgressDisplay {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Note(text) => self.view.line(&Label::Note.line(text)),
            Event::Preparing(stage) => self.view.prepare(&|| preparing_text(stage)),
            Event::Warning(text) => self.view.line(&Label::Warning.line(text)),
            Event::Start(report) => {
                self.max_steps = report.max_steps;
                self.view.line(&start_line(report));
                self.view.start(report.step, report.max_steps);
            }
            Event::Step { report, logged } => {
                self.rate.add(report);
                let text =
                    |report: &StepReport, columns| step_text(report, &self.rate, self.max_steps, columns);
                self.view.step(report, *logged, &text);
            }
            Event::Validation(report) => {
                self.view.line(&validation_line(report));
                for sample in &report.samples {
                    samples::lines(sample).iter().for_each(|line| self.view.line(line));
                }
            }
            // Saving is routine; the final message names the directory.
            Event::Saved { .. } => {}
            Event::Averaged { steps, validation } => self.view.line(&mean_line(steps, *validation)),
        }
    }
}

/// A progress bar below the permanent lines.
struct Bar {
    bar: ProgressBar,
    /// True while preparation is shown.
    is_preparing: bool,
}

impl Default for Bar {
    fn default() -> Self {
        Self { bar: ProgressBar::hidden(), is_preparing: false }
    }
}

impl View for Bar {
    fn prepare(&mut self, text: &dyn Fn() -> String) {
        if !self.is_preparing {
            let style = ProgressStyle::with_template("{wide_msg}");
            let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
            self.bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            self.is_preparing = true;
        }
        self.bar.set_message(text());
    }

    fn start(&mut self, step: u64, max_steps: u64) {
        // The message is already fitted to the width.
        let style = ProgressStyle::with_template("{bar:10} {human_pos}/{human_len} {wide_msg}");
        let bar = ProgressBar::new(max_steps).with_finish(ProgressFinish::AndClear);
        self.bar.finish_and_clear();
        self.is_preparing = false;
        self.bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_position(step);
    }

    fn step(&mut self, report: &StepReport, _logged: Option<&StepReport>, text: &Text<'_>) {
        self.bar.set_position(report.step);
        let count =
            format!("{}/{}", HumanCount(report.step), HumanCount(self.bar.length().unwrap_or_default()));
        let before = BAR_COLUMNS + 1 + count.len() + 1;
        self.bar.set_message(text(report, terminal_columns().saturating_sub(before)));
    }

    fn line(&mut self, line: &str) {
        self.bar.suspend(|| message::say(line));
    }
}

/// Width of the bar itself; matches its template.
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
    /// The time at which the last progress line was written, or at which the display was created.
    last: Instant,
    /// True once an update has been shown; the first is shown immediately.
    has_stepped: bool,
}

impl<W> Lines<W> {
    fn new(out: W, between: Duration) -> Self {
        Self { out, between, last: Instant::now(), has_stepped: false }
    }
}

impl<W: Write> View for Lines<W> {
    fn prepare(&mut self, text: &dyn Fn() -> String) {
        if self.last.elapsed() >= self.between {
            self.last = Instant::now();
            self.line(&text());
        }
    }

    fn start(&mut self, _step: u64, _max_steps: u64) {}

    fn step(&mut self, _report: &StepReport, logged: Option<&StepReport>, text: &Text<'_>) {
        let is_due = !self.has_stepped || self.last.elapsed() >= self.between;
        if let Some(mean) = logged.filter(|_| is_due) {
            self.last = Instant::now();
            self.has_stepped = true;
            let text = text(mean, usize::MAX);
            self.line(&format!("update {}  {text}", HumanCount(mean.step)));
        }
    }

    fn line(&mut self, line: &str) {
        // A failing log must not stop the training.
        let _ = writeln!(self.out, "{line}");
    }
}

/// Training speed: sums with exponentially decaying weights.
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
        self.seconds = KEPT * self.seconds + report.seconds();
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

fn preparing_text(stage: &Preparing<'_>) -> String {
    let count = |n: usize| HumanCount(n as u64);
    match *stage {
        Preparing::Vocabulary => "learning the vocabulary".into(),
        Preparing::Corpus { what, progress } => match progress {
            data::Progress::Read { lines } => format!("{what}: {} lines read", count(lines)),
            data::Progress::Encoded { done, of } => {
                format!("{what}: {} of {} lines encoded", count(done), count(of))
            }
        },
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
        labels,
        steps_per_epoch,
        memory,
        gpu_memory,
        disk,
        products,
        processes,
    } = report;
    let count = |n: usize| HumanCount(n as u64).to_string();
    let (processes, each) = match processes {
        1 => (String::new(), ""),
        n => (format!("; {n} processes"), " for each"),
    };
    let gpu = match gpu_memory {
        0 => String::new(),
        bytes => format!(" and {:.0} MB of the GPU's memory", *bytes as f64 / 1e6),
    };
    let disk = match disk {
        0 => String::new(),
        bytes => format!(", {:.0} MB on disk", (*bytes as f64 / 1e6).ceil()),
    };
    let course = match step {
        0 => format!("up to {} {}", HumanCount(*max_steps), plural(*max_steps, "update")),
        _ => format!("resuming after update {} of {}", HumanCount(*step), HumanCount(*max_steps)),
    };
    let vocabularies = match labels {
        None => format!("vocabularies of {} and {}", count(*src_vocab), count(*tgt_vocab)),
        Some(n) => {
            let labels = format!("{} {}", count(*n), plural(*n as u64, "label"));
            match src_vocab {
                0 => labels,
                n => format!("vocabulary of {}, {labels}", count(*n)),
            }
        }
    };
    format!(
        "{} parameters; {vocabularies}; {} {}, {} {} per epoch; {course}; \
         {products}{processes}; at most about {:.0} MB of RAM{gpu}{each}{disk}",
        count(*n_parameters),
        count(*n_examples),
        plural(*n_examples as u64, "example"),
        HumanCount(*steps_per_epoch),
        plural(*steps_per_epoch, "update"),
        *memory as f64 / 1e6
    )
}

/// A summary of the update in at most `columns` columns: fields that do not fit are left out as a whole, the
/// least important first.
fn step_text(report: &StepReport, rate: &Rate, max_steps: u64, columns: usize) -> String {
    const GAP: &str = "  ";
    let left = rate.time_for(max_steps.saturating_sub(report.step));
    let speed = HumanCount(rate.tokens_per_second() as u64);
    // Each field with its rank, 0 being the most important.
    let fields = [
        (0, format!("loss {:.3}", report.loss)),
        (3, format!("perplexity {:.2}", report.perplexity)),
        (2, format!("{speed} tokens/s")),
        (1, format!("{} left", FormattedDuration(left))),
        (4, format!("learning rate {:.1e}", report.learning_rate)),
        (5, format!("gradient norm {:.3}", report.gradient_norm)),
    ];
    let text = |shown: usize| {
        let fields = fields.iter().filter(|(rank, _)| *rank < shown);
        let fields: Vec<&str> = fields.map(|(_, field)| field.as_str()).collect();
        fields.join(GAP)
    };
    let fitting = (1..=fields.len()).rev().map(text).find(|text| text.len() <= columns);
    fitting.unwrap_or_default()
}

fn validation_line(report: &ValidationReport) -> String {
    let mut line = format!("validation after update {}: {}", HumanCount(report.step), measures(report));
    let others = report.best_by.iter().map(|by| format!("best {} so far", by.name()));
    let best: Vec<String> = report.best.then(|| "best so far".to_owned()).into_iter().chain(others).collect();
    if !best.is_empty() {
        line += &format!("  ({})", best.join(", "));
    }
    line
}

fn mean_line(steps: &[u64], validation: Option<&ValidationReport>) -> String {
    let list: Vec<String> = steps.iter().map(|&step| HumanCount(step).to_string()).collect();
    let mut line = format!(
        "average of the {} after {} {}",
        plural(steps.len() as u64, "checkpoint"),
        plural(steps.len() as u64, "update"),
        list.join(", ")
    );
    if let Some(report) = validation {
        line += &format!(": {}", measures(report));
    }
    line
}

/// The measurements of a validation.
fn measures(report: &ValidationReport) -> String {
    let mut line = format!(
        "loss {:.3}  perplexity {:.2}  accuracy {:.1} %",
        report.loss,
        report.perplexity,
        100.0 * report.accuracy
    );
    if let Some(bleu) = &report.bleu {
        line += &format!("  BLEU {:.2}", bleu.value);
    }
    if let Some(chrf) = &report.chrf {
        line += &format!("  chrF {:.2}", chrf.value);
    }
    if let Some(script) = report.script {
        line += &format!("  script {script:.4}");
    }
    if let Some(exact) = report.exact_match {
        line += &format!("  exact {:.1} %", 100.0 * exact);
    }
    line
}

#[cfg(test)]
mod tests;
