//! Secondary keys and foreign keys of tables with many rows, which are added after them: that is faster than keeping them
//! up to date with every row.

use drover_db::sql::{Dialect, LeadBytes, tokens};

use super::kept;
use super::player::{ATTEMPTS, Player, failed, is_deadlock};
use super::script::{Session, Statement};
use crate::Result;
use crate::ddl::CreateTable;
use crate::dump::catalog::Name;

/// Tables with fewer bytes of statements than this get their keys at once: an ALTER TABLE costs more.
pub(super) const SMALL: u64 = 4 << 20;

/// What is to be added to a table after its rows.
#[derive(Debug, Clone)]
pub(super) struct Deferred {
    /// The table's name on the target.
    table: Name,
    /// The statement that created the table.
    create: Box<Statement>,
    sql: Vec<u8>,
    /// The character set that the definition is written in.
    character_set: String,
}

impl Deferred {
    /// Takes what can wait out of `text`, the statement that creates `table` on the target; `None` if nothing can. Of a key's
    /// columns `is_needed` says whether foreign keys refer to them.
    pub(super) fn take_out(
        statement: &Statement,
        text: &[u8],
        table: &Name,
        session: &Session,
        is_needed: impl Fn(&[Vec<u8>]) -> bool,
    ) -> Option<(Vec<u8>, Self)> {
        // The definition is taken apart as the servers print it.
        let as_printed = Dialect { lead_bytes: LeadBytes::None, ..session.dialect } == session.dialect
            && !session.dialect.ansi_quotes
            && !session.dialect.no_backslash_escapes;
        if !as_printed || !can_wait(text) {
            return None;
        }
        let split = CreateTable::parse(text)?.split_but(is_needed);
        if split.keys.is_empty() {
            return None;
        }
        let mut sql = format!("ALTER TABLE {table} ").into_bytes();
        for (index, item) in split.keys.iter().chain(&split.foreign_keys).enumerate() {
            sql.extend_from_slice(if index == 0 { b"ADD " } else { b", ADD " });
            sql.extend_from_slice(item);
        }
        let character_set = session.character_set.clone();
        Some((
            split.create,
            Self { table: table.clone(), create: Box::new(statement.clone()), sql, character_set },
        ))
    }

    /// Adds it.
    pub(super) fn add(&self, player: &mut Player<'_, '_>) -> Result<()> {
        let set = format!(
            "SET @drover_character_set = @@character_set_client, character_set_client = {}",
            self.character_set
        );
        let set_back = b"SET character_set_client = @drover_character_set";
        let mut attempts = 1;
        // Foreign keys lock other tables, to which another worker may be adding keys.
        while let Err(error) = [set.as_bytes(), &self.sql, set_back]
            .iter()
            .try_for_each(|sql| player.connection.execute(*sql).map(drop))
            .map_err(|source| failed(&self.create, source))
        {
            if !is_deadlock(&error) || attempts == ATTEMPTS {
                return Err(error);
            }
            player.connection.execute(set_back).map_err(|source| failed(&self.create, source))?;
            attempts += 1;
        }
        kept::note(player.context, &self.table, &self.sql, Dialect::default())
    }
}

/// Only InnoDB gains, and rows of the past are not rebuilt.
fn can_wait(create: &[u8]) -> bool {
    let words: Vec<_> = tokens(create, Dialect::default()).filter(|token| token.is_code()).collect();
    let innodb =
        words.windows(3).any(|w| w[0].is_word("ENGINE") && w[1].is_symbol(b'=') && w[2].is_word("InnoDB"));
    innodb && !words.windows(2).any(|w| w[0].is_word("SYSTEM") && w[1].is_word("VERSIONING"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_of_innodb_wait() {
        assert!(can_wait(b"CREATE TABLE `t` (\n  `a` int,\n  KEY `a` (`a`)\n) ENGINE=InnoDB"));
        assert!(!can_wait(b"CREATE TABLE `t` (\n  `a` int COMMENT 'ENGINE=InnoDB'\n) ENGINE=MyISAM"));
        assert!(!can_wait(b"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB WITH SYSTEM VERSIONING"));
    }
}
