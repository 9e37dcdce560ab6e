//! Creating views: after those that they read, in whichever schema these are, and also where the target does not have the
//! users that they belong to.

use drover_db::sql::{Dialect, tokens};
use drover_db::{Connection, er, quote};

use super::objects::{Scripts, each};
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::manifest::{Manifest, Object, Schema};

/// Creates all views of a dump.
pub(super) fn create(
    scripts: &Scripts<'_>,
    connection: &mut Connection,
    manifest: &Manifest,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let failed = attempt(scripts, connection, manifest, warnings)?;
    refused(failed, warnings)
}

/// Creates all views that can be, and gives the others.
pub(super) fn attempt<'a>(
    scripts: &Scripts<'_>,
    connection: &mut Connection,
    manifest: &'a Manifest,
    warnings: &mut Vec<String>,
) -> Result<Failed<'a>> {
    let views: Vec<_> = each(manifest, |schema| &schema.views).collect();
    let failed = each_in_turn(views.clone(), |schema, view| {
        scripts.run_in(connection, &schema.name, &view.script, warnings)
    })?;
    match failed.iter().any(|(_, view, error)| !view.broken && is_about_a_definer(error)) {
        true => create_without_users(scripts, connection, manifest, views, warnings),
        false => Ok(failed),
    }
}

pub(super) type Failed<'a> = Vec<(&'a Schema, &'a Object, Error)>;

/// A view cannot be made on a view or function whose definer the target does not have, or who lacks a privilege there, but may stay on it:
/// so all are made without their definers, and then again with them, those first that no other reads any more.
fn create_without_users<'a>(
    scripts: &Scripts<'_>,
    connection: &mut Connection,
    manifest: &'a Manifest,
    views: Vec<(&'a Schema, &'a Object)>,
    warnings: &mut Vec<String>,
) -> Result<Failed<'a>> {
    let functions: Vec<_> =
        each(manifest, |schema| &schema.routines).filter(|(_, object)| object.kind == "FUNCTION").collect();
    make_again(scripts, connection, &functions, warnings, without_definer)?;
    let mut made = Vec::new();
    let failed = each_in_turn(views, |schema, view| {
        let change = |create: &[u8]| or_replace(&without_definer(create));
        scripts.run_changed(connection, &schema.name, &view.script, warnings, change)?;
        made.push((schema, view));
        Ok(())
    })?;
    for (schema, view) in made.iter().rev() {
        scripts.run_changed(connection, &schema.name, &view.script, warnings, or_replace)?;
    }
    make_again(scripts, connection, &functions, warnings, <[u8]>::to_vec)?;
    Ok(failed)
}

/// Drops functions and creates them with a changed statement.
fn make_again(
    scripts: &Scripts<'_>,
    connection: &mut Connection,
    functions: &[(&Schema, &Object)],
    warnings: &mut Vec<String>,
    change: fn(&[u8]) -> Vec<u8>,
) -> Result<()> {
    for (schema, function) in functions {
        let name = quote::qualified(scripts.renames.schema(&schema.name), &function.name);
        connection.execute(format!("DROP FUNCTION {name}")).doing(|| format!("dropping {name}"))?;
        scripts.run_changed(connection, &schema.name, &function.script, warnings, change)?;
    }
    Ok(())
}

/// Views may read each other: what fails is tried again as long as others succeed. Gives those that failed to the end.
fn each_in_turn<'a>(
    mut waiting: Vec<(&'a Schema, &'a Object)>,
    mut create: impl FnMut(&'a Schema, &'a Object) -> Result<()>,
) -> Result<Failed<'a>> {
    loop {
        let (before, mut failed) = (waiting.len(), Vec::new());
        for (schema, view) in waiting {
            match create(schema, view) {
                Ok(()) => {}
                Err(error) if error.is_refusal() => failed.push((schema, view, error)),
                Err(error) => return Err(error),
            }
        }
        if failed.len() == before || failed.is_empty() {
            return Ok(failed);
        }
        waiting = failed.into_iter().map(|(schema, view, _)| (schema, view)).collect();
    }
}

/// Views that cannot be created: one that was broken when it was dumped is only reported.
fn refused(failed: Failed<'_>, warnings: &mut Vec<String>) -> Result<()> {
    for (schema, view, error) in failed {
        let name = quote::qualified(&schema.name, &view.name);
        if !view.broken {
            return Err(match error.hint() {
                Some(_) => error,
                None => Error::with_hint(
                    error.to_string(),
                    "if the view reads what is not in the dump, make that first, then resume with --resume; --skip-refused leaves the view out",
                ),
            });
        }
        warnings.push(format!("view {name} was broken when it was dumped, and was not created: {error}"));
    }
    Ok(())
}

/// Whether a definer may be the reason: it does not exist (1449), or lacks a privilege on a schema, table, column or routine. The servers
/// check the privileges of views and functions that a new view reads with those of their definers, and name these as the account.
fn is_about_a_definer(error: &Error) -> bool {
    matches!(error, Error::Server { source, .. } if matches!(source.code(), Some(er::NO_SUCH_USER | er::VIEW_INVALID | er::DBACCESS_DENIED | er::TABLEACCESS_DENIED | er::COLUMNACCESS_DENIED | er::PROCACCESS_DENIED)))
}

/// The statement with CREATE OR REPLACE.
fn or_replace(create: &[u8]) -> Vec<u8> {
    match create.strip_prefix(b"CREATE ") {
        Some(rest) => [b"CREATE OR REPLACE ", rest].concat(),
        None => create.to_vec(),
    }
}

/// The statement without `DEFINER=user@host`.
fn without_definer(create: &[u8]) -> Vec<u8> {
    let all: Vec<_> = tokens(create, Dialect::default()).collect();
    let definer =
        all.windows(5).position(|w| w[0].is_word("DEFINER") && w[1].is_symbol(b'=') && w[3].is_symbol(b'@'));
    let cut = definer.map_or(0..0, |at| at..at + 5);
    let kept = all.iter().enumerate().filter(|(index, _)| !cut.contains(index));
    kept.flat_map(|(_, token)| token.text.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definer_is_taken_out_and_nothing_else() {
        let text = b"CREATE ALGORITHM=MERGE DEFINER=`a`@`b``c` SQL SECURITY DEFINER VIEW `v` AS select 'DEFINER=`a`@`b`'";
        let expected = "CREATE ALGORITHM=MERGE  SQL SECURITY DEFINER VIEW `v` AS select 'DEFINER=`a`@`b`'";
        assert_eq!(String::from_utf8(without_definer(text)).unwrap(), expected);
        assert_eq!(or_replace(b"CREATE VIEW v"), b"CREATE OR REPLACE VIEW v");
    }
}
