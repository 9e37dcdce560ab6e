//! Compares what schemas give to all that is made in them: no definition tells of it.

use drover_db::{Connection, quote};

use super::verified::{Difference, Verify, VerifyReport};
use crate::Result;
use crate::schema::SchemaOptions;

/// Looks at the options of each schema of the dump.
pub(super) fn compare(
    verify: &Verify<'_>,
    connection: &mut Connection,
    report: &mut VerifyReport,
) -> Result<()> {
    let scripts = verify.as_written();
    for schema in &verify.manifest.schemas {
        let name = verify.renames.any_schema(&schema.name);
        let Some(then) = scripts.options(connection, schema)? else { continue };
        let what = match SchemaOptions::of_schema(connection, &name)? {
            Some(now) => now.differences(&then),
            None => vec!["there is no such schema".into()],
        };
        let object = quote::identifier(&name);
        let difference = |what| Difference { object: object.clone(), file: None, what };
        report.differences.extend(what.into_iter().map(difference));
    }
    Ok(())
}
