//! Measures all points of all curves, each in a process of its own, in an order that is drawn anew for each repeat.

use std::path::Path;
use std::time::{Duration, Instant};

use drover_db::Stop;

use super::allocators::{self, Allocator};
use super::args::{MallocArgs, Way};
use super::child::{Answer, Order, Task};
use super::curve::{self, Curve};
use super::memory::Limits;
use super::process::{Answered, ask};
use super::sweep::{cost_name, size_name};
use crate::statistics::median;
use crate::{Progress, Result};

/// What makes a curve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) allocator: Allocator,
    pub(super) way: Way,
    pub(super) touched: bool,
}

impl Subject {
    fn name(&self) -> String {
        curve::name(&self.allocator.name, self.way, self.touched)
    }

    /// The library to load first, if it is not the one that is loaded anyway.
    fn preload(&self) -> Option<&Path> {
        self.allocator.library.as_deref().filter(|_| self.way == Way::Preload)
    }
}

/// The curves to be measured, and what a reader should know of those that are not.
pub(super) fn subjects(
    ways: &[Way],
    loaded: &Allocator,
    others: &[Allocator],
) -> (Vec<Subject>, Vec<String>) {
    let (mut subjects, mut warnings) = (Vec::new(), Vec::new());
    let mut add = |allocator: &Allocator, way| {
        let subject = |touched| Subject { allocator: allocator.clone(), way, touched };
        subjects.extend([false, true].map(subject));
    };
    for &way in Way::ALL.iter().filter(|way| ways.contains(way)) {
        match way {
            Way::Preload => others.iter().for_each(|other| add(other, way)),
            way if way.is_glibcs() && !loaded.is_glibc() => warnings.push(format!(
                "'{way}' was left out: it is a setting of glibc's, and {} is loaded in its place",
                loaded.name
            )),
            way => add(loaded, way),
        }
    }
    (subjects, warnings)
}

/// Measures.
pub(super) struct Sampler<'a> {
    pub(super) args: &'a MallocArgs,
    pub(super) subjects: &'a [Subject],
    pub(super) sizes: &'a [u64],
    pub(super) limits: Limits,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
}

/// What was answered, by repeat.
type Answers = Vec<Answered<Answer>>;

/// For so long it is measured in vain at first, so that processors have come to their speed.
const WARM_UP: Duration = Duration::from_millis(500);

impl Sampler<'_> {
    /// The curves, in the order of the subjects.
    pub(super) fn curves(&self) -> Result<Vec<Curve>> {
        let mut random = fastrand::Rng::with_seed(self.args.measure.seed);
        let mut points: Vec<(usize, usize)> = (0..self.subjects.len())
            .flat_map(|subject| (0..self.sizes.len()).map(move |size| (subject, size)))
            .collect();
        random.shuffle(&mut points);
        self.warm_up(&points)?;
        let mut answers: Vec<Vec<Answers>> = vec![vec![Vec::new(); self.sizes.len()]; self.subjects.len()];
        let repeats = self.args.measure.repeat;
        let mut planned = self.planned();
        for repeat in 1..=repeats {
            random.shuffle(&mut points);
            let begun = Instant::now();
            self.progress.phase(format!("repeat {repeat} of {repeats}"), planned);
            for &(subject, size) in &points {
                let answer = self.point(&self.subjects[subject], self.sizes[size])?;
                answers[subject][size].push(answer);
            }
            planned = Some(begun.elapsed()); // the next one does the same
        }
        Ok(self
            .subjects
            .iter()
            .zip(&answers)
            .map(|(subject, answers)| self.curve(subject, answers))
            .collect())
    }

    fn curve(&self, subject: &Subject, answers: &[Answers]) -> Curve {
        Curve::of((&subject.allocator.name, subject.way, subject.touched), self.sizes, answers)
    }

    fn warm_up(&self, points: &[(usize, usize)]) -> Result<()> {
        let time = self.args.measure.warm_up.unwrap_or(WARM_UP);
        self.progress.phase("warming up", time);
        let begun = Instant::now();
        for &(subject, size) in points.iter().cycle() {
            if begun.elapsed() >= time {
                break;
            }
            let _in_vain = self.point(&self.subjects[subject], self.sizes[size])?;
        }
        Ok(())
    }

    fn point(&self, subject: &Subject, bytes: u64) -> Result<Answered<Answer>> {
        if let Some(why) = self.limits.objection(bytes, subject.touched) {
            return Ok(Err(why));
        }
        let order = Order {
            way: subject.way,
            bytes,
            touched: subject.touched,
            count: self.args.count,
            most: self.limits.most(bytes, subject.touched),
        };
        let answered: Answered<Answer> = ask(&Task::Measure(order), subject.preload(), self.stop)?;
        if let Ok(answer) = &answered {
            let cost = cost_name(median(&answer.ns));
            self.progress.figure(format!("{}, {}: {cost}", subject.name(), size_name(bytes)));
        }
        Ok(answered.and_then(|answer| is_of(subject, answer)))
    }

    /// How long a repeat takes, roughly: a process and its batches for each point, and for what is touched half a microsecond for each
    /// page of four blocks; not known if a number was asked for.
    fn planned(&self) -> Option<Duration> {
        let of_point = |touched: bool, bytes: u64| {
            let pages = if touched { 4 * bytes / 4096 } else { 0 };
            Duration::from_micros(16_000 + pages / 2)
        };
        let of_subject = |subject: &Subject| -> Duration {
            let feasible = |bytes: &&u64| self.limits.objection(**bytes, subject.touched).is_none();
            self.sizes.iter().filter(feasible).map(|bytes| of_point(subject.touched, *bytes)).sum()
        };
        self.args.count.is_none().then(|| self.subjects.iter().map(of_subject).sum())
    }
}

