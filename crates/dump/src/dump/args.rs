//! `drover dump`.

use std::path::PathBuf;

use drover_db::options::ServerArgs;

use crate::format::files::Compressor;

/// Dump schemas or tables in parallel, as one consistent snapshot, into a directory
#[derive(Debug, clap::Args)]
pub struct DumpArgs {
    /// Schemas (DB) and tables (DB.TABLE); all but the system schemas if none is named. Put names that hold a dot in
    /// backticks: '`my.db`.`my.table`'
    #[arg(value_name = "DB | DB.TABLE")]
    pub what: Vec<String>,

    /// Where the dump goes: a directory that is empty or not there yet
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Dump only tables and views that match this glob on SCHEMA.NAME, such as 'shop.order*', or on NAME alone (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// Leave out tables and views that match this glob on SCHEMA.NAME or on NAME alone, such as 'log_*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// Connections that read rows, each with its worker [default: twice the cores here, if the server has as many to spare]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,

    /// Compression of the row files: zstd, gzip, lz4 or none, with a level if you like
    #[arg(long, value_name = "METHOD[:LEVEL]", default_value = "zstd")]
    pub compress: Compressor,

    /// How long to wait for the lock under which the snapshot is taken
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub lock_timeout: u64,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArgs,
}
