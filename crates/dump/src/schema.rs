//! What a schema gives to all that is made in it: its default collation and encryption; and its comment.

use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::{Connection, quote};

use crate::Result;
use crate::error::Doing;
use crate::translate::defaults::full_name;

/// The options of a schema, as far as a server or a statement names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SchemaOptions {
    collation: Option<String>,
    /// MySQL from 8.0.16 on: a string, as it stands in the statement.
    encryption: Option<String>,
    /// MariaDB from 10.5 on: the same.
    comment: Option<String>,
}

impl SchemaOptions {
    /// Those that a schema gets on this server from CREATE DATABASE.
    pub(crate) fn of_statement(connection: &mut Connection, create: &[u8], dialect: Dialect) -> Result<Self> {
        let (options, set) = named(create, dialect);
        let collation = match (options.collation, set) {
            (None, Some(set)) => default_of(connection, &set)?,
            (collation, _) => collation,
        };
        Ok(Self { collation, ..options })
    }

    /// Those of a schema of the server's; `None` if it is not there.
    pub(crate) fn of_schema(connection: &mut Connection, schema: &str) -> Result<Option<Self>> {
        let doing = || format!("reading the options of schema '{schema}'");
        let sql = format!(
            "SELECT SCHEMA_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}",
            quote::string(schema)
        );
        let rows = connection.query(sql).doing(doing)?;
        let Some(row) = rows.into_iter().find(|row| row.string(0) == schema) else { return Ok(None) };
        let sql = format!("SHOW CREATE DATABASE {}", quote::identifier(schema));
        let create = connection.first(sql).doing(doing)?.and_then(|row| row.bytes(1).map(<[u8]>::to_vec));
        let (options, _) = named(&create.unwrap_or_default(), Dialect::default());
        Ok(Some(Self { collation: row.text(1), ..options }))
    }

    /// How these differ from those of a dump, in words.
    pub(crate) fn differences(&self, then: &Self) -> Vec<String> {
        let mut what = Vec::new();
        if let (Some(now), Some(then)) = (&self.collation, &then.collation)
            && full_name(now) != full_name(then)
        {
            what.push(format!("its default collation is {now} instead of {then}"));
        }
        if let (Some(now), Some(then)) = (&self.encryption, &then.encryption)
            && now != then
        {
            what.push(format!("its default encryption is {now} instead of {then}"));
        }
        if self.comment() != then.comment() {
            what.push(format!("its comment is {} instead of {}", self.comment(), then.comment()));
        }
        what
    }

    fn comment(&self) -> &str {
        self.comment.as_deref().unwrap_or("''")
    }

    /// The statement that gives a schema these instead of those that it has.
    fn alter(&self, schema: &str, now: &Self) -> String {
        let collation = self.collation.as_ref().map(|name| format!(" COLLATE = {}", quote::identifier(name)));
        // A server that shows none takes none.
        let is_other = |now: &String| self.encryption.as_ref() != Some(now);
        let encryption = self.encryption.as_ref().filter(|_| now.encryption.as_ref().is_some_and(is_other));
        let encryption = encryption.map(|yes| format!(" ENCRYPTION = {yes}"));
        let comment = (self.comment() != now.comment()).then(|| format!(" COMMENT = {}", self.comment()));
        let options: String = [collation, encryption, comment].into_iter().flatten().collect();
        format!("ALTER DATABASE {}{options}", quote::identifier(schema))
    }

    /// Gives these to a schema that is there, if all that it holds is the dump's. What to say if it keeps others.
    pub(crate) fn give(
        &self,
        connection: &mut Connection,
        schema: &str,
        is_of_dump: impl Fn(&str) -> bool,
    ) -> Result<Option<String>> {
        let Some(now) = Self::of_schema(connection, schema)? else { return Ok(None) };
        let what = now.differences(self);
        if what.is_empty() {
            return Ok(None);
        }
        let sql = self.alter(schema, &now);
        let why = match holds_only(connection, schema, is_of_dump)? {
            true => match connection.execute(&sql).doing(|| sql.clone()) {
                Ok(_) => return Ok(None),
                Err(error) => error.refusal()?,
            },
            false => "it holds more than what is restored".into(),
        };
        let name = quote::identifier(schema);
        Ok(Some(format!("schema {name} is as it was, {}: {why}; {sql} changes it", what.join(", "))))
    }
}

