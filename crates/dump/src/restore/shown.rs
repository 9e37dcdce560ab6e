//! Definitions of tables, such that those compare as equal that differ in how a server shows them only.

use drover_db::sql::{Dialect, Kind, tokens};

/// What MariaDB says behind a column whose times are stored in another format than new ones are (`mysql56_temporal_format`). A table that
/// is made anew has the format of its server. Source: MariaDB `sql/sql_type.cc`, `Type_handler::version_mariadb53()`.
const FORMATS_OF_TIMES: [&[u8]; 2] = [b"/* mariadb-5.3 */", b"/* mysql-5.6 */"];

/// The servers print `?` for a character of four bytes in a definition; the scripts have the true ones. And MySQL prints a
/// column's character set before its collation, which has it in its name, or not: as the table was created. A collation that a
/// column has from its table does not stand in all scripts, nor does the blank that MySQL prints after an index's parser.
pub(super) fn as_shown(create: &[u8]) -> Vec<u8> {
    let create = without_formats_of_times(create);
    let Ok(text) = std::str::from_utf8(&create) else { return create };
    let mut shown = String::with_capacity(text.len());
    for (at, part) in text.split(" CHARACTER SET ").enumerate() {
        let has_collation = part.split_once(' ').filter(|(_, rest)| rest.starts_with("COLLATE "));
        match has_collation.filter(|_| at > 0) {
            Some((_, rest)) => shown.extend([" ", rest]),
            None if at > 0 => shown.extend([" CHARACTER SET ", part]),
            None => shown.push_str(part),
        }
    }
    if let Some(collation) = table_collation(&shown).map(str::to_owned) {
        for end in [" ", ",", "\n"] {
            shown = shown.replace(&format!(" COLLATE {collation}{end}"), end);
        }
    }
    for end in [",", "\n"] {
        shown = shown.replace(&format!("*/ {end}"), &format!("*/{end}"));
    }
    shown.chars().map(|c| if c.len_utf8() == 4 { '?' } else { c }).collect::<String>().into_bytes()
}

fn without_formats_of_times(create: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(create.len());
    for token in tokens(create, Dialect::default()) {
        if token.kind == Kind::Comment && FORMATS_OF_TIMES.contains(&token.text) {
            // The blank before it is of it.
            out.truncate(out.trim_ascii_end().len());
        } else {
            out.extend_from_slice(token.text);
        }
    }
    out
}

/// The collation that a statement gives the table itself.
fn table_collation(create: &str) -> Option<&str> {
    let (_, options) = create.split_once("\n)")?;
    options.split_once(" COLLATE=")?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_s_collation_tells_its_character_set() {
        let shown = |text: &str| String::from_utf8(as_shown(text.as_bytes())).unwrap();
        let with = "`a` varchar(10) CHARACTER SET latin1 COLLATE latin1_german2_ci NOT NULL,\n`b` char(1)";
        assert_eq!(shown(with), shown(&with.replace(" CHARACTER SET latin1", "")));
        let without = "`a` varchar(10) CHARACTER SET latin1 NOT NULL,\n`b` char(1) COLLATE latin1_bin";
        assert_eq!(shown(without), without);
        assert_eq!(shown("'a\u{1f600}'"), "'a?'");
        assert_eq!(
            shown("KEY `a` (`a`) /*!50100 WITH PARSER `ngram` */ \n)"),
            "KEY `a` (`a`) /*!50100 WITH PARSER `ngram` */\n)"
        );
        assert_eq!(
            shown(
                "`d` datetime(3) /* mariadb-5.3 */ DEFAULT NULL,\n`t` time /* mysql-5.6 */,\n`c` int COMMENT ' /* mariadb-5.3 */'"
            ),
            "`d` datetime(3) DEFAULT NULL,\n`t` time,\n`c` int COMMENT ' /* mariadb-5.3 */'"
        );
        let own = "(\n  `a` char(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,\n  `b` text COLLATE utf8mb4_de_pb_0900_ai_ci\n) \
                   ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin";
        assert_eq!(shown(own), own.replace(" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", ""));
    }
}
