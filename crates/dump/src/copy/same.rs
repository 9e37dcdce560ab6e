//! Whether two connections lead to the same server. Addresses do not tell, nor do ids, which are copied along with data
//! directories: but a lock by name is seen on its own server only.

use std::time::{SystemTime, UNIX_EPOCH};

use drover_db::{Connection, quote, server};

use crate::dump::select::Selected;
use crate::error::Doing;
use crate::format::digest::Digest;
use crate::restore::rename::Rename;
use crate::{Error, Result};

/// Whether both connections are to one server.
fn is_same_server(source: &mut Connection, target: &mut Connection) -> Result<bool> {
    let doing = || "finding out whether source and target are the same server";
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let id = Digest::of(format!("{now:?} {} {}", std::process::id(), source.id()).as_bytes());
    let name = quote::string(&format!("drover_{id}"));
    source.query(format!("SELECT GET_LOCK({name}, 0)")).doing(doing)?;
    let holder = target.first(format!("SELECT IS_USED_LOCK({name})")).doing(doing)?;
    source.query(format!("SELECT RELEASE_LOCK({name})")).doing(doing)?;
    Ok(holder.is_some_and(|row| row.text(0).is_some()))
}

/// Refuses to copy a schema onto itself. Whether both are the same server all the same.
pub(super) fn refuse(
    source: &mut Connection,
    target: &mut Connection,
    selected: &Selected,
    renames: &[Rename],
) -> Result<bool> {
    if !is_same_server(source, target)? {
        return Ok(false);
    }
    let folds = server::variable(target, "GLOBAL.lower_case_table_names")
        .doing(|| "reading lower_case_table_names")?
        .is_some_and(|value| value != "0");
    let known = |name: &str| if folds { name.to_lowercase() } else { name.to_owned() };
    let schemas = selected.schemas();
    let new = |name: &String| {
        let rename = renames.iter().find(|rename| rename.old == *name);
        known(rename.map_or(name, |rename| &rename.new))
    };
    let is_read = |name: &String| schemas.iter().any(|schema| known(schema) == new(name));
    match schemas.iter().find(|name| is_read(name)) {
        None => Ok(true),
        Some(name) => Err(Error::with_hint(
            format!(
                "source and target are the same server: schema '{name}' would be copied onto one that is read"
            ),
            "is one of the URLs wrong? On one server, --into OLD=NEW copies each schema under another name",
        )),
    }
}
