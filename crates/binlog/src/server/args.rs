//! The options for reading a server's logs.

use drover_db::options::ServerArgs;

use crate::gtid_set::GtidSet;

// Given to each option by itself: clap's `next_help_heading` would go on to the options of the command.
const HEADING: &str = "Logs of a server";

/// Whether and how a server's logs are read.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FromServerArgs {
    /// Read the logs of a server, as a replica does. Each LOG is the name of one there, such as binlog.000007; all that it has,
    /// if none is named. The account needs REPLICATION SLAVE and REPLICATION CLIENT
    #[arg(long, help_heading = HEADING)]
    pub from_server: bool,

    /// What of them.
    #[command(flatten)]
    pub stream: StreamArgs,

    /// Where the server is.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What a server is asked to send of its logs.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StreamArgs {
    /// Where the last log ends, wait for more, also in later logs, until Ctrl-C
    #[arg(long, requires = "from_server", help_heading = HEADING)]
    pub follow: bool,

    /// Begin behind these transactions, as gtid_executed (MySQL) or gtid_binlog_pos (MariaDB) showed them: UUID:1-5 or 0-1-5; with
    /// none ('') before the first
    #[arg(
        long,
        value_name = "SET",
        requires = "from_server",
        conflicts_with = "logs",
        help_heading = HEADING
    )]
    pub after_gtids: Option<GtidSet>,

    /// With --follow, be known to the server by this server_id, which no replica of it may have [default: a number above
    /// 4026531840 that no other drover has there]
    #[arg(
        long,
        value_name = "ID",
        requires = "follow",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = HEADING,
    )]
    pub server_id_as: Option<u32>,
}
