//! Several servers that replicate from one another: start, kill, rejoin.

mod account;
mod galera;
mod group;
mod plan;
mod replica;
mod wait;

use std::ffi::OsString;

use plan::Plan;

use crate::home::{Home, default_root};
use crate::link::Link;
use crate::members::TopologyClaim;
use crate::process::StopOutcome;
use crate::server::{NodeOptions, NodeStart, free_ports};
use crate::topology::Membership;
use crate::{Error, Role, SandboxInfo, SandboxName, Server, ServerBinaries, StartOptions, Topology, options};

/// What all nodes get besides: three servers are to fit where one does.
const COMMON: [&str; 2] = ["--innodb-buffer-pool-size=64M", "--loose-innodb-redo-log-capacity=64M"];

/// The nodes of one topology. Dropping an ephemeral one kills them at once and removes their files; named ones run on.
#[derive(Debug)]
pub struct Cluster {
    topology: Topology,
    name: SandboxName,
    nodes: Vec<Server>,
    /// What keeps the name of a named one.
    claim: Option<TopologyClaim>,
    /// What the replica reaches its source by, if not directly.
    link: Option<Link>,
}

impl Cluster {
    /// Starts all nodes on fresh data directories and waits until each is a member that has all data.
    ///
    /// The options are each node's; their name is the topology's, `galera` and the like by default, and the nodes are named
    /// `NAME-1`, `NAME-2`… `Topology::Single` gives one server with the name itself.
    ///
    /// # Errors
    /// If the vendor has no such topology, or the topology no place for a link, the programs are not found, the name is taken, or a
    /// node does not come up or join: then the error names it and shows the end of its log. Nothing is left behind.
    pub fn start(topology: Topology, options: &StartOptions) -> Result<Self, Error> {
        if options.link.is_some() && topology != Topology::Replica {
            return Err(Error::NoPlaceForLink { topology });
        }
        if topology == Topology::Single {
            let server = Server::start(options)?;
            let name = server.info().name.clone();
            return Ok(Self { topology, name, nodes: vec![server], claim: None, link: None });
        }
        if options::fixed_port(&options.server_options).is_some() {
            return Err(Error::PortOfSeveral { topology });
        }
        let flavour = topology.flavour(options.flavour)?;
        let binaries = ServerBinaries::find(flavour, options.server.as_deref())?;
        topology.flavour(Some(binaries.flavour()))?;
        match Self::try_ports(topology, options, &binaries) {
            // Chosen when it was free, and taken before the server opened it.
            Err(error) if error.is_port_taken() => Self::try_ports(topology, options, &binaries),
            outcome => outcome,
        }
    }

    fn try_ports(
        topology: Topology,
        options: &StartOptions,
        binaries: &ServerBinaries,
    ) -> Result<Self, Error> {
        let (name, claim) = claim(topology, options)?;
        let mut cluster = Self { topology, name: name.clone(), nodes: Vec::new(), claim, link: None };
        let plan = Plan::new(topology, &name, binaries);
        match plan.and_then(|plan| cluster.start_nodes(&plan, options)) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.nodes.drain(..).for_each(Server::discard);
                cluster.release();
                Err(error)
            }
        }
    }

    /// Gives its name free, and ends a link that a process carries.
    fn release(&self) {
        if let Some(claim) = &self.claim {
            claim.discard();
        }
    }

    fn start_nodes(&mut self, plan: &Plan<'_>, options: &StartOptions) -> Result<(), Error> {
        for index in 0..plan.topology.nodes() {
            let name = plan.name.of_node(index + 1)?;
            let node = start_node(plan, index, &name, options).map_err(|error| error.of_node(&name))?;
            // In the list before it joins, so that it ends with the others.
            let node = self.nodes.push_mut(node);
            if plan.topology == Topology::Galera {
                galera::join(node)?;
            }
        }
        match plan.topology {
            Topology::Single => Ok(()),
            Topology::Replica => {
                let port = self.open_link(options)?;
                replica::form(&self.nodes, port)
            }
            Topology::GroupReplication => group::form(&self.nodes),
            Topology::Galera => galera::form(&self.nodes),
        }
    }

    /// Starts the link that was asked for, and says where the replica finds its source.
    fn open_link(&mut self, options: &StartOptions) -> Result<u16, Error> {
        let source = self.first().port();
        let Some(settings) = options.link else { return Ok(source) };
        let link = match (&self.claim, &options.forwarder) {
            (Some(claim), Some(program)) => Link::in_process(program, claim.dir(), source, settings)?,
            _ => Link::in_threads(source, settings)?,
        };
        Ok(self.link.insert(link).port())
    }

    /// The kind of topology.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// The name of the whole.
    #[must_use]
    pub fn name(&self) -> &SandboxName {
        &self.name
    }

    /// The nodes in the order of their names, those that are down too.
    #[must_use]
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// The first node, which took writes when it was started.
    #[must_use]
    pub fn first(&self) -> &Server {
        // Every topology has at least one, and none is ever taken out.
        &self.nodes[0]
    }

    /// The link between source and replica, if one was asked for.
    #[must_use]
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// The index of the node that takes writes, as the nodes say now: the source, the primary, or the first node of Galera that is
    /// Synced. None while there is none.
    #[must_use]
    pub fn primary(&self) -> Option<usize> {
        self.nodes.iter().position(|node| is_writable(node.info()))
    }

    /// Kills a node as a crash would (SIGKILL) and keeps its files. An index that is too large does nothing.
    pub fn kill(&mut self, index: usize) {
        if let Some(node) = self.nodes.get_mut(index) {
            node.kill();
        }
    }

    /// Starts a node again that was killed, on its own files and port, and waits until it is a member that has all data. Another
    /// node must run, except for a replica's source. An index that is too large does nothing.
    ///
    /// # Errors
    /// If the node does not come up or does not join. Its files stay as they are.
    pub fn rejoin(&mut self, index: usize) -> Result<(), Error> {
        let Some(node) = self.nodes.get_mut(index) else { return Ok(()) };
        let name = node.info().name.clone();
        node.restart().map_err(|error| error.of_node(&name))?;
        match self.topology {
            Topology::Single => Ok(()),
            Topology::Replica => replica::catch_up(&self.nodes),
            Topology::GroupReplication => group::join(node),
            Topology::Galera => galera::join(node),
        }
    }

    /// Shuts all nodes down and removes everything, whether ephemeral or named.
    ///
    /// # Errors
    /// If a file can't be removed; the other nodes are removed all the same.
    pub fn remove(mut self) -> Result<Vec<(SandboxName, StopOutcome)>, Error> {
        let removed = self.nodes.drain(..).map(|node| {
            let name = node.info().name.clone();
            node.remove().map(|outcome| (name, outcome))
        });
        let removed: Vec<_> = removed.collect();
        self.release();
        removed.into_iter().collect()
    }
}

