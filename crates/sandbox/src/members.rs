//! A named topology: its nodes are sandboxes of their own, and a directory of its own name keeps that name from others.
//!
//! ```text
//! ROOT/NAME/topology.json    and what describes its link, if it has one
//! ROOT/NAME-1/  ROOT/NAME-2/ …
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::home::{absolute, claim_dir};
use crate::link::LinkFiles;
use crate::record;
use crate::{Error, SandboxInfo, SandboxName, Topology};

const FILE_NAME: &str = "topology.json";

/// The directory that holds a topology's name.
#[derive(Debug)]
pub(crate) struct TopologyClaim {
    name: SandboxName,
    dir: PathBuf,
}

impl TopologyClaim {
    /// Claims a name in `root`, or if none is given the first free one of the topology.
    pub(crate) fn new(root: &Path, name: Option<&SandboxName>, topology: Topology) -> Result<Self, Error> {
        let root = absolute(root)?;
        fs::create_dir_all(&root).map_err(Error::io("create", &root))?;
        if let Some(name) = name {
            return Self::of_name(&root, name, topology);
        }
        let mut n = 1;
        loop {
            match Self::of_name(&root, &SandboxName::default_for_topology(topology, n), topology) {
                Err(Error::NameTaken { .. }) => n += 1,
                claimed => return claimed,
            }
        }
    }

    fn of_name(root: &Path, name: &SandboxName, topology: Topology) -> Result<Self, Error> {
        let claim = Self { name: name.clone(), dir: claim_dir(root, name)? };
        let path = claim.dir.join(FILE_NAME);
        let text = format!("{{\"topology\":\"{topology}\"}}\n");
        fs::write(&path, text).map_err(Error::io("write", &path)).inspect_err(|_| claim.discard())?;
        Ok(claim)
    }

    pub(crate) fn name(&self) -> &SandboxName {
        &self.name
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Gives the name free on the way out of an error, and ends the link.
    pub(crate) fn discard(&self) {
        remove(&self.dir);
    }
}

/// The nodes of the topology of that name, or the one sandbox that has it. No nodes of a topology whose start was cut off.
pub(crate) fn named(root: &Path, name: &SandboxName) -> Result<Vec<SandboxInfo>, Error> {
    let is_member =
        |info: &SandboxInfo| info.membership.as_ref().is_some_and(|member| member.member_of == *name);
    let members: Vec<SandboxInfo> = record::all(root)?.into_iter().filter(is_member).collect();
    if !members.is_empty() || root.join(name.as_str()).join(FILE_NAME).is_file() {
        return Ok(members);
    }
    record::named(root, name).map(|info| vec![info])
}

/// Gives a topology's name free and ends its link if none of its nodes is left.
pub(crate) fn release(root: &Path, name: &SandboxName) -> Result<(), Error> {
    let dir = root.join(name.as_str());
    if dir.join(FILE_NAME).is_file() && named(root, name)?.is_empty() {
        remove(&dir);
    }
    Ok(())
}

/// Nothing else than this is in it, and nothing else is removed.
fn remove(dir: &Path) {
    LinkFiles::in_dir(dir).end();
    let _may_be_gone = fs::remove_file(dir.join(FILE_NAME));
    let _may_be_gone = fs::remove_dir(dir);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flavour;
    use crate::home::Home;
    use crate::record::tests::info;
    use crate::topology::Membership;

    fn name(text: &str) -> SandboxName {
        text.parse().unwrap()
    }

    fn save_node(root: &Path, node: &str, topology: &str) -> Home {
        let (_, home) = Home::claim_named(root, Some(&name(node)), Flavour::MySql).unwrap();
        let membership = Some(Membership { topology: Topology::Replica, member_of: name(topology) });
        SandboxInfo { membership, ..info(node) }.save(&home).unwrap();
        home
    }

    #[test]
    fn a_topologys_name_is_its_own_until_the_last_node_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let claim = |name: Option<&SandboxName>| TopologyClaim::new(root.path(), name, Topology::Replica);
        let shop = claim(Some(&name("shop"))).unwrap();
        assert_eq!(shop.name().as_str(), "shop");
        assert!(matches!(claim(Some(&name("shop"))).unwrap_err(), Error::NameTaken { .. }));
        assert!(Home::claim_named(root.path(), Some(&name("shop")), Flavour::MySql).is_err());

        let nodes = ["shop-1", "shop-2"].map(|node| save_node(root.path(), node, "shop"));
        save_node(root.path(), "other-1", "other");
        let found = || named(root.path(), &name("shop")).unwrap();
        assert_eq!(found().iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["shop-1", "shop-2"]);
        for home in nodes {
            release(root.path(), &name("shop")).unwrap();
            assert!(root.path().join("shop").is_dir());
            home.remove().unwrap();
        }
        assert!(found().is_empty());
        release(root.path(), &name("shop")).unwrap();
        assert!(!root.path().join("shop").exists());
        assert!(matches!(named(root.path(), &name("shop")).unwrap_err(), Error::NoSuchSandbox { .. }));
    }

    #[test]
    fn free_names_are_counted_up() {
        let root = tempfile::tempdir().unwrap();
        let names = [(); 2].map(|()| TopologyClaim::new(root.path(), None, Topology::Galera).unwrap().name);
        assert_eq!(names.map(String::from), ["galera", "galera2"]);
    }
}
