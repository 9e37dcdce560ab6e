//! What a measurement looks like on a terminal, while it runs and behind it.

use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use drover_bench::{Measure, Progress, ProgressSnapshot};
use drover_units::show::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::printer::Printer;

/// Runs `work` and shows meanwhile what it measures: a line that is written anew on a terminal, elsewhere one every ten seconds.
pub(super) fn watched<T>(printer: &Printer, work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !printer.shows_progress() {
        return work(&progress);
    }
    let (finished, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let shown = &progress;
        scope.spawn(move || {
            let goes_on = |every| matches!(wait.recv_timeout(every), Err(RecvTimeoutError::Timeout));
            if std::io::stderr().is_terminal() { bar(shown, goes_on) } else { lines(printer, shown, goes_on) }
        });
        let result = work(&progress);
        drop(finished);
        result
    })
}

fn bar(progress: &Progress, goes_on: impl Fn(Duration) -> bool) {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar:.cyan/dim} {msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    while goes_on(Duration::from_millis(100)) {
        let Some(now) = progress.snapshot() else { continue };
        let planned = now.planned.unwrap_or_default();
        bar.set_length(planned.as_millis().max(1) as u64);
        bar.set_position(now.elapsed.min(planned).as_millis() as u64);
        bar.set_prefix(now.phase);
        let left = planned.checked_sub(now.elapsed).filter(|left| !left.is_zero());
        let left = left.map_or_else(String::new, |left| format!("ETA {}", duration(left)));
        bar.set_message(
            [now.figure, left].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", "),
        );
    }
    bar.finish_and_clear();
}

fn lines(printer: &Printer, progress: &Progress, goes_on: impl Fn(Duration) -> bool) {
    while goes_on(Duration::from_secs(10)) {
        let Some(now) = progress.snapshot() else { continue };
        printer.status(&line(&now));
    }
}

fn line(now: &ProgressSnapshot) -> String {
    // What takes longer than planned has no end that could be told.
    let planned = now.planned.filter(|planned| now.elapsed <= *planned);
    let planned = planned.map_or_else(String::new, |planned| format!(" of {}", duration(planned)));
    let figure = if now.figure.is_empty() { String::new() } else { format!(", {}", now.figure) };
    format!("{}: {}{planned}{figure}", now.phase, duration(now.elapsed))
}

/// A table of what was measured: name, median, and how sure it is.
pub(super) fn measures(measures: &[Measure]) -> String {
    let rows = measures.iter().map(|measure| {
        let interval = measure.interval.map_or_else(String::new, |interval| {
            let half = (interval.high - interval.low) / 2.0;
            format!("± {}", drover_bench::figure(half))
        });
        [measure.name.clone(), format!("{} {}", drover_bench::figure(measure.median), measure.unit), interval]
    });
    columns(&rows.collect::<Vec<_>>())
}

/// Lines of columns, as many in each line: the first one to the left, the others to the right.
pub(super) fn columns<R: AsRef<[String]>>(rows: &[R]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        let row = row.as_ref();
        widths.resize(widths.len().max(row.len()), 0);
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    let line = |row: &R| {
        let cells =
            row.as_ref().iter().zip(&widths).enumerate().map(|(number, (cell, &width))| match number {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_longer_than_planned_has_no_end() {
        let at = |elapsed, planned: Option<u64>| {
            line(&ProgressSnapshot {
                phase: "cold".to_owned(),
                elapsed: Duration::from_millis(elapsed),
                planned: planned.map(Duration::from_millis),
                figure: "86.5 µs".to_owned(),
            })
        };
        assert_eq!(at(10_000, Some(12_800)), "cold: 10.0 s of 12.8 s, 86.5 µs");
        assert_eq!(at(31_600, Some(12_800)), "cold: 31.6 s, 86.5 µs");
        assert_eq!(at(31_600, None), "cold: 31.6 s, 86.5 µs");
    }

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        assert_eq!(columns(&[row("a", "10 ms"), row("longer", "9 ms")]), "a       10 ms\nlonger   9 ms");
    }
}
