//! The bonds that a host's files ask for, of whichever tool they are.

pub(crate) mod ifcfg;
mod ini;
mod interfaces;
pub(crate) mod modprobe;
mod netplan;
mod networkd;
mod networkmanager;
mod time;
mod wanted;
mod yaml;

use crate::evidence::Evidence;

pub(crate) use wanted::{Configuration, Wanted};

impl Configuration {
    /// Reads the files of all tools.
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mut found = Self::default();
        ifcfg::read(evidence, &mut found);
        networkmanager::read(evidence, &mut found);
        netplan::read(evidence, &mut found);
        networkd::read(evidence, &mut found);
        interfaces::read(evidence, &mut found);
        found
    }
}
