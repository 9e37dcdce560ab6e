//! What an earlier run of a copy left on the target: what of it stays, and what has to go.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::Connection;

use super::load::STAGING;
use super::state::State;
use crate::dump::catalog::{self, Name, RelationKind};
use crate::dump::journal::Kept;
use crate::dump::ranges;
use crate::error::Doing;
use crate::restore::objects::drop_word;
use crate::restore::rename::Renames;
use crate::restore::steps::Steps;
use crate::{Error, Result};
use drover_format::manifest::{Manifest, Schema, Table};
use drover_format::names;

/// What the target holds of an earlier run, and what is to be there.
pub(super) struct Earlier<'a> {
    pub(super) state: &'a State,
    /// What comes now.
    pub(super) manifest: &'a Manifest,
    /// What must be the same of a table for its rows to stay.
    pub(super) shapes: &'a BTreeMap<Name, Table>,
    pub(super) renames: &'a Renames,
    /// Tables of which what is not the same any more could not be told from the rest.
    pub(super) all_or_nothing: &'a BTreeSet<Name>,
}

impl Earlier<'_> {
    /// Sifts what is kept. Steps of what does not stay are undone before anything else; its tables are dropped as they are
    /// made anew. Gives warnings.
    ///
    /// # Errors
    /// If the target has something of the same name that somebody else has made.
    pub(super) fn sift(
        &self,
        connection: &mut Connection,
        kept: &mut Kept,
        steps: &mut Steps,
    ) -> Result<Vec<String>> {
        let there = catalog::relations(connection)?;
        let there: BTreeMap<_, _> =
            there.into_iter().map(|relation| (relation.name, relation.kind)).collect();
        self.check_owners(&there)?;
        kept.sift_committed(self.shapes, |chunk| steps.has(&chunk.file));
        for name in kept.names() {
            let is_there = there.contains_key(&self.target(&name));
            let of_table = kept.of(&name);
            let known: BTreeSet<_> =
                of_table.iter().flat_map(|range| &range.chunks).map(|chunk| chunk.file.as_str()).collect();
            let is_known = |step: &str| table_of(step) != Some(stem(&name).as_str()) || known.contains(step);
            let fits = self.shapes.get(&name).is_some_and(|table| table.key.is_none())
                || ranges::follow_each_other(&of_table);
            if !is_there || !fits || self.all_or_nothing.contains(&name) || !steps.done().all(is_known) {
                kept.forget(&name);
            }
        }
        for tables in steps.done().filter_map(|step| step.strip_prefix(STAGING)) {
            let sql = format!("DROP TABLE IF EXISTS {tables}");
            connection.execute(sql).doing(|| format!("dropping {tables}"))?;
        }
        // A sequence stands elsewhere by now.
        let stays = |step: &str| match table_of(step) {
            Some(_) => kept.holds(step),
            None => !step.starts_with("sequence ") && !step.starts_with(STAGING),
        };
        steps.undo(connection, |step| !stays(step))?;
        self.drop_what_is_gone(connection, &there)
    }

    fn target(&self, name: &Name) -> Name {
        self.renames.relation(&name.schema, &name.name)
    }

    fn check_owners(&self, there: &BTreeMap<Name, RelationKind>) -> Result<()> {
        let is_foreign = |name: &&Name| there.contains_key(*name) && !self.state.has_made(&name.to_string());
        match relations(self.manifest, self.renames).iter().find(is_foreign) {
            None => Ok(()),
            Some(name) => Err(Error::with_hint(
                format!("the target has {name} already, which this copy has not made: nothing was changed"),
                "drop or rename it, or leave the source's out with --exclude in a copy begun anew",
            )),
        }
    }

    /// Drops what an earlier run has made and the source has no more.
    fn drop_what_is_gone(
        &self,
        connection: &mut Connection,
        there: &BTreeMap<Name, RelationKind>,
    ) -> Result<Vec<String>> {
        if !self.manifest.contents.has_definitions() {
            return Ok(Vec::new());
        }
        let wanted = relations(self.manifest, self.renames);
        let is_gone = |name: &Name| self.state.has_made(&name.to_string()) && !wanted.contains(name);
        let mut warnings = Vec::new();
        for (name, kind) in there.iter().filter(|(name, _)| is_gone(name)) {
            let sql = format!("DROP {} {name}", drop_word(*kind));
            connection.execute(&sql).doing(|| sql.clone())?;
            warnings.push(format!("{name} was dropped again: the source does not have it any more"));
        }
        Ok(warnings)
    }
}

/// The tables, views and sequences of the target.
pub(super) fn relations(manifest: &Manifest, renames: &Renames) -> BTreeSet<Name> {
    let of_schema = |schema: &Schema| -> Vec<Name> {
        let objects = schema.views.iter().chain(&schema.sequences).map(|object| &object.name);
        let names = schema.tables.iter().map(|table| &table.name).chain(objects);
        names.map(|name| renames.relation(&schema.name, name)).collect()
    };
    manifest.schemas.iter().flat_map(of_schema).collect()
}

/// What the names of a table's chunks begin with.
fn stem(name: &Name) -> String {
    format!("{}/{}", names::file_name(&name.schema), names::file_name(&name.name))
}

/// What the name of a chunk begins with; `None` for a step that is none.
fn table_of(step: &str) -> Option<&str> {
    let (stem, number) = step.strip_suffix(".tsv")?.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_known_by_their_names() {
        let name = Name::new("a.b", "t/1");
        assert_eq!(table_of(&format!("{}.00012.tsv", stem(&name))), Some(stem(&name).as_str()));
        for other in ["begun", "sequence `a`.`b`", "a/t.tsv", "account `x.1.tsv`@`y`"] {
            assert_eq!(table_of(other), None, "{other}");
        }
    }
}
