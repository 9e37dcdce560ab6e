//! What a CREATE TABLE says of collations, and of what a time gets by itself.

use drover_db::sql::Dialect;

use super::columns::type_of;
use super::generated::is_generated;
use super::table::is_column;
use crate::ddl::CreateTable;
use drover_db::sql::phrase::Phrase;

/// A column as its definition has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) name: String,
    /// Of a text: its collation, or its character set alone.
    pub(crate) collation: Option<String>,
    /// Of a TIMESTAMP or DATETIME: whether it has a default other than NULL, and whether it follows the clock.
    pub(crate) time: Option<(bool, bool)>,
}

/// The table's own collation, and its columns. `of_set` is what a character set means that is named alone, and whether it is that of a generated
/// column.
pub(crate) fn describe(
    create: &[u8],
    of_set: impl Fn(&str, bool) -> Option<String>,
) -> (Option<String>, Vec<Described>) {
    let Some(parts) = CreateTable::parse(create) else { return (None, Vec::new()) };
    let own = of_table(&Phrase::of(&parts.tail, Dialect::default()), |set| of_set(set, false));
    let items = parts.items.iter().map(|item| Phrase::of(item, Dialect::default()));
    let columns = items.filter(is_column).filter_map(|column| {
        let name = String::from_utf8(column.token(column.code(0)).name()?).ok()?;
        let data_type = type_of(&column);
        let is_text =
            matches!(data_type.as_str(), "char" | "varchar" | "enum" | "set") || data_type.ends_with("text");
        let is_generated = is_generated(&column);
        let collation = collation(&column, &["CHARACTER", "SET"], |set| of_set(set, is_generated));
        let collation = collation.or_else(|| own.clone());
        let is_time = matches!(data_type.as_str(), "timestamp" | "datetime") && !is_generated;
        Some(Described {
            name,
            collation: collation.filter(|_| is_text),
            time: is_time.then(|| (has_default(&column), column.find(&["ON", "UPDATE"]).is_some())),
        })
    });
    let columns = columns.collect();
    (own, columns)
}

/// What the options of a table say. One of another character set may be called `CHARACTER SET`, as drover writes it.
pub(super) fn of_table(tail: &Phrase, of_set: impl Fn(&str) -> Option<String>) -> Option<String> {
    collation(tail, &["CHARSET"], of_set)
}

fn has_default(column: &Phrase) -> bool {
    let value = column.find(&["DEFAULT"]).map(|found| column.code(found.end));
    value.is_some_and(|value| !column.token(value).is_word("NULL"))
}

fn collation(phrase: &Phrase, set: &[&str], of_set: impl Fn(&str) -> Option<String>) -> Option<String> {
    let value = |words: &[&str]| {
        let mut at = phrase.code(phrase.find(words)?.end);
        if phrase.token(at).is_symbol(b'=') {
            at = phrase.code(at + 1);
        }
        Some((phrase.part(at..at + 1).to_ascii_lowercase(), phrase.code(at + 1)))
    };
    if let Some((collation, _)) = value(&["COLLATE"]) {
        return Some(collation);
    }
    let (set, next) = value(set)?;
    if phrase.token(next).is_word("BINARY") {
        return Some(format!("{set}_bin"));
    }
    Some(of_set(&set).unwrap_or(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_and_clocks() {
        let create = b"CREATE TABLE `t` (
  `a` varchar(9) CHARACTER SET utf8mb4 NOT NULL,
  `b` text COLLATE latin1_bin,
  `c` char(1) DEFAULT 'COLLATE x',
  `t` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  `n` timestamp NULL DEFAULT NULL,
  `g` char(1) CHARACTER SET utf8 GENERATED ALWAYS AS (`c`) VIRTUAL,
  `h` char(1) CHARACTER SET utf8 BINARY GENERATED ALWAYS AS (`c`) VIRTUAL,
  `i` int
) ENGINE=InnoDB DEFAULT CHARSET=latin1";
        let of_set = |set: &str, is_generated: bool| match is_generated {
            true => Some(format!("{set}_x")),
            false => (set == "utf8mb4").then(|| "utf8mb4_general_ci".to_owned()),
        };
        let (own, columns) = describe(create, of_set);
        assert_eq!(own.as_deref(), Some("latin1"));
        let collations: Vec<_> = columns.iter().map(|column| column.collation.as_deref()).collect();
        let of_texts = [Some("utf8mb4_general_ci"), Some("latin1_bin"), Some("latin1")];
        let of_generated = [Some("utf8_x"), Some("utf8_bin")];
        assert_eq!(collations, [&of_texts[..], &[None, None], &of_generated, &[None]].concat());
        let times: Vec<_> = columns.iter().filter_map(|column| column.time).collect();
        assert_eq!(times, [(true, true), (false, false)]);
    }
}