impl<'a> Plan<'a> {
    fn new(topology: Topology, name: &'a SandboxName, binaries: &ServerBinaries) -> Result<Self, Error> {
        let ports = free_ports(topology.nodes() * ports_of_node(topology))?;
        let (common, certificate) = match topology {
            Topology::Single | Topology::Replica => (Vec::new(), Vec::new()),
            Topology::GroupReplication => (group::common(&ports)?, Vec::new()),
            Topology::Galera => (galera::common(binaries, &ports)?, galera::certificate()?.into()),
        };
        Ok(Self { topology, flavour: binaries.flavour(), name, ports, common, certificate })
    }

    /// One of a node's ports, the first of which is for clients.
    fn port(&self, index: usize, which: usize) -> u16 {
        // 0 never comes of it: there are ports for each node. A server would choose one by itself.
        self.ports.get(index * ports_of_node(self.topology) + which).copied().unwrap_or(0)
    }

    fn options(&self, index: usize, home: &Home) -> Result<NodeOptions, Error> {
        let mut options = match self.topology {
            Topology::Single => NodeOptions::default(),
            Topology::Replica => NodeOptions::always(replica::options(self, index)),
            Topology::GroupReplication => NodeOptions::always(group::options(self, index)),
            Topology::Galera => galera::options(self, index, home)?,
        };
        options.always.splice(0..0, COMMON.iter().map(OsString::from));
        Ok(options)
    }
}

fn ports_of_node(topology: Topology) -> usize {
    if topology == Topology::Galera { galera::PORTS } else { 1 }
}

fn start_node(
    plan: &Plan<'_>,
    index: usize,
    name: &SandboxName,
    options: &StartOptions,
) -> Result<Server, Error> {
    let own = StartOptions { name: Some(name.clone()), flavour: Some(plan.flavour), ..options.clone() };
    Server::start_node(NodeStart {
        port: plan.port(index, 0),
        options: &own,
        membership: Membership { topology: plan.topology, member_of: plan.name.clone() },
        own: &|home| plan.options(index, home),
    })
}

/// The topology's name, and what holds it for a named one.
fn claim(topology: Topology, options: &StartOptions) -> Result<(SandboxName, Option<TopologyClaim>), Error> {
    if options.ephemeral {
        let name = options.name.clone();
        return Ok((name.unwrap_or_else(|| SandboxName::default_for_topology(topology, 1)), None));
    }
    let root = options.root.clone().map_or_else(default_root, Ok)?;
    TopologyClaim::new(&root, options.name.as_ref(), topology)
        .map(|claim| (claim.name().clone(), Some(claim)))
}

/// What a node does now, as far as it can tell; none if it is no node, is down or has lost its group.
pub(crate) fn role(info: &SandboxInfo) -> Option<Role> {
    let membership = info.membership.as_ref()?;
    if !info.is_running() {
        return None;
    }
    match membership.topology {
        Topology::Single => None,
        Topology::Galera => Some(Role::Node),
        Topology::Replica => Some(if membership.is_first(&info.name) { Role::Source } else { Role::Replica }),
        Topology::GroupReplication => match group::role(&info.socket).ok()?.as_str() {
            "PRIMARY" => Some(Role::Primary),
            "SECONDARY" => Some(Role::Secondary),
            _ => None,
        },
    }
}

/// Whether the node takes writes now.
pub(crate) fn is_writable(info: &SandboxInfo) -> bool {
    match role(info) {
        Some(Role::Source | Role::Primary) => true,
        Some(Role::Node) => galera::is_synced(&info.socket),
        Some(Role::Replica | Role::Secondary) => false,
        None => info.membership.is_none() && info.is_running(),
    }
}
