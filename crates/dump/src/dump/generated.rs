//! Columns that the server computes: which of their values are to be proved, and which columns must be named to be computed.

use drover_db::table::column::read_column;
use drover_db::table::{Column, ColumnFacts, ValueKind};

/// Stored generated columns: the server computes them again, but whether it comes to the same values is to be proved.
pub(crate) fn to_prove(facts: &[ColumnFacts]) -> Vec<Column> {
    let stored = facts.iter().filter(|facts| facts.stored && !facts.is_row_time());
    stored.map(|facts| Column { load: None, ..read_column(facts).column }).collect()
}

/// Columns that LOAD DATA must be told to compute, see [`crate::manifest::Table::computed`].
pub(crate) fn to_compute(facts: &[ColumnFacts]) -> Vec<String> {
    let computed = facts.iter().filter(|facts| !facts.generation.is_empty());
    let is_geometry = |facts: &&ColumnFacts| ValueKind::of(&facts.data_type, None) == ValueKind::Geometry;
    let computed = computed.filter(is_geometry);
    computed.map(|facts| facts.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(data_type: &str, generation: &str, stored: bool) -> ColumnFacts {
        ColumnFacts {
            name: "c".into(),
            data_type: data_type.into(),
            column_type: data_type.into(),
            character_set: None,
            generation: generation.into(),
            stored,
        }
    }

    #[test]
    fn what_is_computed_and_stored_is_proved() {
        let proved = |generation, stored| to_prove(&[facts("int", generation, stored)]).len();
        assert_eq!((proved("`a` + 1", true), proved("`a` + 1", false), proved("", false)), (1, 0, 0));
        assert_eq!(proved("ROW START", true), 0);
    }

    #[test]
    fn only_geometries_must_be_named_to_be_computed() {
        let computed = |data_type, generation| to_compute(&[facts(data_type, generation, true)]).len();
        assert_eq!((computed("point", "ST_GeomFromText(`a`)"), computed("int", "`a` + 1")), (1, 0));
        assert_eq!(computed("point", ""), 0);
    }
}
