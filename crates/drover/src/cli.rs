//! The command line. Each command's own options live in its family's crate.

use clap::{ArgAction, Parser, Subcommand};

/// Move, copy and examine the data of MySQL and MariaDB servers, and prove it
#[derive(Debug, Parser)]
#[command(
    name = "drover",
    version,
    disable_help_flag = true,
    args_override_self = true,
    propagate_version = true
)]
pub(crate) struct Cli {
    /// Print the result as one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more, such as every warning of the server
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Print help (-h is the server's host, as in the mysql client)
    #[arg(short = '?', long, global = true, action = ArgAction::Help)]
    help: Option<bool>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Dump schemas or tables in parallel, as one consistent snapshot, into a directory or an object store
    Dump(drover_dump::DumpArgs),
    /// Restore a dump and prove that every row is there
    Restore(drover_dump::RestoreArgs),
    /// Copy schemas or tables from one server to another, with no files between, and prove that every row is there
    Copy(drover_dump::CopyArgs),
    /// Compare a server with a dump, row by row, without changing anything
    Verify(drover_dump::VerifyArgs),
    /// Run one big DELETE, UPDATE or INSERT … SELECT as small transactions, so that no replica falls behind
    Chunk(drover_chunk::ChunkArgs),
    /// Binary logs: what is in them, and what it costs
    Binlog(Box<drover_binlog::BinlogArgs>),
    /// An offline task queue in MySQL and MariaDB tables, on any number of servers
    Queue(drover_queue::args::QueueArgs),
    /// Benchmark a server, a disk, an allocator and logins
    Bench(drover_bench::args::BenchArgs),
    /// Look at a host and its server, and say what is wrong, how it is known, and what it costs here
    Doctor(Box<drover_doctor::args::DoctorArgs>),
    /// Start disposable MySQL and MariaDB servers
    Sandbox(drover_sandbox::SandboxArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
