//! Which logs a server has.

use std::collections::VecDeque;

use drover_db::{Connection, server};

use super::Origin;
use crate::{Error, Result};

/// A log that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its name, without a path.
    pub(super) name: String,
    /// Where its last event ends; of the last log how far it is written.
    pub(super) end: u64,
}

/// What stands before a log of MySQL that is encrypted, in bytes: positions leave it out, sizes do not.
const ENCRYPTION_HEADER: u64 = 512;

/// All that the server has, in their order; at least one.
pub(super) fn list(connection: &mut Connection, origin: &Origin) -> Result<Vec<Listed>> {
    let is_tidb = server::is_tidb(connection);
    if is_tidb.map_err(|source| origin.failed("connecting", source))? {
        return Err(Error::with_hint(
            "TiDB writes no binary log: there is nothing to read",
            "TiCDC gives its changes; `drover copy` copies what is there",
        ));
    }
    let rows = connection.query("SHOW BINARY LOGS");
    let rows = rows.map_err(|source| origin.failed("listing the server's logs", source))?;
    let listed = |row: drover_db::Row| {
        let before = if row.string(2) == "Yes" { ENCRYPTION_HEADER } else { 0 };
        Listed { name: row.string(0), end: row.parse(1).unwrap_or(0_u64).saturating_sub(before) }
    };
    let all: Vec<_> = rows.into_iter().map(listed).collect();
    match all.is_empty() {
        true => Err(Error::found("the server has no binary log")),
        false => Ok(all),
    }
}

/// Those of the names that are to be read: all, if none was named.
pub(super) fn wanted(listed: &[Listed], named: Vec<String>) -> Result<VecDeque<String>> {
    if named.is_empty() {
        return Ok(listed.iter().map(|log| log.name.clone()).collect());
    }
    let is_there = |name: &&String| listed.iter().any(|log| log.name == **name);
    if let Some(missing) = named.iter().find(|name| !is_there(name)) {
        let has = match listed {
            [only] => only.name.clone(),
            [first, .., last] => format!("{} to {}", first.name, last.name),
            [] => "none".into(),
        };
        return Err(Error::with_hint(
            format!("the server has no log '{missing}'; it has {has}"),
            "older ones may have been purged; SHOW BINARY LOGS lists those that are there",
        ));
    }
    Ok(named.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_must_be_there() {
        let listed = ["b.000007", "b.000008", "b.000009"].map(|name| Listed { name: name.into(), end: 4 });
        let names = |names: &[&str]| {
            let named = names.iter().map(|&name| name.to_owned()).collect();
            wanted(&listed, named).map(Vec::from).map_err(|error| error.to_string())
        };
        assert_eq!(names(&[]).unwrap(), ["b.000007", "b.000008", "b.000009"]);
        assert_eq!(names(&["b.000009", "b.000007"]).unwrap(), ["b.000009", "b.000007"]);
        let error = names(&["b.000008", "b.000006"]).unwrap_err();
        assert_eq!(error, "the server has no log 'b.000006'; it has b.000007 to b.000009");
    }
}
