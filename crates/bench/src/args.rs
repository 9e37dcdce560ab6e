//! The command line of `drover bench`.

use std::path::PathBuf;

/// Benchmark a server, a disk, an allocator and logins.
#[derive(Debug, clap::Args)]
pub struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub command: BenchCommand,
}

/// What can be measured.
#[derive(Debug, clap::Subcommand)]
pub enum BenchCommand {
    /// Load a server with TPC-C-like transactions
    Tpcc(Box<crate::tpcc::args::TpccArgs>),
    /// Find out how a disk bears random reads and writes, and from which size on it does not
    Disk(crate::disk::args::DiskArgs),
    /// Find out what allocations cost by their size, and where the cost jumps
    Malloc(Box<crate::malloc::args::MallocArgs>),
    /// Find out what a connection costs a server, and what settings change of it
    Connect(Box<crate::connect::args::ConnectArgs>),
    /// Tell whether one result differs from another beyond the noise
    Compare(CompareArgs),
    /// Undo what another process did to this host, as soon as that has ended; it is told what on standard input
    #[command(name = drover_host::undo::COMMAND, hide = true)]
    PutBack,
}

/// Options of `compare`.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The result to start from, as `--json` left it
    pub a: PathBuf,
    /// The result to look at
    pub b: PathBuf,
}
