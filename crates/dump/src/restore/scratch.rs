//! Schemas in which a dump is tried. Their names tell the server and the session of the trial, which holds a lock of that name: those of a
//! trial that was killed are known by a lock that nobody holds, and the next one drops them.

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, quote};

use crate::dump::catalog;
use crate::error::Doing;
use crate::session;
use crate::{Error, Result};
use drover_format::digest::Digest;

const BEGIN: &str = "drover_check_";

/// Whether a schema has the name of one in which something is tried: `drover_check_SERVER_SESSION_NUMBER`.
pub(crate) fn is_scratch(schema: &str) -> bool {
    has_numbers(schema, &[16, 10, 10]) || is_of_older_release(schema)
}

/// Whether it has the name that older releases gave such a schema: `drover_check_SESSION_NUMBER`.
fn is_of_older_release(schema: &str) -> bool {
    has_numbers(schema, &[10, 10])
}

/// Whether a name ends with numbers of just these bases.
fn has_numbers(schema: &str, bases: &[u32]) -> bool {
    let is = |part: &str, base: u32| !part.is_empty() && part.chars().all(|c| c.is_digit(base));
    let parts: Vec<_> = schema.strip_prefix(BEGIN).unwrap_or_default().split('_').collect();
    parts.len() == bases.len() && parts.iter().zip(bases).all(|(part, base)| is(part, *base))
}

/// The names of a trial's schemas.
pub(super) struct Names {
    prefix: String,
}

impl Names {
    /// Takes the lock that says that this trial is at work, and drops what others have left that were killed; that this fails is a warning.
    pub(super) fn take(connection: &mut Connection, warnings: &mut Vec<String>) -> Result<Self> {
        let of_server = of_server(connection)?;
        let prefix = format!("{of_server}{}_", connection.id());
        let locked = connection.first(format!("SELECT GET_LOCK({}, 10)", quote::string(&prefix)));
        // Where locks are not to be had, nobody knows who is at work.
        if matches!(&locked, Ok(Some(row)) if row.parse(0) == Some(1)) {
            drop_leftovers(connection, &of_server, &prefix, warnings)?;
        }
        Ok(Self { prefix })
    }

    /// What the names begin with; a number follows.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// What the names of all trials on this server begin with: the others' may come here by replication, and their locks do not.
fn of_server(connection: &mut Connection) -> Result<String> {
    let names = IDENTITY.map(quote::string).join(", ");
    let sql = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})");
    let rows = connection.query(sql).doing(|| "asking which server it is")?;
    Ok(begin_of(rows.into_iter().map(|row| [row.string(0), row.string(1)]).collect()))
}

/// Variables that together tell a server from others. Hosts that were cloned have the same name, port and directory, but in one replication
/// no server_id twice; the nodes of a Galera cluster may have one for all. No server has all of these.
const IDENTITY: [&str; 8] = [
    "hostname",
    "port",
    "datadir",
    "server_id",
    "server_uuid",
    "server_uid",
    "wsrep_node_name",
    "wsrep_node_address",
];

/// What names of trials begin with on a server that has these values.
fn begin_of(mut variables: Vec<[String; 2]>) -> String {
    variables.sort_unstable();
    let digest = Digest::of(variables.concat().join("\n").as_bytes());
    format!("{BEGIN}{}_", &digest.to_string()[..8])
}

fn drop_leftovers(
    connection: &mut Connection,
    of_server: &str,
    own: &str,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let there = catalog::schemas(connection)?;
    // No lock tells whether an older release is still at work in it.
    warnings.extend(there.iter().filter(|schema| is_of_older_release(schema)).map(|schema| {
        let name = quote::identifier(schema);
        format!("an older release of drover left schema {name}: DROP DATABASE {name}, unless it runs a check right now")
    }));
    for schema in there.iter().filter(|schema| is_scratch(schema) && schema.starts_with(of_server)) {
        let lock = schema.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_used = format!("SELECT 1 FROM DUAL WHERE IS_USED_LOCK({}) IS NOT NULL", quote::string(lock));
        if lock != own && connection.first(is_used).doing(|| "looking who tries things")?.is_some() {
            continue;
        }
        let sql = format!("DROP DATABASE IF EXISTS {}", quote::identifier(schema));
        let dropped = connection.execute(&sql).map(drop).doing(|| sql.clone());
        if let Err(error) = dropped {
            let reason = error.refusal()?;
            warnings.push(format!("{sql}, which a check left when it was killed: {reason}"));
        }
    }
    Ok(())
}

/// Schemas that are dropped in any case: where the connection that they were made over is broken, over one of their own.
pub(super) struct Scratch<'a> {
    options: &'a ConnectOptions,
    schemas: Vec<String>,
}

impl<'a> Scratch<'a> {
    /// # Errors
    /// If there is a schema of one of these names: what was there before is never dropped.
    pub(super) fn new(
        connection: &mut Connection,
        options: &'a ConnectOptions,
        schemas: Vec<String>,
    ) -> Result<Self> {
        let there = catalog::schemas(connection)?;
        match schemas.iter().find(|name| there.contains(name)) {
            Some(name) => Err(Error::with_hint(
                format!("the target has a schema '{name}' already: things cannot be tried under that name"),
                "drop it if it is what an earlier check left when it was killed",
            )),
            None => Ok(Self { options, schemas }),
        }
    }

    /// Drops them over the connection of the trial, if that still works: the account may have no other one.
    pub(super) fn drop_all(&mut self, connection: &mut Connection) -> Result<()> {
        match self.drop_over(connection) {
            // Another connection may no more than this one, and may have to be waited for in vain.
            Err(error) if error.is_denied() => {
                self.schemas.clear();
                Err(error)
            }
            dropped => dropped.or_else(|_| self.drop_anew()),
        }
    }

    fn drop_anew(&mut self) -> Result<()> {
        if self.schemas.is_empty() {
            return Ok(());
        }
        self.drop_over(&mut session::open(self.options, Use::Restore)?)
    }

    fn drop_over(&mut self, connection: &mut Connection) -> Result<()> {
        while let Some(schema) = self.schemas.last() {
            let sql = format!("DROP DATABASE IF EXISTS {}", quote::identifier(schema));
            connection.execute(&sql).doing(|| sql.clone())?;
            self.schemas.pop();
        }
        Ok(())
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // After an error of the trial that one is to be reported; without one, nothing is left to drop here.
        let _ = self.drop_anew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_one_name_are_told_apart() {
        let variables = |id: &str| {
            let all =
                [("hostname", "db"), ("port", "3306"), ("datadir", "/var/lib/mysql/"), ("server_id", id)];
            all.map(|(name, value)| [name.to_owned(), value.to_owned()]).to_vec()
        };
        let reversed = variables("1").into_iter().rev().collect();
        assert_eq!(begin_of(variables("1")), begin_of(reversed));
        assert_ne!(begin_of(variables("1")), begin_of(variables("2")));
        assert!(is_scratch(&format!("{}7_0", begin_of(variables("1")))));
    }

    #[test]
    fn only_names_of_trials_are_scratch() {
        assert!(
            is_scratch("drover_check_0a1b2c3d_12_0") && !is_of_older_release("drover_check_0a1b2c3d_12_0")
        );
        assert!(is_scratch("drover_check_12_0") && is_of_older_release("drover_check_12_0"));
        for other in [
            "drover_check",
            "drover_check_",
            "drover_check_list",
            "drover_check_0a1b2c3d_12",
            "drover_check_0a_1_2_3",
            "drover",
        ] {
            assert!(!is_scratch(other), "{other}");
        }
    }
}
