//! What the server's schemas use of things that another version may not have.

use std::collections::BTreeMap;

use drover_units::show::things;

use crate::evidence::Answer;
use crate::facts::Facts;

/// Columns by type and collation.
pub(super) const COLUMNS: &str = "\
    SELECT LOWER(DATA_TYPE) AS name, COLLATION_NAME AS collation, COUNT(*) AS many, MIN(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME, \
    '.', COLUMN_NAME)) AS example FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ('mysql', 'information_schema', \
    'performance_schema', 'sys') GROUP BY LOWER(DATA_TYPE), COLLATION_NAME LIMIT 1000";

/// Tables by engine, kind and collation.
pub(super) const TABLES: &str = "\
    SELECT COALESCE(ENGINE, '') AS name, TABLE_TYPE AS form, TABLE_COLLATION AS collation, COUNT(*) AS many, \
    MIN(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)) AS example FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('mysql', \
    'information_schema', 'performance_schema', 'sys') GROUP BY COALESCE(ENGINE, ''), TABLE_TYPE, TABLE_COLLATION LIMIT 1000";

/// Something that is used, and by how much.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// What is used.
    pub(super) name: String,
    /// A collation that goes with it.
    pub(super) collation: Option<String>,
    /// What kind of table uses it.
    pub(super) form: Option<String>,
    /// What uses it: `column`.
    pub(super) by: &'static str,
    /// By how many.
    pub(super) many: u64,
    /// One of them.
    pub(super) example: String,
}

/// `12 columns, such as shop.orders.id`
impl std::fmt::Display for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.many {
            0 | 1 => write!(f, "{} {}", self.by, self.example),
            many => write!(f, "{}, such as {}", things(many, self.by), self.example),
        }
    }
}

/// What is used, and what of it could not be seen.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) used: Vec<Used>,
    pub(super) unknown: Vec<String>,
}

impl Inventory {
    /// Of the answers to statements that give columns `name`, `many` and `example`, each with what uses the things. `hidden` is what this
    /// account does not see in any case.
    pub(super) fn ask(facts: &Facts, statements: &[(&'static str, &str)], hidden: Option<String>) -> Self {
        let mut inventory = Self { used: Vec::new(), unknown: hidden.into_iter().collect() };
        for (by, sql) in statements {
            match facts.ask(sql) {
                Ok(answer) => inventory.used.extend(used(by, &answer)),
                Err(unseen) => inventory.unknown.push(format!("{by}s: {unseen}")),
            }
        }
        inventory
    }

    /// What is used of the names that `name_of` gives, by name.
    pub(super) fn by_name(&self, name_of: impl Fn(&Used) -> Option<String>) -> BTreeMap<String, Vec<Used>> {
        let mut named: BTreeMap<String, Vec<Used>> = BTreeMap::new();
        for used in &self.used {
            let Some(name) = name_of(used) else { continue };
            let uses = named.entry(name).or_default();
            match uses.iter_mut().find(|known| known.by == used.by) {
                Some(known) => known.many += used.many,
                None => uses.push(used.clone()),
            }
        }
        named
    }
}

fn used(by: &'static str, answer: &Answer) -> Vec<Used> {
    let of = |row: &Vec<Option<String>>| {
        let text = |column| answer.value(row, column).map(ToOwned::to_owned);
        Used {
            name: text("name").unwrap_or_default(),
            collation: text("collation"),
            form: text("form"),
            by,
            many: text("many").and_then(|many| many.parse().ok()).unwrap_or(0),
            example: text("example").unwrap_or_default(),
        }
    };
    answer.rows.iter().map(of).collect()
}

/// `3 columns, such as a.b.c; table a.b`
pub(super) fn told(uses: &[Used]) -> String {
    uses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_often_something_is_used() {
        let used = |name: &str, by, many| Used {
            name: name.into(),
            by,
            many,
            example: "s.t".into(),
            ..Used::default()
        };
        let all =
            vec![used("A", "table", 1), used("B", "table", 2), used("A", "table", 3), used("A", "schema", 1)];
        let inventory = Inventory { used: all, unknown: Vec::new() };
        let named = inventory.by_name(|used| Some(used.name.clone()));
        assert_eq!(told(&named["A"]), "4 tables, such as s.t; schema s.t");
        assert_eq!(told(&named["B"]), "2 tables, such as s.t");
    }
}
