//! `bench malloc`: what an allocation costs by its size, and where that jumps.
//!
//! From some size on an allocator takes no block out of its heap, but asks the kernel for a mapping of its own: two system calls, and
//! a page fault for each page that is written to, each time anew. Since glibc moves that threshold when such a block is freed, a loop
//! hides it after its first turn; so each point of each curve is measured in a fresh process, and each way to allocate is a curve.

mod allocators;
pub mod args;
mod child;
mod curve;
#[allow(
    unsafe_code,
    reason = "malloc and what tells of it are functions of C; each use says why it is sound"
)]
mod heap;
mod jump;
mod memory;
mod page;
mod process;
mod sampler;
mod server;
mod sweep;

use std::path::Path;
use std::sync::Arc;

use drover_db::Stop;
use drover_db::options::ConnectOptions;
use serde::Serialize;

use crate::environment::Environment;
use crate::report::{Begun, Better, Measure, Report};
use crate::{Error, Progress, Result};

pub use allocators::Allocator;
use args::{MallocArgs, Way};
pub use child::{CHILD, child};
use child::{Found, Loaded, Task};
pub use curve::{Curve, NotMeasurable, Point};
pub use jump::{Cause, Jump};
use memory::Limits;
use process::ask;
use sampler::Sampler;
pub use server::{Buffer, BufferCost, ServerMemory, ServerProcess};
pub use sweep::{TABLE, cost_name, size_name};

/// The two figures that were given in 2007: bytes of an allocation, and milliseconds of 10,000 of them.
pub const OF_2007: [(u64, f64); 2] = [(128 << 10, 2.6), (1 << 20, 98.0)];

/// What `bench malloc` measured.
#[derive(Debug, Clone, Serialize)]
pub struct MallocDetail {
    /// Whose malloc it was.
    pub allocator: Allocator,
    /// Of the environment, what allocators are set by: it acted on the ways `cold`, `dynamic` and `preload`.
    pub tunables: Vec<(String, String)>,
    /// The sizes that were allocated, in bytes.
    pub sizes: Vec<u64>,
    /// What they cost.
    pub curves: Vec<Curve>,
    /// The smallest allocation that is a mapping of its own in a process that freed none, in bytes and to the byte; none if there is
    /// no such size among these, or the allocator is not glibc's.
    pub mmap_threshold: Option<u64>,
    /// Allocators that were not found.
    pub not_installed: Vec<&'static str>,
    /// The buffers of a server.
    pub server: Option<ServerMemory>,
}

/// Measures.
///
/// # Errors
/// If the server cannot be asked, no process can be started, or a stop was asked for.
pub fn run(
    args: &MallocArgs,
    server: Option<&ConnectOptions>,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Report<MallocDetail>> {
    let begun = Begun::now("malloc", args.measure.seed);
    let (environment, mut server) = asked(server, stop)?;
    let loaded = loaded(stop)?;
    let (others, not_installed) = sampler::others(&args.ways, &loaded);
    let (subjects, mut warnings) = sampler::subjects(&args.ways, &loaded, &others);
    if subjects.is_empty() {
        let what = format!("there is nothing to measure: not installed: {}", not_installed.join(", "));
        return Err(Error::with_hint(what, "install an allocator, or take another way: see --ways"));
    }
    let sizes = args.sizes.steps(&buffer_sizes(server.as_ref()));
    let limits = Limits::now();
    let sampler = Sampler { args, subjects: &subjects, sizes: &sizes, limits, stop, progress };
    let curves = sampler.curves()?;
    let mmap_threshold = threshold(&curves, stop)?;
    let tunables = server::own_tunables();
    if let Some(server) = &mut server {
        server.place(&curves, &loaded.name);
        warnings.extend(server.warnings(&loaded, &tunables));
    }
    warnings.extend(not_measurable(&curves));
    let measures = measures(&curves);
    let detail =
        MallocDetail { allocator: loaded, tunables, sizes, curves, mmap_threshold, not_installed, server };
    Ok(begun.report(environment, measures, warnings, detail))
}

/// Writes the result as a page.
///
/// # Errors
/// If the file cannot be written.
pub fn write_page(report: &Report<MallocDetail>, path: &Path) -> Result<()> {
    crate::page::write(&page::page(report), path)
}

impl MallocDetail {
    /// What the jump is that a reader came for, in a sentence: that of blocks which nobody freed before.
    pub fn finding(&self) -> String {
        let Some(bytes) = self.mmap_threshold else {
            let cold = self.curves.iter().find(|curve| curve.way == Way::Cold);
            let jump = cold.and_then(|curve| curve.jumps.first());
            return jump.map_or_else(
                || "no jump among these sizes of what blocks cost that nobody freed before".to_owned(),
                Jump::what,
            );
        };
        let size = drover_units::show::count(bytes);
        format!("mmap threshold: from {size} bytes on each allocation is a mapping of its own")
    }
}

/// On what is measured, and what the server tells.
fn asked(options: Option<&ConnectOptions>, stop: &Arc<Stop>) -> Result<(Environment, Option<ServerMemory>)> {
    let environment = Environment::of_machine();
    let Some(options) = options else { return Ok((environment, None)) };
    let asked = || -> Result<_> {
        let (mut connection, _watched) = stop.connect(options).map_err(Error::server("connecting"))?;
        let server = ServerMemory::of(&mut connection, &options.address)?;
        let environment = environment.with_server(&mut connection, server.is_local)?;
        Ok((environment, Some(server)))
    };
    asked().map_err(|error| if stop.is_requested() { Error::Stopped } else { error })
}

/// The allocator that processes have without further ado.
fn loaded(stop: &Stop) -> Result<Allocator> {
    let answered = ask::<Loaded>(&Task::Library, None, stop)?;
    let loaded = answered.map_err(|why| Error::found(format!("nothing can be measured: {why}")))?;
    Ok(Allocator::of(loaded.library.as_deref()))
}

/// The sizes of a server's buffers, but not those that nobody would wait for.
fn buffer_sizes(server: Option<&ServerMemory>) -> Vec<u64> {
    let largest = TABLE[TABLE.len() - 1];
    let buffers = server.iter().flat_map(|server| &server.buffers);
    buffers.map(|buffer| buffer.bytes).filter(|bytes| *bytes <= largest).collect()
}

/// Where blocks begin to be mappings in a process that freed none, to the byte.
fn threshold(curves: &[Curve], stop: &Stop) -> Result<Option<u64>> {
    let cold = curves.iter().find(|curve| curve.way == Way::Cold && !curve.touched);
    let mut jumps = cold.iter().flat_map(|curve| &curve.jumps);
    let Some(jump) = jumps.find(|jump| jump.cause == Cause::MmapThreshold) else {
        return Ok(None);
    };
    let task = Task::FindThreshold { low: jump.below_bytes, high: jump.from_bytes };
    Ok(ask::<Found>(&task, None, stop)?.ok().and_then(|found| found.bytes))
}

/// The table's sizes on each curve.
fn measures(curves: &[Curve]) -> Vec<Measure> {
    let of_curve = |curve: &Curve| {
        let points = TABLE.iter().filter_map(|bytes| curve.at(*bytes));
        let measure = |point: &Point| {
            let name = format!("{}: {}", curve.name(), size_name(point.bytes));
            Measure::new(name, "ns", Better::Lower, point.ns.clone())
        };
        points.map(measure).collect::<Vec<_>>()
    };
    curves.iter().flat_map(of_curve).collect()
}

/// Sizes that could not be measured, all for one reason.
#[derive(Debug, PartialEq)]
struct Gap<'a> {
    why: &'a str,
    sizes: Vec<u64>,
}

