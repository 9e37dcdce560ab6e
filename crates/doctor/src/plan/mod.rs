//! `drover doctor bonding plan`: the files that set up several bonds, each with a mode of its own.
//!
//! It writes nothing to the host that it runs on: the files are printed, or put below another directory.

mod ifcfg;
mod netplan;
mod networkd;
mod networkmanager;
mod options;
#[cfg(test)]
mod round_trip;
mod spec;
mod write;

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::args::PlanArgs;
use crate::bond::Mode;
use crate::bonding_config::modprobe;
use crate::evidence::Evidence;
use crate::{Error, Result};

pub(crate) use options::setting;
pub use write::write;

/// What sets up a host's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum NetworkTool {
    /// netplan, with either of its back ends
    Netplan,
    /// systemd-networkd
    Networkd,
    /// The ifcfg files of Red Hat's initscripts, which NetworkManager reads, too
    Ifcfg,
    /// NetworkManager, by keyfiles
    #[value(name = "networkmanager")]
    NetworkManager,
}

impl NetworkTool {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Netplan => "netplan",
            Self::Networkd => "systemd-networkd",
            Self::Ifcfg => "ifcfg",
            Self::NetworkManager => "NetworkManager",
        }
    }

    /// The commands that put its files into effect, for a network that may be cut meanwhile.
    pub fn apply(self) -> &'static str {
        match self {
            Self::Netplan => "netplan try",
            Self::Networkd => "networkctl reload",
            Self::Ifcfg => {
                "systemctl restart network, or nmcli connection reload and nmcli connection up of each bond"
            }
            Self::NetworkManager => "nmcli connection reload, then nmcli connection up of each bond",
        }
    }
}

/// An address and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// In bits.
    pub prefix: u8,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

/// A bond that is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedBond {
    /// Its name.
    pub name: String,
    /// Its mode.
    #[serde(serialize_with = "name_of")]
    pub mode: Mode,
    /// Its interfaces; in the mode active-backup the first one works while it can.
    pub slaves: Vec<String>,
    /// Its addresses; without any it asks for one by DHCP.
    pub addresses: Vec<Address>,
    /// Where packets for elsewhere go.
    pub gateways: Vec<IpAddr>,
    /// In bytes; `None` for the interfaces' own.
    pub mtu: Option<u32>,
}

fn name_of<S: Serializer>(mode: &Mode, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(mode.name())
}

/// A file that is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedFile {
    /// Where on the host.
    pub path: PathBuf,
    /// Who may read it: `0600` for root only.
    #[serde(serialize_with = "octal")]
    pub mode: u32,
    /// What it holds.
    pub content: String,
}

fn octal<S: Serializer>(mode: &u32, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{mode:04o}"))
}

/// The bonds and their files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BondingPlan {
    /// What reads the files.
    #[serde(rename = "for")]
    pub tool: NetworkTool,
    /// The bonds.
    pub bonds: Vec<PlannedBond>,
    /// The files.
    pub files: Vec<PlannedFile>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// The commands that put the files into effect.
    pub apply: String,
}

/// Plans bonds.
///
/// # Errors
/// If what is asked for cannot be, or `--root` is not there.
pub fn plan(args: &PlanArgs) -> Result<BondingPlan> {
    let bonds = spec::bonds(args)?;
    let root = args.root.as_deref();
    let evidence = Evidence::of(root, Err("no server was asked".into()), None, String::new())
        .map_err(Error::file(root.unwrap_or(std::path::Path::new("/"))))?;
    let mut notes = notes(&bonds);
    notes.extend(in_the_way(&evidence));
    let files = files(args.tool, &bonds);
    Ok(BondingPlan { tool: args.tool, bonds, files, notes, apply: args.tool.apply().to_owned() })
}

/// The files that set bonds up.
pub(crate) fn files(tool: NetworkTool, bonds: &[PlannedBond]) -> Vec<PlannedFile> {
    match tool {
        NetworkTool::Netplan => netplan::files(bonds),
        NetworkTool::Networkd => networkd::files(bonds),
        NetworkTool::Ifcfg => ifcfg::files(bonds),
        NetworkTool::NetworkManager => networkmanager::files(bonds),
    }
}

fn notes(bonds: &[PlannedBond]) -> Vec<String> {
    let mut notes = Vec::new();
    for PlannedBond { name, mode, slaves, .. } in bonds {
        if slaves.len() == 1 {
            notes.push(format!("{name} has a single interface: it goes on through no failure"));
        }
        match mode {
            Mode::Lacp => notes.push(format!("{name}: the switch's ports of it need LACP, as one group")),
            Mode::BalanceRr | Mode::BalanceXor => {
                notes.push(format!("{name}: the switch's ports of it need a static group, without LACP"));
            }
            _ => {}
        }
    }
    notes.push("other files that name these interfaces or bonds go first".into());
    notes
}

/// Options of the module that would be those of all bonds that it makes when it is loaded.
fn in_the_way(evidence: &Evidence) -> Vec<String> {
    let (lines, unseen) = modprobe::read(evidence).unwrap_or_else(|why| (Vec::new(), vec![why.to_string()]));
    let harmless = |line: &&modprobe::ModuleOptions| {
        line.options.iter().all(|(option, value)| option == "max_bonds" && value == "0")
    };
    let mut notes: Vec<_> = lines
        .iter()
        .filter(|line| !harmless(line))
        .map(|line| {
            format!(
                "take '{}' out of {}: it gives all bonds that the module makes the same options",
                line.line, line.file
            )
        })
        .collect();
    notes.extend(unseen.iter().map(|why| format!("whether the module has options is not known: {why}")));
    notes
}
