//! The command line of `tpcc --compare`.

use std::path::PathBuf;

use drover_units::read;

use crate::measuring::MeasureArgs;
use crate::private::PrivateArgs;

/// Options of `tpcc --compare`.
#[derive(Debug, clap::Args)]
pub struct VersusArgs {
    /// What to compare on a private server: scheduler=none,mq-deadline or fs=ext4,xfs or path=/a,/b
    #[arg(long, value_name = "WHAT=A,B,…", value_parser = Subject::parse)]
    pub compare: Option<Subject>,

    /// Where the private server's data is to lie, or the loop devices' files
    #[arg(long, value_name = "DIRECTORY", requires = "compare")]
    pub data: Option<PathBuf>,

    /// Have the data on a loop device of this size, whose file lies in --data
    #[arg(long = "loop", value_name = "SIZE", value_parser = read::bytes, requires = "data")]
    pub loop_bytes: Option<u64>,

    /// Do switch schedulers of a device that others use, too; without it, it is only told which would be switched
    #[arg(long, requires = "compare")]
    pub yes: bool,

    /// How many warehouses to load; each takes 100 MB or so
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32_767))]
    pub warehouses: u32,

    /// Connections, each of which is a terminal with a home warehouse
    #[arg(short, long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: u32,

    /// For how many seconds to measure, each time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,

    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,

    /// The private server.
    #[command(flatten)]
    pub server: PrivateArgs,
}

/// The one thing that is changed, and what to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The I/O scheduler of the device that the data lies on.
    Scheduler(Vec<String>),
    /// The file system, on loop devices.
    FileSystem(Vec<String>),
    /// The directory.
    Path(Vec<PathBuf>),
}

impl Subject {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write scheduler=none,mq-deadline or fs=ext4,xfs or path=/a,/b".to_owned();
        let (what, values) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<_> = values.split(',').map(str::to_owned).collect();
        if values.len() < 2 || values.iter().any(String::is_empty) {
            return Err("name at least two, with commas between".to_owned());
        }
        if let Some(twice) = (1..values.len()).find(|at| values[..*at].contains(&values[*at])) {
            return Err(format!("'{}' is named twice", values[twice]));
        }
        match what {
            "scheduler" => Ok(Self::Scheduler(values)),
            "fs" => Ok(Self::FileSystem(values)),
            "path" => Ok(Self::Path(values.into_iter().map(PathBuf::from).collect())),
            _ => Err(wrong()),
        }
    }

    /// What is changed, in a word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Scheduler(_) => "scheduler",
            Self::FileSystem(_) => "file system",
            Self::Path(_) => "path",
        }
    }

    /// What it is changed to, in the order in which that was written.
    pub fn values(&self) -> Vec<String> {
        match self {
            Self::Scheduler(values) | Self::FileSystem(values) => values.clone(),
            Self::Path(paths) => paths.iter().map(|path| path.display().to_string()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        let two = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        assert_eq!(Subject::parse("scheduler=none,bfq"), Ok(Subject::Scheduler(two("none", "bfq"))));
        assert_eq!(Subject::parse("fs=ext4,xfs"), Ok(Subject::FileSystem(two("ext4", "xfs"))));
        assert_eq!(Subject::parse("path=/a,/b").unwrap().values(), two("/a", "/b"));
        for wrong in ["", "scheduler", "scheduler=none", "fs=ext4,", "fs=ext4,ext4", "colour=red,blue"] {
            assert!(Subject::parse(wrong).is_err(), "{wrong}");
        }
    }
}