/// A line for each gap, with the curves that have it.
fn not_measurable(curves: &[Curve]) -> Vec<String> {
    let mut all: Vec<(Gap<'_>, Vec<String>)> = Vec::new();
    for curve in curves {
        for gap in gaps(curve) {
            match all.iter_mut().find(|(known, _)| *known == gap) {
                Some((_, names)) => names.push(curve.name()),
                None => all.push((gap, vec![curve.name()])),
            }
        }
    }
    let line = |(gap, names): (Gap<'_>, Vec<String>)| {
        let names = if names.len() == curves.len() { "in all ways".to_owned() } else { names.join("; ") };
        let sizes = match gap.sizes.as_slice() {
            [first, .., last] if gap.sizes.len() > 4 => {
                format!("{} sizes from {} to {}", gap.sizes.len(), size_name(*first), size_name(*last))
            }
            few => few.iter().map(|size| size_name(*size)).collect::<Vec<_>>().join(", "),
        };
        format!("not measurable: {sizes} ({names}): {}", gap.why)
    };
    all.into_iter().map(line).collect()
}

/// What could not be measured of a curve, each reason once.
fn gaps(curve: &Curve) -> Vec<Gap<'_>> {
    let mut gaps: Vec<Gap<'_>> = Vec::new();
    for NotMeasurable { bytes, why } in &curve.not_measurable {
        match gaps.iter_mut().find(|gap| gap.why == why) {
            Some(gap) => gap.sizes.push(*bytes),
            None => gaps.push(Gap { why, sizes: vec![*bytes] }),
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::curve::tests::point;
    use super::*;

    fn curve(way: Way, not_measurable: &[(u64, &str)]) -> Curve {
        let none = |(bytes, why): &(u64, &str)| NotMeasurable { bytes: *bytes, why: (*why).to_owned() };
        Curve {
            allocator: "glibc".into(),
            way,
            touched: false,
            points: vec![point(1000, &[1.0], 0.0), point(128 << 10, &[2.0, 3.0], 0.0)],
            jumps: Vec::new(),
            not_measurable: not_measurable.iter().map(none).collect(),
        }
    }

    #[test]
    fn what_is_compared_are_the_sizes_of_the_table() {
        let measures = measures(&[curve(Way::Cold, &[]), curve(Way::NoMmap, &[])]);
        let names: Vec<_> = measures.iter().map(|measure| measure.name.as_str()).collect();
        assert_eq!(names, ["glibc cold: 128 KiB", "glibc no-mmap: 128 KiB"]);
        assert_eq!(measures[0].values, [2.0, 3.0]);
    }

    #[test]
    fn what_is_not_measurable_is_told_once() {
        let (null, large) = ("malloc returned null", "it is too large");
        let curves = [
            curve(Way::Cold, &[(1 << 20, null), (2 << 20, large), (4 << 20, large)]),
            curve(Way::Fixed, &[(1 << 20, null)]),
        ];
        assert_eq!(
            not_measurable(&curves),
            [
                "not measurable: 1 MiB (in all ways): malloc returned null",
                "not measurable: 2 MiB, 4 MiB (glibc cold): it is too large"
            ]
        );
    }

    #[test]
    fn buffers_are_sizes_of_the_sweep_unless_they_are_limits_of_everything() {
        let buffer = |bytes| Buffer { name: String::new(), bytes, is_limit: true, costs: Vec::new() };
        let server = ServerMemory {
            server: String::new(),
            is_local: None,
            process: None,
            unknown_because: None,
            curves_of: String::new(),
            buffers: [16_384, 1 << 40].map(buffer).into(),
        };
        assert_eq!(buffer_sizes(Some(&server)), [16_384]);
        assert!(buffer_sizes(None).is_empty());
    }
}
