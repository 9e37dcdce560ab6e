//! Bonds and files that are to be.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::bond::Mode;

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
