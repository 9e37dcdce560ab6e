//! MySQL's Group Replication: three nodes, one of which takes writes.
//!
//! The nodes talk over MySQL's own protocol and port (`group_replication_communication_stack=MYSQL`), where they log in. The
//! other stack, XCom's, lets in whoever comes from an address on a list, which on a shared host is everybody.

use std::ffi::OsString;
use std::path::Path;

use super::account::{Password, USER, random_uuid};
use super::plan::Plan;
use super::wait;
use crate::{Error, Server, sql};

/// `GROUP_REPLICATION_STREAM` lets it into the group, `CONNECTION_ADMIN` and `BACKUP_ADMIN` serve a node that has to copy another
/// one whole (the manual's "User Credentials For Distributed Recovery").
const PRIVILEGES: &str = "REPLICATION SLAVE, CONNECTION_ADMIN, BACKUP_ADMIN, GROUP_REPLICATION_STREAM";

const OPTIONS: [&str; 12] = [
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--relay-log-recovery=ON",
    "--report-host=127.0.0.1",
    "--plugin-load-add=group_replication.so",
    "--group-replication-start-on-boot=OFF",
    "--group-replication-communication-stack=MYSQL",
    "--group-replication-ssl-mode=REQUIRED",
    "--group-replication-recovery-use-ssl=ON",
    "--group-replication-recovery-get-public-key=ON",
    // A node that is gone is found to be so after 5 s, and by default waited for another 5 s.
    "--group-replication-member-expel-timeout=0",
    // A small cache of messages; its default is 1 GiB.
    "--group-replication-message-cache-size=134217728",
];

const JOIN: &str = "START GROUP_REPLICATION";
const STATE: &str =
    "SELECT MEMBER_STATE FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid";
const ONLINE: &str =
    "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'";
const ROLE: &str = "SELECT MEMBER_ROLE FROM performance_schema.replication_group_members \
    WHERE MEMBER_ID = @@server_uuid AND MEMBER_STATE = 'ONLINE'";

/// The options that all nodes share.
pub(super) fn common(ports: &[u16]) -> Result<Vec<OsString>, Error> {
    let seeds: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut options: Vec<OsString> = OPTIONS.iter().map(OsString::from).collect();
    options.push(format!("--group-replication-group-name={}", random_uuid()?).into());
    options.push(format!("--group-replication-group-seeds={}", seeds.join(",")).into());
    Ok(options)
}

/// The options of a node.
pub(super) fn options(plan: &Plan<'_>, index: usize) -> Vec<OsString> {
    let port = plan.port(index, 0);
    let mut options = plan.common.clone();
    options.push(format!("--report-port={port}").into());
    options.push(format!("--group-replication-local-address=127.0.0.1:{port}").into());
    options
}

/// Makes a group of the nodes, the first of which is its primary.
pub(super) fn form(nodes: &[Server]) -> Result<(), Error> {
    let password = Password::random()?;
    for (index, node) in nodes.iter().enumerate() {
        node.statements(&introduce(&password))?;
        if index == 0 { bootstrap(node)? } else { join(node)? }
    }
    nodes
        .iter()
        .try_for_each(|node| wait::for_value(node, "see the whole group", ONLINE, &nodes.len().to_string()))
}

/// The account must be there before the node is in the group, so it is made on each and not replicated.
fn introduce(password: &Password) -> Vec<String> {
    let mut statements = vec!["SET sql_log_bin = 0".to_owned()];
    statements.extend(password.create(PRIVILEGES));
    statements.push("SET sql_log_bin = 1".to_owned());
    statements.push(format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = '{USER}', SOURCE_PASSWORD = '{}' \
         FOR CHANNEL 'group_replication_recovery'",
        password.expose()
    ));
    statements
}

fn bootstrap(node: &Server) -> Result<(), Error> {
    node.statements(&[
        "SET GLOBAL group_replication_bootstrap_group = ON",
        JOIN,
        "SET GLOBAL group_replication_bootstrap_group = OFF",
    ])?;
    wait::for_value(node, "be ONLINE", STATE, "ONLINE")
}

/// Joins the group that others are in. They take a node in only when they have noticed that it was gone, so it may have to ask more
/// than once.
pub(super) fn join(node: &Server) -> Result<(), Error> {
    wait::until(node, "be ONLINE", || {
        let state = sql::value(node.socket(), STATE)?;
        match state.as_str() {
            "ONLINE" => return Ok(Ok(())),
            "RECOVERING" => {}
            "ERROR" => sql::run(node.socket(), &["STOP GROUP_REPLICATION", JOIN])?,
            _ => sql::run(node.socket(), &[JOIN])?,
        }
        Ok(Err(format!("it is {state:?}")))
    })
}

/// `PRIMARY` or `SECONDARY`, as the node at that socket says; empty if it is in no group.
pub(super) fn role(socket: &Path) -> drover_db::Result<String> {
    sql::value(socket, ROLE)
}
