//! Measures each way to allocate at each size.

use std::sync::Arc;

use drover_db::Stop;
use drover_db::options::ConnectOptions;

use super::allocators::Allocator;
use super::args::{MallocArgs, Way};
use super::child::{Found, Loaded, Task};
use super::curve::{Curve, NotMeasurable, Point};
use super::detail::MallocDetail;
use super::jump::Cause;
use super::memory::Limits;
use super::process::ask;
use super::sampler::{self, Sampler};
use super::server::{self, ServerMemory};
use super::sweep::{TABLE, size_name};
use crate::environment::Environment;
use crate::report::{Begun, Better, Measure, Report};
use crate::{Error, Progress, Result};

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
    use super::super::curve::tests::point;
    use super::super::server::Buffer;
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
