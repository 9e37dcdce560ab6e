//! What nodes are launched by.

use std::ffi::OsString;

use crate::{Flavour, SandboxName, Topology};

/// All there is to know before the first node is launched.
pub(super) struct Plan<'a> {
    pub(super) topology: Topology,
    pub(super) flavour: Flavour,
    pub(super) name: &'a SandboxName,
    /// Those of the first node, of the second…
    pub(super) ports: Vec<u16>,
    /// Server options that are the same on all nodes.
    pub(super) common: Vec<OsString>,
    /// Of Galera: certificate and key. Else empty.
    pub(super) certificate: Vec<String>,
}
