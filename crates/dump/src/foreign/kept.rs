//! What a definition of a table asks for and the target does not keep, without an error: read of what the target shows afterwards.

use std::sync::PoisonError;

use drover_db::sql::Dialect;

use super::context::Context;
use super::printed::printed;
use crate::Result;
use crate::ddl::CreateTable;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::translate::{Ignored, ignored, one_line, passed_over};
use drover_format::Rewrite;

/// Notes what the target did not keep of a statement that has made or changed a table.
pub(super) fn note(context: &Context<'_>, table: &Name, text: &[u8], dialect: Dialect) -> Result<()> {
    let Some(asked) = printed(text, dialect) else { return Ok(()) };
    let sql = format!("SHOW CREATE TABLE {table}");
    let shown = {
        let mut observer = context.observer.lock().unwrap_or_else(PoisonError::into_inner);
        match observer.first(&sql) {
            // Tables of tables that are not there, and of other servers', cannot be shown.
            Err(drover_db::Error::Server(_)) => None,
            shown => shown.doing(|| sql)?,
        }
    };
    let shown = shown.as_ref().and_then(|row| row.bytes(1)).and_then(CreateTable::parse);
    let Some(shown) = shown else { return Ok(()) };
    let object = format!("table {table}");
    let found = ignored(&asked, &shown).into_iter().chain(passed_over(&asked, &shown));
    context.tally.rewritten(found.map(|Ignored { asked, kept, reason, loses }| {
        let (from, to) = (one_line(&asked), one_line(&kept));
        Rewrite { object: object.clone(), from, to, reason, loses }
    }));
    Ok(())
}
