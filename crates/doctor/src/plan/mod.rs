//! `drover doctor bonding plan`: the files that set up several bonds, each with a mode of its own.
//!
//! It writes nothing to the host that it runs on: the files are printed, or put below another directory.

mod ifcfg;
mod netplan;
mod networkd;
mod networkmanager;
mod options;
mod planned;
#[cfg(test)]
mod round_trip;
mod spec;
mod write;

use serde::Serialize;

use crate::args::PlanArgs;
use crate::bond::Mode;
use crate::bonding_config::modprobe;
use crate::evidence::Evidence;
use crate::{Error, Result};

pub(crate) use options::setting;
pub use planned::{Address, NetworkTool, PlannedBond, PlannedFile};
pub use write::write;

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
