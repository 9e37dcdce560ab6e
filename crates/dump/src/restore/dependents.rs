//! What needs a table, view or sequence that the target cannot hold, and is made there all the same: foreign keys, and programs, whose
//! statements the server looks at when they run.

use std::collections::BTreeSet;

use drover_db::sql::{Dialect, Token, tokens};
use drover_db::{Connection, quote};

use super::objects::{Scripts, each};
use super::rename::Renames;
use super::trial::{Kind, Outcome, Trial, kind_of};
use crate::Result;
use crate::ddl::CreateTable;
use crate::dump::catalog::Name;
use crate::error::Doing;
use drover_format::manifest::{Manifest, Schema};
use drover_format::script::dialect;

/// The table that a foreign key in a table of `schema` refers to.
pub(super) fn parent(item: &[u8], schema: &str) -> Option<Name> {
    let code: Vec<_> = tokens(item, Dialect::default()).filter(Token::is_code).collect();
    let at = code.iter().position(|token| token.is_word("REFERENCES"))?;
    let name = |at: usize| String::from_utf8(code.get(at)?.name()?).ok();
    match code.get(at + 2).is_some_and(|token| token.is_symbol(b'.')) {
        true => Some(Name::new(&name(at + 1)?, &name(at + 3)?)),
        false => Some(Name::new(schema, &name(at + 1)?)),
    }
}

/// The foreign keys of the dump's tables, by their names on the target: whose it is, and to which table it refers.
pub(super) fn foreign_keys(scripts: &Scripts<'_>, manifest: &Manifest) -> Result<Vec<(Name, Name)>> {
    let mut found = Vec::new();
    for (schema, table) in manifest.tables().filter(|(_, table)| !table.script.is_absent()) {
        let create = scripts.read(&table.script)?.pop().unwrap_or_default();
        let items = CreateTable::parse(&create).map(|parts| parts.items).unwrap_or_default();
        let child = scripts.renames.relation(&schema.name, &table.name);
        let keys = items.iter().filter(|item| kind_of(item) == Kind::ForeignKey);
        found.extend(
            keys.filter_map(|item| parent(item, &child.schema)).map(|parent| (child.clone(), parent)),
        );
    }
    Ok(found)
}

/// Warns of foreign keys to tables that are neither in the dump nor on the target: they are made, and take no rows until those are there.
pub(super) fn keys_to_nowhere(
    scripts: &Scripts<'_>,
    connection: &mut Connection,
    manifest: &Manifest,
) -> Result<Vec<String>> {
    let own: BTreeSet<_> = manifest
        .tables()
        .map(|(schema, table)| scripts.renames.relation(&schema.name, &table.name))
        .collect();
    let others: BTreeSet<_> =
        foreign_keys(scripts, manifest)?.into_iter().filter(|(_, parent)| !own.contains(parent)).collect();
    let mut warnings = Vec::new();
    for (child, parent) in others {
        let is_there = format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            quote::string(&parent.schema),
            quote::string(&parent.name)
        );
        if connection.first(is_there).doing(|| format!("looking for {parent}"))?.is_none() {
            warnings.push(format!(
                "table {child}: a foreign key refers to {parent}, which is neither here nor in the dump: until it is made, no row can be added"
            ));
        }
    }
    Ok(warnings)
}

/// Notes programs that name what is refused.
pub(super) fn note(trial: &Trial<'_>, outcome: &Outcome) -> Result<()> {
    let Some(translator) = trial.translator else { return Ok(()) };
    let known = translator.refused();
    let refused =
        outcome.refused.iter().map(|(_, label, _)| label).chain(known.iter().map(|one| &one.object));
    let labels: BTreeSet<_> = refused.cloned().collect();
    if labels.is_empty() {
        return Ok(());
    }
    let files: BTreeSet<_> = outcome.refused.iter().map(|(file, _, _)| file.as_str()).collect();
    let renames = &Renames::default();
    let scripts =
        Scripts { store: trial.store, renames, definers: trial.definers, translator: Some(translator) };
    let kinds: [fn(&Schema) -> &Vec<_>; 3] = [|s| &s.routines, |s| &s.triggers, |s| &s.events];
    let programs = kinds.into_iter().flat_map(|kind| each(trial.manifest, kind));
    for (schema, program) in programs.filter(|(_, program)| !files.contains(program.script.file.as_str())) {
        let statements = scripts.read(&program.script)?;
        let create = statements.iter().find(|statement| statement.starts_with(b"CREATE "));
        for label in
            create.map(|text| named(text, dialect(&statements), &schema.name, &labels)).into_iter().flatten()
        {
            let reason = "it cannot be made, and this program names it: a statement that comes to it fails";
            translator.lacks(&program.script.file, &label, reason);
        }
    }
    Ok(())
}

/// Which of the refused tables, views and sequences a statement names.
fn named(text: &[u8], dialect: Dialect, schema: &str, refused: &BTreeSet<String>) -> BTreeSet<String> {
    let code: Vec<_> = tokens(text, dialect).filter(Token::is_code).collect();
    let name = |at: usize| String::from_utf8(code.get(at)?.name()?).ok();
    let mut found = BTreeSet::new();
    for at in 0..code.len() {
        let Some(last) = name(at) else { continue };
        let is_qualified = at > 0 && code[at - 1].is_symbol(b'.');
        let qualifier = if is_qualified { at.checked_sub(2).and_then(name) } else { Some(schema.to_owned()) };
        let Some(qualifier) = qualifier else { continue };
        let full = quote::qualified(&qualifier, &last);
        let labels = ["table", "view", "sequence"].map(|kind| format!("{kind} {full}"));
        found.extend(labels.into_iter().filter(|label| refused.contains(label)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_foreign_key() {
        let parent = |item: &str| parent(item.as_bytes(), "s");
        assert_eq!(
            parent("CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`id`) ON DELETE CASCADE"),
            Some(Name::new("s", "p"))
        );
        assert_eq!(
            parent("CONSTRAINT `references` FOREIGN KEY (`a`) REFERENCES `o`.`p` (`id`)"),
            Some(Name::new("o", "p"))
        );
        assert_eq!(parent("KEY `a` (`a`)"), None);
    }

    #[test]
    fn names_in_programs() {
        let refused = ["table `s`.`cars`", "view `o`.`v`"].map(str::to_owned).into();
        let named = |text: &str| named(text.as_bytes(), Dialect::default(), "s", &refused);
        assert_eq!(named("CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW DELETE FROM cars").len(), 1);
        assert_eq!(named("CREATE PROCEDURE p() SELECT * FROM `o`.`v`, s.cars").len(), 2);
        assert_eq!(named("CREATE PROCEDURE p() SELECT x.cars, 'cars', v FROM x -- cars").len(), 0);
    }
}