/// What a statement names, and the character set.
fn named(create: &[u8], dialect: Dialect) -> (SchemaOptions, Option<String>) {
    let code: Vec<_> = tokens_in_comments(create, dialect).filter(Token::is_code).collect();
    let text = |token: &Token<'_>| String::from_utf8_lossy(token.text).into_owned();
    let value = |words: &[&str]| {
        let is_it = |at: &[Token<'_>]| at.iter().zip(words).all(|(token, word)| token.is_word(word));
        let at = code.windows(words.len()).position(is_it)? + words.len();
        code[at..].iter().find(|token| !token.is_symbol(b'='))
    };
    let name =
        |words: &[&str]| value(words)?.name().map(|name| String::from_utf8_lossy(&name).to_lowercase());
    let options = SchemaOptions {
        collation: name(&["COLLATE"]),
        encryption: value(&["ENCRYPTION"]).map(text),
        comment: value(&["COMMENT"]).map(text),
    };
    (options, name(&["CHARACTER", "SET"]).or_else(|| name(&["CHARSET"])))
}

/// The collation that a character set named alone stands for; `None` of one that the server does not know.
fn default_of(connection: &mut Connection, set: &str) -> Result<Option<String>> {
    let set = if set == "utf8mb3" { "utf8" } else { set };
    match connection.first(format!("SELECT COLLATION(CONVERT('' USING {}))", quote::identifier(set))) {
        Err(error) if error.code().is_some() => Ok(None),
        other => Ok(other.doing(|| "asking for a default collation")?.and_then(|row| row.text(0))),
    }
}

/// Whether a schema holds nothing but these tables, views, routines and events.
fn holds_only(connection: &mut Connection, schema: &str, is_of_dump: impl Fn(&str) -> bool) -> Result<bool> {
    let lists = [("TABLES", "TABLE"), ("ROUTINES", "ROUTINE"), ("EVENTS", "EVENT")].map(|(list, of)| {
        let name = quote::string(schema);
        format!("SELECT {of}_SCHEMA, {of}_NAME FROM information_schema.{list} WHERE {of}_SCHEMA = {name}")
    });
    let rows = connection.query(lists.join(" UNION ALL "));
    let rows = rows.doing(|| format!("listing what is in schema '{schema}'"))?;
    Ok(rows.into_iter().filter(|row| row.string(0) == schema).all(|row| is_of_dump(&row.string(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(create: &str) -> (SchemaOptions, Option<String>) {
        named(create.as_bytes(), Dialect::default())
    }

    #[test]
    fn what_servers_print() {
        let (mysql, set) = options(
            "CREATE DATABASE `comment` /*!40100 DEFAULT CHARACTER SET latin1 */ /*!80016 DEFAULT ENCRYPTION='Y' */ /* READ ONLY = 1 */",
        );
        assert_eq!((mysql.encryption.as_deref(), set.as_deref()), (Some("'Y'"), Some("latin1")));
        assert_eq!((mysql.collation, mysql.comment), (None, None));
        let (mariadb, _) = options(
            "CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */ COMMENT 'COLLATE ''x'''",
        );
        assert_eq!(mariadb.collation.as_deref(), Some("utf8mb4_bin"));
        assert_eq!(mariadb.comment.as_deref(), Some("'COLLATE ''x'''"));
    }

    #[test]
    fn only_what_both_name_can_differ() {
        let (one, _) = options("CREATE DATABASE s COLLATE utf8_bin ENCRYPTION 'Y'");
        let (other, _) = options("CREATE DATABASE s COLLATE = utf8mb3_bin COMMENT = ''");
        assert!(one.differences(&other).is_empty());
        let (other, _) = options("CREATE DATABASE s COLLATE = latin1_bin COMMENT 'x'");
        assert_eq!(one.differences(&other).len(), 2);
        assert_eq!(other.alter("s", &one), "ALTER DATABASE `s` COLLATE = `latin1_bin` COMMENT = 'x'");
    }
}
