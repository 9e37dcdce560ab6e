//! Shows how far the work is: a bar on a terminal, elsewhere a line every ten seconds, and whenever a limit makes it wait.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use drover_dump::{Progress, ProgressSnapshot};
use drover_report::plain::one_line;
use drover_units::show::{bytes, count, duration, rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::printer::Printer;

const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Runs `work` and shows its progress meanwhile.
pub(crate) fn show<T>(printer: &Printer, work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !printer.shows_progress() {
        return work(&progress);
    }
    let (finished, wait) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let shown = &progress;
        scope.spawn(move || {
            if std::io::stderr().is_terminal() { bar(shown, &wait) } else { lines(printer, shown, &wait) }
        });
        let result = work(&progress);
        drop(finished);
        result
    })
}

fn is_over(wait: &mpsc::Receiver<()>, timeout: Duration) -> bool {
    !matches!(wait.recv_timeout(timeout), Err(RecvTimeoutError::Timeout))
}

fn bar(progress: &Progress, wait: &mpsc::Receiver<()>) {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let template = "{prefix} {wide_bar:.cyan/dim} {percent:>3} %  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    let mut eta = Eta::new();
    loop {
        let now = progress.snapshot();
        bar.set_length(now.total.max(1));
        bar.set_position(now.done);
        bar.set_prefix(one_line(&now.phase).into_owned());
        bar.set_message(describe(&now, &mut eta));
        if is_over(wait, BAR_EVERY) {
            return bar.finish_and_clear();
        }
    }
}

fn lines(printer: &Printer, progress: &Progress, wait: &mpsc::Receiver<()>) {
    let mut eta = Eta::new();
    let (mut shown_at, mut was_paused) = (Instant::now(), false);
    while !is_over(wait, BAR_EVERY) {
        let now = progress.snapshot();
        if shown_at.elapsed() < LINE_EVERY && now.is_paused == was_paused {
            continue;
        }
        (shown_at, was_paused) = (Instant::now(), now.is_paused);
        let percent = now.done * 100 / now.total.max(1);
        printer.status(&format!("{}: {percent} %, {}", now.phase, describe(&now, &mut eta)));
    }
}

fn describe(now: &ProgressSnapshot, eta: &mut Eta) -> String {
    let elapsed = eta.started.elapsed();
    let speed = rate(now.bytes, elapsed.as_secs_f64());
    let left =
        eta.left(now).map_or_else(|| "ETA unknown".to_owned(), |left| format!("ETA {}", duration(left)));
    // Where nobody looks into rows, they are not counted.
    let rows = if now.rows == 0 { String::new() } else { format!("{} rows, ", count(now.rows)) };
    format!("{rows}{}, {speed}, {left}", bytes(now.bytes))
}

/// Guesses the time that is left from the rate of the work since it began to be counted.
struct Eta {
    started: Instant,
    first: Option<(Instant, u64)>,
}

impl Eta {
    fn new() -> Self {
        Self { started: Instant::now(), first: None }
    }

    fn left(&mut self, now: &ProgressSnapshot) -> Option<Duration> {
        if now.total == 0 {
            return None;
        }
        let (since, before) = *self.first.get_or_insert((Instant::now(), now.done));
        let (elapsed, work) = (since.elapsed(), now.done - before);
        if elapsed < Duration::from_secs(1) || work == 0 {
            return None;
        }
        Some(elapsed.mul_f64((now.total - now.done) as f64 / work as f64))
    }
}
