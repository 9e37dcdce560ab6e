//! How a disk bears random reads and writes, over how much data, and where it stops being fast enough.
//!
//! [`point::measure`] is one measurement; [`run`] makes many, over sizes, depths and paths, and looks at the curve: the largest size
//! that is still as fast as required ([`require`]), and the size from which on the throughput falls much faster ([`knee`]).

pub mod args;
mod buffers;
mod course;
mod cpu;
mod detail;
pub mod engine;
mod file;
mod fill;
pub mod knee;
pub mod load;
mod page;
mod place;
mod plan;
pub mod point;
pub mod require;
mod ring;
mod space;
pub mod sweep;
mod tally;
#[cfg(test)]
mod testing;
mod threads;

use std::path::{Path, PathBuf};

use drover_db::Stop;
use drover_units::show;

pub use course::Timing;
pub use detail::{Curve, DiskDetail, Estimate, FileFacts, Point, RunFigures};
pub use engine::Engine;
pub use file::{Alignment, DataFile};
pub use tally::{Latency, Tally};

use args::DiskArgs;
use plan::Plan;

use crate::report::{Begun, Report};
use crate::{Environment, Error, Progress, Result};

/// Measures the disks that some paths lie on.
///
/// # Errors
/// If a path is no directory on a disk, the space is not there, a request fails, or the work was stopped. What was written is
/// removed in any case.
pub fn run(args: &DiskArgs, stop: &Stop, progress: &Progress) -> Result<Report<DiskDetail>> {
    let begun = Begun::now("disk", args.measure.seed);
    let plan = Plan::of(args)?;
    let (engine, warning) = Engine::choose(args.engine)?;
    let mut warnings = Vec::from_iter(warning);
    if let Some(page) = &args.measure.html {
        can_be_written(page)?;
    }
    let directories = space::directories(&args.paths)?;
    let environment = Environment::of_machine().with_paths(directories.iter().map(PathBuf::as_path))?;
    warnings.extend(environment.storage.iter().filter_map(file::caution));
    let files = prepare(args, &directories, &mut warnings)?;
    let facts = fill(args, &files, stop, progress, &mut warnings)?;
    let all = plan.measure(&files, engine, stop, progress)?;
    progress.phase("removing what was written", None);
    files.into_iter().try_for_each(DataFile::remove)?;
    let detail = DiskDetail::new(args, engine, facts, plan.spots(), &all)?;
    warnings.extend(detail.warnings());
    let report = begun.report(environment, detail.measures(args), warnings, detail);
    if let Some(path) = &args.measure.html {
        crate::page::write(&page::page(&report), path)?;
    }
    Ok(report)
}

/// Measuring takes long: that its page has no place is better known before.
fn can_be_written(page: &Path) -> Result<()> {
    let directory = page.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match directory.is_dir() {
        true => Ok(()),
        false => Err(Error::found(format!(
            "--html {}: {} is not a directory",
            page.display(),
            directory.display()
        ))),
    }
}

/// Makes the files, once what earlier measurements left is gone and there is room for all of them.
fn prepare(args: &DiskArgs, directories: &[PathBuf], warnings: &mut Vec<String>) -> Result<Vec<DataFile>> {
    for directory in directories {
        warnings.extend(place::remove_leftovers(directory)?);
    }
    let bytes = args.sweep.largest();
    let files: Vec<_> =
        directories.iter().map(|directory| DataFile::create(directory, bytes)).collect::<Result<_>>()?;
    let needs: Vec<_> =
        directories.iter().map(PathBuf::as_path).zip(files.iter().map(DataFile::bytes)).collect();
    space::check(&needs)?;
    files.iter().try_for_each(|file| file.check_block(args.block))?;
    Ok(files)
}

/// Fills the files.
fn fill(
    args: &DiskArgs,
    files: &[DataFile],
    stop: &Stop,
    progress: &Progress,
    warnings: &mut Vec<String>,
) -> Result<Vec<FileFacts>> {
    let mut facts = Vec::new();
    for (path, file) in args.paths.iter().zip(files) {
        progress.phase(format!("filling {}", path.display()), None);
        let took = file.fill(args.measure.seed, stop, progress)?;
        let lacks = file.share_not_stored()?;
        if lacks > 0.05 {
            warnings.push(format!(
                "{}: of {} that were written the file system stores {:.0} % less: it compresses or shares them, and what is \
                 measured is that",
                path.display(),
                show::bytes(file.bytes()),
                lacks * 100.0
            ));
        }
        let (bytes, alignment) = (file.bytes(), file.alignment());
        facts.push(FileFacts { path: path.clone(), bytes, fill_seconds: took.as_secs_f64(), alignment });
    }
    Ok(facts)
}
