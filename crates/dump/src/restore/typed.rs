//! Names of schemas and tables in the texts of programs, as somebody typed them. Where they are taken in any case that does not matter; on a
//! server where case counts, DROP TABLE IF EXISTS passes over a table that it names otherwise.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::quote;
use drover_db::sql::{Kind, tokens};

use super::objects::{Scripts, each};
use super::rename::{Case, Renames};
use crate::Result;
use drover_format::manifest::{Manifest, Object, Schema};
use drover_format::script::dialect;

/// What reads or changes rows, in its own words.
const PROGRAMS: [fn(&Schema) -> &Vec<Object>; 3] = [|s| &s.routines, |s| &s.triggers, |s| &s.events];

/// What to say of programs whose text has the name of something of the dump in another case.
pub(super) fn warnings(scripts: &Scripts<'_>, manifest: &Manifest) -> Result<Vec<String>> {
    if !manifest.takes_any_case() || scripts.renames.case() == Case::Lower {
        return Ok(Vec::new());
    }
    let names = names(manifest, scripts.renames);
    let mut warnings = Vec::new();
    for (schema, object) in PROGRAMS.into_iter().flat_map(|programs| each(manifest, programs)) {
        let statements = scripts.read(&object.script)?;
        let dialect = dialect(&statements);
        let create = statements.iter().find(|statement| statement.starts_with(b"CREATE "));
        let words: BTreeSet<_> = tokens(create.map_or(&[], Vec::as_slice), dialect)
            .filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted))
            .filter_map(|token| String::from_utf8(token.name()?).ok())
            .collect();
        let other = |word: &String| names.get(&word.to_lowercase()).filter(|name| *name != word);
        if let Some((typed, name)) = words.iter().find_map(|word| Some((word, other(word)?))) {
            let label = quote::qualified(scripts.renames.schema(&schema.name), &object.name);
            let kind = object.kind.to_lowercase();
            let [typed, name] = [typed, name].map(|name| quote::identifier(name));
            warnings.push(format!(
                "{kind} {label} names {typed}, which is {name} here: the dump's server took names in any case, and this one does not"
            ));
        }
    }
    Ok(warnings)
}

/// The names of schemas, tables, views and sequences on the target, by what they are in lower case.
fn names(manifest: &Manifest, renames: &Renames) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for schema in &manifest.schemas {
        let tables = schema.tables.iter().map(|table| &*table.name);
        let objects = schema.views.iter().chain(&schema.sequences).map(|object| &*object.name);
        for name in tables.chain(objects).chain([renames.schema(&schema.name)]) {
            names.insert(name.to_lowercase(), name.to_owned());
        }
    }
    names
}
