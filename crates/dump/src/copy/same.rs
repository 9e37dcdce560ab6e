//! What may be copied where source and target are the same server.

use drover_db::{Connection, server};

use crate::dump::select::Selected;
use crate::error::Doing;
use crate::restore::rename::Rename;
use crate::{Error, Result};

/// Refuses to copy a schema onto itself. Whether both are the same server all the same.
pub(super) fn refuse(
    source: &mut Connection,
    target: &mut Connection,
    selected: &Selected,
    renames: &[Rename],
) -> Result<bool> {
    let doing = || "finding out whether source and target are the same server";
    if !server::is_same(source, target).doing(doing)? {
        return Ok(false);
    }
    let folds = server::takes_any_case(target).doing(|| "reading lower_case_table_names")?;
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
