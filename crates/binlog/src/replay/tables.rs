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

/// CREATE and ALTER, with their options, of a TABLE.
fn defines_table(phrase: &Phrase) -> bool {
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
