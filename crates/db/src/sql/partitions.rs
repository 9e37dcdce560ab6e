//! Partitioned tables. MySQL from 8.0 on partitions tables of InnoDB (and NDB) only; before, a plugin did it for any engine.

use super::Kind;
use super::phrase::Phrase;
use crate::{Connection, Result};

/// Engines that partition their tables themselves.
const OWN: [&str; 3] = ["InnoDB", "NDB", "NDBCLUSTER"];

/// Whether the server, a MySQL, partitions tables of no other engines.
///
/// # Errors
/// If the server refuses to list its plugins, or the connection is lost.
pub fn only_of_some_engines(connection: &mut Connection) -> Result<bool> {
    let plugin = "SELECT 1 FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'partition' AND PLUGIN_STATUS = 'ACTIVE'";
    Ok(connection.first(plugin)?.is_none())
}

/// Puts InnoDB in the place of another engine in the definition of a table that has partitions.
pub fn in_innodb(phrase: &mut Phrase) {
    if phrase.find(&["PARTITION", "BY"]).is_none() {
        return;
    }
    // Behind the columns, one of which may be called so.
    let columns = phrase.top().into_iter().find(|&at| phrase.token(at).is_symbol(b'('));
    let mut at = columns.map_or(0, |open| phrase.closed(open));
    while at < phrase.len() {
        let next = phrase.code(at + 1);
        let value = if phrase.token(next).is_symbol(b'=') { phrase.code(next + 1) } else { next };
        let is_option = phrase.token(at).is_word("ENGINE") && phrase.token(value).kind == Kind::Word;
        if is_option && !OWN.iter().any(|engine| phrase.token(value).is_word(engine)) {
            phrase.replace(value..value + 1, b"InnoDB");
        }
        at += 1;
    }
}

/// The schemas and names of tables whose partitions have boundaries of text beyond ASCII, in small letters. MySQL from 8.0 on reads these in the
/// `collation_connection` of the session that opens the table, and puts rows elsewhere if that is not of Unicode (found with 8.0.12 and 9.7);
/// `FLUSH TABLES`, which closes what such sessions have opened, and then `ALTER TABLE … REPAIR PARTITION ALL` move them back.
///
/// # Errors
/// What the server or the connection says.
pub fn with_text_boundaries(connection: &mut Connection) -> Result<Vec<(String, String)>> {
    let rows = connection.query(
        "SELECT DISTINCT LOWER(TABLE_SCHEMA), LOWER(TABLE_NAME) FROM information_schema.PARTITIONS \
         WHERE PARTITION_METHOD IN ('RANGE COLUMNS', 'LIST COLUMNS') \
         AND LENGTH(PARTITION_DESCRIPTION) <> CHAR_LENGTH(PARTITION_DESCRIPTION)",
    )?;
    Ok(rows.into_iter().map(|row| (row.string(0), row.string(1))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Dialect;

    #[test]
    fn engines_of_partitioned_tables() {
        let to = |text: &str| {
            let mut phrase = Phrase::in_comments(text.as_bytes(), Dialect::default());
            in_innodb(&mut phrase);
            String::from_utf8(phrase.to_text()).unwrap()
        };
        let columns = "CREATE TABLE t (engine INT, o INT, CHECK (engine = o)) ";
        assert_eq!(
            to(&format!(
                "{columns}ENGINE=MyISAM /*!50100 PARTITION BY HASH (o) (PARTITION a ENGINE = MyISAM) */"
            )),
            format!("{columns}ENGINE=InnoDB /*!50100 PARTITION BY HASH (o) (PARTITION a ENGINE = InnoDB) */")
        );
        for same in
            ["ENGINE=MyISAM", "ENGINE=ndbcluster PARTITION BY KEY (o)", "ENGINE InnoDB PARTITION BY KEY (o)"]
        {
            assert_eq!(to(&format!("{columns}{same}")), format!("{columns}{same}"));
        }
    }
}
