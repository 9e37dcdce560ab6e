//! How columns are read for CSV, where text is in UTF-8 and numbers are numbers. What the server computes is read too: other
//! programs cannot compute it.

use std::collections::BTreeSet;

use drover_db::quote;
use drover_db::table::column::{differs, implicit, read_column};
use drover_db::table::{ReadColumn, ValueKind};

use super::catalog::{ColumnFacts, Name};
use crate::mask::{Masked, Masker};
use crate::{Error, Result};
use drover_format::manifest::Column;

/// All columns but those named in `hidden`, in lower case, which would tell what others are not to tell.
pub(crate) fn to_read(facts: &[ColumnFacts], versioned: bool, hidden: &BTreeSet<String>) -> Vec<ReadColumn> {
    let shown = facts
        .iter()
        .filter(|facts| facts.generation.is_empty() || !hidden.contains(&facts.name.to_lowercase()));
    let mut columns: Vec<_> = shown.map(csv_column).collect();
    columns.extend(implicit(facts, versioned));
    columns
}

/// What is left out because of masks, in words.
///
/// # Errors
/// If a mask writes text that is not in UTF-8.
pub(crate) fn check_masks(
    table: &Name,
    facts: &[ColumnFacts],
    masks: &[Masked],
    hidden: &BTreeSet<String>,
) -> Result<Option<String>> {
    let is_foreign = |masked: &&Masked| matches!(masked.masker, Masker::KeepText { is_utf8: false, .. });
    if let Some(masked) = masks.iter().find(is_foreign) {
        return Err(Error::with_hint(
            format!(
                "column {} of table {table}: keep-format keeps its character set too, and CSV is in UTF-8",
                quote::identifier(&masked.column)
            ),
            "use hash or fixed for that column, or another --format",
        ));
    }
    let is_hidden =
        |facts: &&ColumnFacts| !facts.generation.is_empty() && hidden.contains(&facts.name.to_lowercase());
    let names: Vec<_> = facts.iter().filter(is_hidden).map(|facts| facts.name.as_str()).collect();
    let left_out = || {
        let names = quote::identifiers(names.iter().copied());
        format!("table {table}: {names} is left out: the server computes it from a masked column")
    };
    Ok((!names.is_empty()).then(left_out))
}

fn csv_column(facts: &ColumnFacts) -> ReadColumn {
    let own = read_column(facts);
    let name = quote::identifier(&facts.name);
    let (mut read, mut literal, mut kind, mut loses) = (own.column.read, own.literal, own.kind, None);
    match (facts.data_type.as_str(), kind) {
        ("bit", _) => (read, literal, kind) = (Some(format!("{name} + 0")), None, ValueKind::Number),
        (_, ValueKind::OtherText) => {
            let set = facts.character_set.as_deref().unwrap_or_default();
            let converted = format!("CONVERT({name} USING utf8mb4)");
            // Every byte of latin1 is a character of Unicode.
            loses = (set != "latin1").then(|| differs(&format!("CONVERT({converted} USING {set})"), &name));
            (read, literal) = (Some(converted), None);
        }
        // The number of a member says nothing to others, and neither does where a JSON document goes through text.
        ("enum" | "set" | "json", _) => read = None,
        _ => {}
    }
    let column = Column { name: facts.name.clone(), read, load: None };
    ReadColumn {
        column,
        stored: None,
        error_mark: None,
        literal,
        kind,
        loses,
        signed_zero: false,
        is_document: own.is_document,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, data_type: &str, character_set: Option<&str>, generation: &str) -> ColumnFacts {
        ColumnFacts {
            name: name.into(),
            data_type: data_type.into(),
            column_type: data_type.into(),
            character_set: character_set.map(Into::into),
            generation: generation.into(),
            stored: false,
        }
    }

    #[test]
    fn text_comes_in_utf8_and_bits_as_a_number() {
        let read = |data_type, set| csv_column(&facts("c", data_type, set, ""));
        assert_eq!(read("varchar", Some("utf8mb3")).column.read, None);
        let latin1 = read("varchar", Some("latin1"));
        assert_eq!(latin1.column.read.as_deref(), Some("CONVERT(`c` USING utf8mb4)"));
        assert_eq!((latin1.literal, latin1.loses), (None, None));
        let expected =
            "NOT (CAST(CONVERT(CONVERT(`c` USING utf8mb4) USING gbk) AS BINARY) <=> CAST(`c` AS BINARY))";
        assert_eq!(read("text", Some("gbk")).loses.as_deref(), Some(expected));
        let bit = read("bit", None);
        assert_eq!((bit.column.read.as_deref(), bit.kind), (Some("`c` + 0"), ValueKind::Number));
        assert_eq!(read("json", None).column.read, None);
    }

    #[test]
    fn what_would_tell_a_masked_value_is_left_out() {
        let facts =
            [facts("a", "int", None, ""), facts("B", "int", None, "`a` + 1"), facts("c", "int", None, "1")];
        let hidden = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let names: Vec<_> = to_read(&facts, true, &hidden).into_iter().map(|c| c.column.name).collect();
        assert_eq!(names, ["a", "c", "row_start", "row_end"]);
    }
}
