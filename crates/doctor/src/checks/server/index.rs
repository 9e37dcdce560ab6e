//! Indexes as information_schema tells them, and which of them another one makes superfluous. Not a check.

use drover_db::quote;

use crate::evidence::Answer;

/// An index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) schema: String,
    pub(super) table: String,
    pub(super) name: String,
    /// `BTREE`, `FULLTEXT`, `SPATIAL`, `HASH`.
    pub(super) kind: String,
    pub(super) is_unique: bool,
    /// Whether the optimizer passes over it: MySQL's INVISIBLE, MariaDB's IGNORED.
    pub(super) is_hidden: bool,
    pub(super) parts: Vec<Part>,
}

/// One column of an index, or an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// What is indexed: a name, or an expression in parentheses.
    pub(super) what: String,
    pub(super) is_expression: bool,
    /// Of how many characters or bytes only the first are in it; `None` for all.
    pub(super) length: Option<u64>,
    pub(super) is_descending: bool,
}

/// The indexes of an answer that has the columns of an index in a row.
pub(super) fn of(answer: &Answer) -> Vec<Index> {
    let mut all: Vec<Index> = Vec::new();
    for row in &answer.rows {
        let text = |column| answer.value(row, column).unwrap_or_default();
        let part = Part {
            what: match answer.value(row, "c") {
                Some(column) => column.to_owned(),
                // MySQL keeps the quotes of strings in it escaped.
                None => format!("({})", text("expression").replace("\\'", "'")),
            },
            is_expression: answer.value(row, "c").is_none(),
            length: text("part").parse().ok(),
            is_descending: text("direction") == "D",
        };
        let is_of_last =
            |last: &Index| (&*last.schema, &*last.table, &*last.name) == (text("s"), text("t"), text("i"));
        match all.last_mut().filter(|last| is_of_last(last)) {
            Some(last) => last.parts.push(part),
            None => all.push(Index {
                schema: text("s").to_owned(),
                table: text("t").to_owned(),
                name: text("i").to_owned(),
                kind: text("type").to_owned(),
                is_unique: text("non_unique") == "0",
                is_hidden: text("hidden") == "1",
                parts: vec![part],
            }),
        }
    }
    all
}

/// Those that another index makes superfluous, each with that one. Indexes of a table stand together.
pub(super) fn superfluous(indexes: &[Index]) -> Vec<(&Index, &Index)> {
    let tables = indexes.chunk_by(|a, b| (&a.schema, &a.table) == (&b.schema, &b.table));
    let in_table = |table: &'_ [Index]| -> Vec<(usize, usize)> {
        let by = |at: usize| (0..table.len()).find(|&by| by != at && replaces(table, by, at));
        (0..table.len()).filter_map(|at| Some((at, by(at)?))).collect()
    };
    tables
        .flat_map(|table| in_table(table).into_iter().map(move |(at, by)| (&table[at], &table[by])))
        .collect()
}

/// Whether the index `by` does all that the one `at` does.
fn replaces(table: &[Index], by: usize, at: usize) -> bool {
    let (other, index) = (&table[by], &table[at]);
    let is_same = other.parts == index.parts;
    if other.kind != index.kind || index.name == "PRIMARY" || (other.is_hidden && !index.is_hidden) {
        return false;
    }
    if is_same && other.is_unique == index.is_unique && other.is_hidden == index.is_hidden {
        // Of two that are equal the later one goes.
        return other.name == "PRIMARY" || by < at;
    }
    // One that is unique forbids rows, which a longer one does not.
    !index.is_unique && (is_same || (index.kind == "BTREE" && is_left_part(index, other)))
        || (index.is_unique && is_same && other.is_unique)
}

fn is_left_part(index: &Index, other: &Index) -> bool {
    let Some((last, before)) = index.parts.split_last() else { return false };
    let Some(same) = other.parts.get(..=before.len()) else { return false };
    // A column of which only the beginning is in it ends what can be found by it.
    same[..before.len()] == *before && covers(&same[before.len()], last)
}

