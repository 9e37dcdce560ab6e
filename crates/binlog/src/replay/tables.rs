//! Definitions of tables as the target keeps them: literals, of which a MariaDB makes other texts, and partitions, which MySQL from 8.0 on has of
//! InnoDB only.

use drover_db::Vendor;
use drover_db::sql::literals::{Keeper, Respelled, beyond_utf8mb3, introducers};
use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Dialect, Token, partitions};

use crate::event::{Query, Setting};
use crate::log::{Format, Short};
use crate::sql::charset;

use super::collations::NearestCollation;
use super::events::Target;

/// The statement as the target keeps it, and literals whose character set is another one there. `None` of what stays as it is: all that defines
/// no table, and introducers that a MariaDB has read before.
pub(super) fn with_kept(
    text: &[u8],
    dialect: Dialect,
    (query, format): (&Query<'_>, &Format),
    target: &Target,
) -> Result<(Option<Vec<u8>>, Vec<NearestCollation>), Short> {
    if target.vendor == Vendor::MySql && !target.partitions_innodb_only {
        return Ok((None, Vec::new()));
    }
    let mut phrase = Phrase::in_comments(text, dialect);
    if !defines_table(&phrase) {
        return Ok((None, Vec::new()));
    }
    let before = phrase.clone();
    let lost = match target.vendor {
        Vendor::MariaDb => literals(&mut phrase, is_in_utf8mb4(query)?, format, target),
        Vendor::MySql => {
            partitions::in_innodb(&mut phrase);
            Vec::new()
        }
    };
    Ok(((phrase != before).then(|| phrase.to_text()), lost))
}

/// Writes them as a MariaDB keeps them; those whose character set is another one.
fn literals(
    phrase: &mut Phrase,
    reads_utf8mb4: bool,
    format: &Format,
    target: &Target,
) -> Vec<NearestCollation> {
    let keeper = Keeper {
        version: target.numbers(),
        utf8mb3: if target.collations.contains("utf8mb3_bin") { "utf8mb3" } else { "utf8" },
        reads_utf8mb4,
    };
    let respelled = match format.is_mariadb() {
        true => beyond_utf8mb3(phrase, keeper),
        false => introducers(phrase, keeper),
    };
    let lost = respelled.into_iter().filter(|respelled| respelled.loses);
    lost.map(|Respelled { from, reason, .. }| NearestCollation {
        from: format!("of {from}"),
        to: "that of utf8mb4".into(),
        reason: reason.into(),
        loses: true,
    })
    .collect()
}

/// What helps where one is lacking.
pub(super) const NO_ENGINE: &str = "install it there (INSTALL PLUGIN, INSTALL SONAME); or make the table there by hand, and leave the transaction out";

/// The engine of a table that the target would not make with it: where the statement's session let no other take its place, and where
/// another one keeps rows that this one does not.
pub(super) fn lacking_engine(
    text: &[u8],
    dialect: Dialect,
    query: &Query<'_>,
    target: &Target,
) -> Result<Option<String>, Short> {
    const OTHER_NAMES: [(&str, &str); 3] =
        [("HEAP", "MEMORY"), ("MERGE", "MRG_MYISAM"), ("INNOBASE", "INNODB")];
    const NO_ENGINE_SUBSTITUTION: u64 = 1 << 30;
    let phrase = Phrase::in_comments(text, dialect);
    if target.engines.is_empty() || !defines_table(&phrase) {
        return Ok(None);
    }
    let Some(found) = phrase.find(&["ENGINE"]) else { return Ok(None) };
    let mut at = phrase.code(found.end);
    if at < phrase.len() && phrase.token(at).is_symbol(b'=') {
        at = phrase.code(at + 1);
    }
    if at >= phrase.len() {
        return Ok(None);
    }
    let token = phrase.token(at);
    let name = token.name().unwrap_or_else(|| token.text.to_vec());
    let name = String::from_utf8_lossy(&name).trim_matches('\'').to_uppercase();
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name.as_str(), |(_, name)| name);
    let mut is_strict = false;
    for setting in query.settings() {
        if let Setting::SqlMode(mode) = setting? {
            is_strict = mode & NO_ENGINE_SUBSTITUTION != 0;
        }
    }
    let lacks = !target.engines.contains(name) && (is_strict || name == "BLACKHOLE");
    Ok(lacks.then(|| name.to_owned()))
}

/// CREATE and ALTER, with their options, of a TABLE.
pub(super) fn defines_table(phrase: &Phrase) -> bool {
    let mut code = (0..phrase.len()).map(|at| phrase.token(at)).filter(|token| token.is_code());
    let begins = code.next().is_some_and(|token| token.is_word("CREATE") || token.is_word("ALTER"));
    let is_option = |token: &Token<'_>| {
        ["OR", "REPLACE", "TEMPORARY", "IGNORE", "ONLINE"].iter().any(|word| token.is_word(word))
    };
    begins && code.find(|token| !is_option(token)).is_some_and(|token| token.is_word("TABLE"))
}

/// Whether the statement's session sent it in utf8mb4.
fn is_in_utf8mb4(query: &Query<'_>) -> Result<bool, Short> {
    for setting in query.settings() {
        if let Setting::Charset(client, ..) = setting? {
            return Ok(charset::name(client.into()) == Some("utf8mb4"));
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_of_tables() {
        let defines = |text: &str| defines_table(&Phrase::in_comments(text.as_bytes(), Dialect::default()));
        for text in [
            "CREATE TABLE t (a INT)",
            "/* x */ create or replace temporary table if not exists t (a INT)",
            "ALTER TABLE t ADD b INT",
        ] {
            assert!(defines(text), "{text}");
        }
        for text in [
            "CREATE VIEW v AS TABLE t",
            "DROP TABLE t",
            "CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
            "",
        ] {
            assert!(!defines(text), "{text}");
        }
    }
}
