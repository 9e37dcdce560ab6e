//! `drover dump`.

use std::path::PathBuf;

use drover_db::options::ServerArgs;
use drover_store::StoreArgs;
use drover_throttle::ThrottleArgs;
use drover_units::read::{Size, whole_seconds};

use super::chosen::Condition;
use crate::{Error, Result};
use drover_format::files::Compressor;
use drover_format::manifest::{Contents, RowFormat};

/// What is read of a server, and how: options of a dump and of a copy.
#[derive(Debug, clap::Args)]
pub struct SourceArgs {
    /// Schemas (DB) and tables (DB.TABLE); all but the system schemas if none is named. Put names that hold a dot in
    /// backticks: '`my.db`.`my.table`'
    #[arg(value_name = "DB | DB.TABLE")]
    pub what: Vec<String>,

    /// Take only tables and views that match this glob on SCHEMA.NAME, such as 'shop.order*', or on NAME alone (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,

    /// Leave out tables and views that match this glob on SCHEMA.NAME or on NAME alone, such as 'log_*' (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,

    /// Take the server's accounts and roles too, with the hashes of their passwords and all grants
    #[arg(long)]
    pub users: bool,

    /// Take only those rows of a table for which an SQL condition holds; TABLE is a glob as in --include: 'shop.orders:id > 100'
    /// (repeatable; several for the same table must all hold)
    #[arg(long = "where", value_name = "TABLE:COND")]
    pub conditions: Vec<Condition>,

    /// Replace values while they are read, by the rules in this file; see docs/masking.md
    #[arg(long, value_name = "FILE", conflicts_with = "no_data")]
    pub mask: Option<PathBuf>,

    /// Take definitions only, no rows
    #[arg(long, conflicts_with_all = ["no_schema", "conditions"])]
    pub no_data: bool,

    /// Take rows only, no definitions: for tables that are there and empty
    #[arg(long)]
    pub no_schema: bool,

    /// Connections that read rows, each with its worker [default: two for each core here, 4 to 32, and at most
    /// half of the connections that the server has left]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,

    /// How long to wait for the lock under which the snapshot is taken
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = whole_seconds(1..=3600))]
    pub lock_timeout: u64,

    /// The longest that writers may be held back while the snapshot is taken: two round trips are usual. Beyond it the snapshot is given up
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = whole_seconds(1..=3600))]
    pub max_lock_time: u64,

    /// Dump though the account may lock nothing: rows may belong to different moments (reported, and noted in the manifest)
    #[arg(long)]
    pub inconsistent: bool,
}

/// Dump schemas or tables in parallel, as one consistent snapshot, into a directory or an object store
#[derive(Debug, clap::Args)]
pub struct DumpArgs {
    /// Where the dump goes: a directory, or s3://BUCKET/PREFIX; empty or not there yet, but for --resume. The keys of an object
    /// store are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY
    #[arg(long, value_name = "DIR | URL")]
    pub out: PathBuf,

    /// Resume an interrupted dump, with the same arguments. Complete files are kept; the rest is read from a new snapshot, so that
    /// rows of different files may belong to different moments (reported, and noted in the manifest)
    #[arg(long)]
    pub resume: bool,

    /// Resume with one consistent snapshot, now or in a later run: a complete file is kept only if its rows are unchanged in the new
    /// snapshot
    #[arg(long)]
    pub consistent_resume: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub source: SourceArgs,

    /// What stands in the row files; see docs/formats.md
    #[arg(long, value_enum, default_value_t)]
    pub format: RowFormat,

    /// Compression of the row files: zstd, gzip, lz4 or none, with a level if you like [default: zstd, and none for sql and csv]
    #[arg(long, value_name = "METHOD[:LEVEL]")]
    pub compress: Option<Compressor>,

    /// Rows' text that goes into one file, before compression: 128M, 1G. Only for tsv: in sql and csv a table is one file
    /// [default: 128M]
    #[arg(long, value_name = "SIZE")]
    pub chunk_size: Option<Size>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub throttle: ThrottleArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArgs,
}

impl DumpArgs {
    /// How row files are compressed: those for other programs must be read as they are.
    pub(crate) fn compressor(&self) -> Compressor {
        let default = if self.format == RowFormat::Tsv { Compressor::ZSTD } else { Compressor::NONE };
        self.compress.unwrap_or(default)
    }

    /// Text of so many bytes goes into one file, if a table may have several.
    ///
    /// # Errors
    /// If a size is given where a table is one file.
    pub(crate) fn chunk_bytes(&self) -> Result<u64> {
        const DEFAULT: Size = Size(128 << 20);
        match self.chunk_size {
            Some(_) if self.format.is_one_file() => Err(Error::with_hint(
                "--chunk-size is for --format tsv: in the others all rows of a table are in one file",
                "leave it out; tsv, the default, is also the fastest for large tables",
            )),
            size => Ok(size.unwrap_or(DEFAULT).0),
        }
    }
}

impl SourceArgs {
    /// What of the tables is taken.
    pub(crate) fn contents(&self) -> Contents {
        match (self.no_data, self.no_schema) {
            (true, _) => Contents::Definitions,
            (_, true) => Contents::Rows,
            _ => Contents::All,
        }
    }
}