fn covers(other: &Part, part: &Part) -> bool {
    let is_longer = match (other.length, part.length) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(other), Some(part)) => other >= part,
    };
    is_longer && (&other.what, other.is_descending) == (&part.what, part.is_descending)
}

impl Index {
    /// Its columns, as they stand in a definition.
    pub(super) fn columns(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            let what = if part.is_expression { part.what.clone() } else { quote::identifier(&part.what) };
            // A spatial index tells a length that nobody may give.
            let length = part.length.filter(|_| self.kind == "BTREE").map(|length| format!("({length})"));
            what + &length.unwrap_or_default() + if part.is_descending { " DESC" } else { "" }
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> Part {
        let (text, is_descending) = text.strip_suffix('-').map_or((text, false), |text| (text, true));
        let (what, length) =
            text.split_once(':').map_or((text, None), |(what, length)| (what, length.parse().ok()));
        Part { what: what.into(), length, is_descending, is_expression: what.starts_with('(') }
    }

    /// `NAME COLUMNS`, with `!` before what is unique and `?` before what is hidden.
    fn index(text: &str) -> Index {
        let (name, columns) = text.split_once(' ').unwrap();
        Index {
            schema: "s".into(),
            table: "t".into(),
            name: name.trim_start_matches(['!', '?']).into(),
            kind: if name.contains("full") { "FULLTEXT" } else { "BTREE" }.into(),
            is_unique: name.starts_with('!'),
            is_hidden: name.starts_with('?'),
            parts: columns.split(',').map(part).collect(),
        }
    }

    fn found(texts: &[&str]) -> Vec<(String, String)> {
        let indexes: Vec<_> = texts.iter().map(|text| index(text)).collect();
        let name = |index: &Index| index.name.clone();
        superfluous(&indexes).into_iter().map(|(index, by)| (name(index), name(by))).collect()
    }

    fn is_found(texts: &[&str], expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(found(texts), expected, "{texts:?}");
    }

    #[test]
    fn left_parts() {
        is_found(&["a x", "b x,y"], &[("a", "b")]);
        is_found(&["a x,y", "b y,x"], &[]);
        is_found(&["a x", "b x-,y"], &[]);
        is_found(&["!PRIMARY x", "a x"], &[("a", "PRIMARY")]);
        is_found(&["!PRIMARY x,y", "a x"], &[("a", "PRIMARY")]);
        is_found(&["a (lower(x))", "b (lower(x)),y"], &[("a", "b")]);
    }

    #[test]
    fn unique_ones_forbid_rows() {
        is_found(&["!a x", "b x,y"], &[]);
        is_found(&["!a x", "b x"], &[("b", "a")]);
        is_found(&["!a x", "!b x"], &[("b", "a")]);
        is_found(&["!PRIMARY x", "!a x"], &[("a", "PRIMARY")]);
        is_found(&["!a x,y", "!b x"], &[]);
    }

    #[test]
    fn beginnings_of_columns() {
        is_found(&["a x:10", "b x"], &[("a", "b")]);
        is_found(&["a x", "b x:10"], &[("b", "a")]);
        is_found(&["a x:10,y", "b x,y"], &[]);
    }

    #[test]
    fn hidden_ones_serve_nobody() {
        is_found(&["?a x,y", "b x"], &[]);
        is_found(&["?a x", "b x,y"], &[("a", "b")]);
        is_found(&["?a x", "b x"], &[("a", "b")]);
    }

    #[test]
    fn words_are_found_by_equal_ones_only() {
        is_found(&["full x", "full2 x,y"], &[]);
        is_found(&["full x", "full2 x"], &[("full2", "full")]);
        is_found(&["full x", "b x"], &[]);
        assert_eq!(index("!a x:3,(lower(y)),z-").columns(), "`x`(3), (lower(y)), `z` DESC");
    }
}
