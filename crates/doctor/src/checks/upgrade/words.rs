//! Names that are reserved words in the other version and none here.

use std::collections::BTreeSet;

use drover_units::show::things;

use super::against::{compare, first};
use super::inventory::{Inventory, told};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::{OWN, hidden};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::target::{self, Snapshot};

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.words",
    area: Area::Upgrade,
    looks_for: "names of schemas, tables, columns, routines and parameters that are reserved words in the other version, and none here",
    needs: "information_schema.SCHEMATA, TABLES, COLUMNS, ROUTINES and PARAMETERS (SELECT on all schemas); KEYWORDS on versions that \
            drover does not know",
    source: "on a server of that version each of its keywords was tried as the name of a column and of a table (scripts/snapshot-target)",
    refuted_by: "all statements that use the name write it in quotes",
    look,
};

/// Where names are: what has them, the table of information_schema, their column, their schema's, and the whole name.
const PLACES: [(&str, &str, &str, &str, &str); 5] = [
    ("schema", "SCHEMATA", "SCHEMA_NAME", "SCHEMA_NAME", "SCHEMA_NAME"),
    ("table", "TABLES", "TABLE_NAME", "TABLE_SCHEMA", "CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)"),
    (
        "column",
        "COLUMNS",
        "COLUMN_NAME",
        "TABLE_SCHEMA",
        "CONCAT(TABLE_SCHEMA, '.', TABLE_NAME, '.', COLUMN_NAME)",
    ),
    ("routine", "ROUTINES", "ROUTINE_NAME", "ROUTINE_SCHEMA", "CONCAT(ROUTINE_SCHEMA, '.', ROUTINE_NAME)"),
    (
        "parameter",
        "PARAMETERS",
        "PARAMETER_NAME",
        "SPECIFIC_SCHEMA",
        "CONCAT(SPECIFIC_SCHEMA, '.', SPECIFIC_NAME, '.', PARAMETER_NAME)",
    ),
];

/// Whether a keyword is reserved; MariaDB does not tell.
const RESERVED: &str = "SELECT WORD AS name FROM information_schema.KEYWORDS WHERE RESERVED = 1 LIMIT 2000";
const KEYWORDS: &str = "SELECT WORD AS name FROM information_schema.KEYWORDS LIMIT 2000";

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| {
            let names = names(facts);
            let here = here(facts, &names);
            (names, here)
        },
        |(names, here), target| Ok(outcome(names?, &here?, target)),
    )
}

/// All names that are reserved in any version that is known.
fn names(facts: &Facts) -> Seen<Inventory> {
    let words: BTreeSet<_> = target::known()?.iter().flat_map(|one| &one.reserved_words).collect();
    let words = words.into_iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
    let statement = |(by, table, column, schema, whole): (&'static str, &str, &str, &str, &str)| {
        let sql = format!(
            "SELECT UPPER({column}) AS name, COUNT(*) AS many, MIN({whole}) AS example FROM information_schema.{table} WHERE \
             {schema} NOT IN {OWN} AND UPPER({column}) IN ({words}) GROUP BY UPPER({column}) LIMIT 2000"
        );
        (by, sql)
    };
    let statements = PLACES.map(statement);
    let statements: Vec<_> = statements.iter().map(|(by, sql)| (*by, sql.as_str())).collect();
    Ok(Inventory::ask(facts, &statements, hidden(facts, &["SELECT"])))
}

/// What is known of the words of this server.
struct Here {
    reserved: BTreeSet<String>,
    /// Keywords of which it is not known whether they are reserved.
    unclear: BTreeSet<String>,
}

/// A server that does not list its keywords is asked for each that is used as a name: one that is not reserved may be one.
fn asked(facts: &Facts, names: &Seen<Inventory>) -> BTreeSet<String> {
    let used = names.iter().flat_map(|names| &names.used).map(|used| &used.name);
    let is_reserved = |word: &&String| facts.ask(&format!("SELECT 1 AS {word}")).is_err();
    used.collect::<BTreeSet<_>>().into_iter().filter(is_reserved).cloned().collect()
}

fn here(facts: &Facts, names: &Seen<Inventory>) -> Seen<Here> {
    let words = |sql| -> Seen<BTreeSet<String>> {
        let answer = facts.ask(sql)?;
        Ok(answer.rows.iter().filter_map(|row| answer.value(row, "name").map(str::to_uppercase)).collect())
    };
    if let Some(own) = facts.own_series()? {
        return Ok(Here { reserved: own.reserved_words.clone(), unclear: BTreeSet::new() });
    }
    match words(RESERVED) {
        Ok(reserved) => Ok(Here { reserved, unclear: BTreeSet::new() }),
        // MySQL before 8.0 has no such list, and some later ones cannot show it (found with 8.0.12).
        Err(Unseen::Missing) if words(KEYWORDS).is_err() => {
            Ok(Here { reserved: asked(facts, names), unclear: BTreeSet::new() })
        }
        Err(_) => Ok(Here { reserved: BTreeSet::new(), unclear: words(KEYWORDS)? }),
    }
}

fn outcome(names: Inventory, here: &Here, target: &Snapshot) -> Outcome {
    let is_new = |word: &String| target.reserved_words.contains(word) && !here.reserved.contains(word);
    let named = names.by_name(|used| is_new(&used.name).then(|| used.name.clone()));
    let mut outcome = Outcome { unknown: names.unknown, ..Outcome::default() };
    let (unclear, new): (Vec<_>, Vec<_>) = named.iter().partition(|(word, _)| here.unclear.contains(*word));
    if !unclear.is_empty() {
        let words = first(unclear.into_iter().map(|(word, _)| word)).join(", ");
        outcome
            .unknown
            .push(format!("whether these names, which {target} reserves, are reserved here too: {words}"));
    }
    if new.is_empty() {
        outcome.fine.push(format!("no name that was seen is reserved in {target} and not here"));
        return outcome;
    }
    let finding = Finding::observed(
        Weight::Yellow,
        format!("{target} reserves {} that are names here", things(new.len() as u64, "word")),
        "write them in quotes in all statements, which works here already, or give the things other names",
    )
    .effect("a statement with such a name and no quotes is a syntax error there; programs that are kept with one do not run");
    let seen = first(new.into_iter().map(|(word, uses)| format!("{word}: {}", told(uses))));
    outcome.findings.push(seen.into_iter().fold(finding, Finding::seen));
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::inventory::Used;
    use super::*;

    fn words(reserved: &[&str], unclear: &[&str]) -> Outcome {
        let set = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let mysql = target::known().unwrap().iter().find(|one| one.name() == "mysql-9.7").unwrap();
        let used = Used {
            name: "RANK".into(),
            by: "column",
            many: 1,
            example: "s.t.rank".into(),
            ..Used::default()
        };
        let names = Inventory { used: vec![used], unknown: Vec::new() };
        outcome(names, &Here { reserved: set(reserved), unclear: set(unclear) }, mysql)
    }

    #[test]
    fn only_new_ones_count() {
        assert_eq!(words(&[], &[]).findings[0].seen, ["RANK: column s.t.rank"]);
        assert!(words(&["RANK"], &[]).findings.is_empty());
        let unclear = words(&[], &["RANK"]);
        assert!(unclear.findings.is_empty() && unclear.unknown[0].contains("RANK"));
    }
}
