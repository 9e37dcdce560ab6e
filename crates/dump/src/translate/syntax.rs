//! What of CREATE TABLE, and of sequences, not every server reads.

use std::collections::BTreeSet;

use drover_db::{Connection, Vendor, er};

use crate::Result;
use crate::error::Doing;

/// A part of CREATE TABLE that only some servers know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Syntax {
    /// Keys that the optimizer does not use: `IGNORED` on MariaDB, `INVISIBLE` on MySQL.
    HiddenKey,
    /// The partition of all values that no other one lists.
    DefaultPartition,
    /// Periods of application time.
    Period,
    /// Keys in which the periods of a value do not overlap.
    WithoutOverlaps,
    /// Periods of system time and the rows of the past.
    History,
    /// CREATE SEQUENCE.
    Sequences,
    /// COLLATE between the type of a generated column and its expression.
    GeneratedCollation,
}

/// What follows CREATE where it is used, in a schema that is not there.
fn examples(vendor: Vendor) -> [(Syntax, &'static str); 7] {
    let hidden_key = match vendor {
        Vendor::MySql => "TABLE drover_syntax.t (a INT, KEY k (a) INVISIBLE)",
        Vendor::MariaDb => "TABLE drover_syntax.t (a INT, KEY k (a) IGNORED)",
    };
    [
        (Syntax::HiddenKey, hidden_key),
        (
            Syntax::DefaultPartition,
            "TABLE drover_syntax.t (a INT) PARTITION BY LIST (a) (PARTITION p DEFAULT)",
        ),
        (Syntax::Period, "TABLE drover_syntax.t (s DATE, e DATE, PERIOD FOR p (s, e))"),
        (
            Syntax::WithoutOverlaps,
            "TABLE drover_syntax.t (a INT, s DATE, e DATE, PERIOD FOR p (s, e), UNIQUE (a, p WITHOUT OVERLAPS))",
        ),
        (Syntax::History, "TABLE drover_syntax.t (a INT) WITH SYSTEM VERSIONING"),
        (Syntax::Sequences, "SEQUENCE drover_syntax.s"),
        (
            Syntax::GeneratedCollation,
            "TABLE drover_syntax.t (a CHAR(9), b CHAR(9) CHARACTER SET latin1 COLLATE latin1_bin GENERATED ALWAYS AS (a) VIRTUAL)",
        ),
    ]
}

/// What the server does not read. Each is tried in a statement that is prepared and not run.
pub(super) fn unknown(connection: &mut Connection, vendor: Vendor) -> Result<BTreeSet<Syntax>> {
    const NAME: &str = "drover_syntax";
    let mut unknown = BTreeSet::new();
    for (syntax, example) in examples(vendor) {
        let doing = || format!("asking whether the target reads CREATE {example}");
        let sql = format!("PREPARE {NAME} FROM 'CREATE {example}'");
        match connection.execute(sql) {
            Ok(_) => {
                connection.execute(format!("DEALLOCATE PREPARE {NAME}")).doing(doing)?;
            }
            Err(error) if matches!(error.code(), Some(er::PARSE_ERROR | er::PARTITION_REQUIRES_VALUES)) => {
                unknown.insert(syntax);
            }
            // What it says of the schema or of privileges comes after the syntax.
            Err(error) if error.code().is_some() => {}
            Err(error) => return Err(error).doing(doing),
        }
    }
    Ok(unknown)
}