/// The answer, if the process had the allocator that it was to have: the loader goes on without a library that it cannot load.
fn is_of(subject: &Subject, answer: Answer) -> Answered<Answer> {
    let had = Allocator::of(answer.library.as_deref());
    if had.name == subject.allocator.name {
        Ok(answer)
    } else {
        Err(format!("{} was not loaded: malloc is that of {}", subject.allocator.name, had.name))
    }
}

/// Those that are installed and are not loaded anyway, and the names of those that are not installed.
pub(super) fn others(ways: &[Way], loaded: &Allocator) -> (Vec<Allocator>, Vec<&'static str>) {
    if !ways.contains(&Way::Preload) {
        return (Vec::new(), Vec::new());
    }
    let (mut others, missing) = allocators::installed();
    others.retain(|other| other.name != loaded.name);
    (others, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocator(name: &str) -> Allocator {
        Allocator { name: name.to_owned(), library: None }
    }

    #[test]
    fn each_way_is_a_curve_touched_and_not() {
        let (subjects, warnings) = subjects(&Way::ALL, &allocator("glibc"), &[allocator("jemalloc")]);
        let names: Vec<_> = subjects.iter().map(Subject::name).collect();
        assert_eq!(names[..3], ["glibc cold", "glibc cold, touched", "glibc dynamic"]);
        assert_eq!(names[8..], ["jemalloc", "jemalloc, touched"]);
        assert!(warnings.is_empty());
    }

    #[test]
    fn settings_of_glibc_are_glibcs() {
        let (subjects, warnings) = subjects(&[Way::Fixed, Way::Cold, Way::Cold], &allocator("jemalloc"), &[]);
        assert_eq!(subjects.len(), 2);
        assert!(warnings[0].contains("'fixed' was left out"), "{warnings:?}");
    }

    #[test]
    fn what_another_allocator_answers_is_no_answer() {
        let subject = Subject { allocator: allocator("jemalloc"), way: Way::Preload, touched: false };
        let answer = |library: &str| Answer {
            library: Some(library.to_owned()),
            ns: vec![1.0],
            allocations: 1,
            faults: 0.0,
            mappings: None,
            given_back: None,
        };
        assert!(is_of(&subject, answer("/usr/lib/libjemalloc.so.2")).is_ok());
        let why = is_of(&subject, answer("/usr/lib/libc.so.6")).unwrap_err();
        assert!(why.contains("malloc is that of glibc"), "{why}");
    }
}
