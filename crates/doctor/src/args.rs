//! The command line of `drover doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use drover_db::options::ServerArgs;
use drover_units::read::duration;

use crate::check::Area;
use crate::plan::NetworkTool;
use crate::target;

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
    Bonding(Box<AreaArgs<BondingCommand>>),
    /// Look at devices and their schedulers, or set a scheduler
    Scheduler(Box<AreaArgs<SchedulerCommand>>),
}

/// Options of an area that has commands of its own: without one of them it is examined.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, mut_arg("areas", |areas| areas.help("What else to look at")))]
pub struct AreaArgs<C: Subcommand> {
    /// What to do else.
    #[command(subcommand)]
    pub command: Option<C>,

    /// How to look.
    #[command(flatten)]
    pub examine: ExamineArgs,
}

impl<C: Subcommand> AreaArgs<C> {
    /// What is looked at, this area first.
    pub fn examined(&self, area: Area) -> ExamineArgs {
        let mut examine = self.examine.clone();
        examine.areas.insert(0, area);
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

/// What can be done with a scheduler.
#[derive(Debug, clap::Subcommand)]
pub enum SchedulerCommand {
    /// Say what setting a device's scheduler would mean; with --apply, set it
    ///
    /// The setting lasts until the host is started again, or until --revert. Until it has proven to stay, for half a second, a second
    /// process puts it back if this one ends, also by SIGKILL.
    ///
    /// Refused are partitions (the scheduler is the disk's), devices that hand requests on to others (dm, md: set those below), paths
    /// of a multipath map that orders requests itself (set the map's), schedulers that the kernel does not offer, and devices on which
    /// no file system lies that is mounted here: these belong to a virtual machine, another container or nobody; --any takes them.
    Set(SetArgs),
}

/// Options of `scheduler set`.
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// The device: a name such as sda, or a path below /dev
    pub device: String,

    /// The scheduler: none, mq-deadline, kyber, bfq
    #[arg(value_name = "NAME", required_unless_present = "revert", conflicts_with = "revert")]
    pub scheduler: Option<String>,

    /// Set it, until the host is started again
    #[arg(long, conflicts_with_all = ["revert", "persist"])]
    pub apply: bool,

    /// Put back what --apply has changed since the host was started
    #[arg(long, conflicts_with = "persist")]
    pub revert: bool,

    /// Print the rule for udev that sets it at each start, and where it goes; change nothing
    #[arg(long)]
    pub persist: bool,

    /// Take also a device on which nothing lies that is mounted here
    #[arg(long, conflicts_with = "revert")]
    pub any: bool,
}

/// Options of an examination.
#[derive(Debug, Clone, clap::Args)]
pub struct ExamineArgs {
    /// What to look at [default: all]
    #[arg(value_enum, value_name = "AREA")]
    pub areas: Vec<Area>,

    /// The version that the server is to be upgraded to, or replaced by [default: the newest known one of its vendor]
    #[arg(long, value_name = "VERSION", value_parser = PossibleValuesParser::new(target::names()))]
    pub target: Option<String>,

    /// What is looked at.
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Write the report as a page for a browser
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write a script that does what is proposed, or undoes it, one at a time; it is not run
    #[arg(long, value_name = "FILE")]
    pub fix_script: Option<PathBuf>,

    /// Pass over the findings of this rule from now on, or over the one on a subject: RULE or RULE=SUBJECT; on every host and server
    /// that is examined with the same --ignore-file
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
