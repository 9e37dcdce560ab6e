//! The command line of `drover doctor`.

use std::path::PathBuf;
use std::time::Duration;

use drover_db::options::ServerArgs;
use drover_report::read::duration;

use crate::check::Area;
use crate::plan::NetworkTool;

/// Looks at a host and its server, and says what is wrong, how it knows, and what it costs here.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DoctorArgs {
    /// What to do else.
    #[command(subcommand)]
    pub command: Option<DoctorCommand>,

    /// How to look.
    #[command(flatten)]
    pub examine: ExamineArgs,
}

/// What is not an examination of areas.
#[derive(Debug, clap::Subcommand)]
pub enum DoctorCommand {
    /// Keep what the checks look at in a file, to be looked at elsewhere with --root
    Collect(Box<CollectArgs>),
    /// Look at network interfaces that are bound together, or plan such bonds
    Bonding(Box<BondingArgs>),
}

/// Options of `bonding`: without `plan` it is one of the areas.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BondingArgs {
    /// What to do else.
    #[command(subcommand)]
    pub command: Option<BondingCommand>,

    /// How to look.
    #[command(flatten)]
    pub examine: ExamineArgs,
}

impl BondingArgs {
    /// What is looked at, this area first.
    pub fn examined(&self) -> ExamineArgs {
        let mut examine = self.examine.clone();
        examine.areas.insert(0, Area::Bonding);
        examine
    }
}

/// What is done about bonds.
#[derive(Debug, clap::Subcommand)]
pub enum BondingCommand {
    /// Write the files that set up several bonds, each with a mode of its own; never onto this host
    Plan(PlanArgs),
}

/// Options of `bonding plan`.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The bonds: [NAME=]INTERFACE,INTERFACE:MODE, such as eth0,eth1:4; modes by name or number
    #[arg(required = true, value_name = "BOND")]
    pub bonds: Vec<String>,

    /// What sets up the network
    #[arg(long = "for", value_enum, value_name = "TOOL")]
    pub tool: NetworkTool,

    /// A bond's address [default: by DHCP]; may be repeated
    #[arg(long, value_name = "BOND=ADDRESS/BITS")]
    pub address: Vec<String>,

    /// Where a bond's packets for elsewhere go; may be repeated
    #[arg(long, value_name = "BOND=ADDRESS")]
    pub gateway: Vec<String>,

    /// The largest packet of all the bonds, in bytes
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,

    /// Write the files below this directory, as if it were the root of a host [default: print them]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// Look for options of the module that are in the way in this copy of a host [default: on this host]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// Options of an examination.
#[derive(Debug, Clone, clap::Args)]
pub struct ExamineArgs {
    /// What to look at [default: all]
    #[arg(value_enum, value_name = "AREA")]
    pub areas: Vec<Area>,

    /// What is looked at.
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Write the report as a page for a browser
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write a script that does what is proposed, or undoes it, one at a time; it is not run
    #[arg(long, value_name = "FILE")]
    pub fix_script: Option<PathBuf>,

    /// Pass over the findings of this rule from now on, or over the one on a subject: RULE or RULE=SUBJECT
    #[arg(long, value_name = "RULE", requires = "because")]
    pub ignore: Option<String>,

    /// Why they are passed over
    #[arg(long, value_name = "TEXT", requires = "ignore")]
    pub because: Option<String>,

    /// The file that keeps what is passed over [default: drover/doctor-ignore.json in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, value_name = "FILE")]
    pub ignore_file: Option<PathBuf>,
}

/// What is looked at.
#[derive(Debug, Clone, clap::Args)]
pub struct PlaceArgs {
    /// Look at what `doctor collect` has kept, or at a copy of a host's /proc, /sys and /etc in this directory
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,

    /// Look at the host only
    #[arg(long)]
    pub no_server: bool,

    /// What `drover --json bench` or `binlog cost` printed, to be quoted; a directory of such files; may be repeated
    #[arg(long, value_name = "PATH")]
    pub results: Vec<PathBuf>,

    /// For how long to watch what grows
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s")]
    pub interval: Duration,

    /// Where the server is.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `collect`.
#[derive(Debug, clap::Args)]
pub struct CollectArgs {
    /// The file to write
    pub file: PathBuf,

    /// What is looked at.
    #[command(flatten)]
    pub place: PlaceArgs,
}
