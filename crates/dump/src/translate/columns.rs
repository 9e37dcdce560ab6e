//! Columns of a CREATE TABLE: types, defaults and attributes.

use std::ops::Range;

use drover_db::Vendor;
use drover_db::sql::Kind;
use drover_db::sql::literals::value_end;

use super::syntax::Syntax;
use super::target::Target;
use super::{Notes, Why, column_defaults, generated, words};
use drover_db::sql::phrase::Phrase;

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    /// It is not in the new table.
    Gone,
    /// It stays, and the table gets this constraint.
    Checked(String),
}

/// Types whose default must be an expression on MySQL.
const LONG: [&str; 18] = [
    "tinytext",
    "text",
    "mediumtext",
    "longtext",
    "tinyblob",
    "blob",
    "mediumblob",
    "longblob",
    "json",
    "geometry",
    "point",
    "linestring",
    "polygon",
    "multipoint",
    "multilinestring",
    "multipolygon",
    "geometrycollection",
    "vector",
];

/// The type's name, in small letters.
pub(super) fn type_of(column: &Phrase) -> String {
    String::from_utf8_lossy(column.token(column.code(1)).text).to_ascii_lowercase()
}

/// Whether a column or key of this type needs a length to be indexed.
pub(super) fn is_long(data_type: &str) -> bool {
    LONG.contains(&data_type)
}

/// Rewrites one column for the target.
pub(super) fn rewrite(column: &mut Phrase, target: &Target, notes: &mut Notes) -> Fate {
    let fate = match target.vendor {
        Vendor::MySql => for_mysql(column, target, notes),
        Vendor::MariaDb => for_mariadb(column, target, notes),
    };
    collation_of_bytes(column);
    character_set(column, target, notes);
    timestamp(column, target, notes);
    fate
}

/// MySQL 8.0 prints `CHARACTER SET binary COLLATE binary`, of which others take the first only, and mean the same.
fn collation_of_bytes(column: &mut Phrase) {
    let found = column.find(&["COLLATE", "binary"]);
    if let Some(found) = found.filter(|_| column.find(&["CHARACTER", "SET", "binary"]).is_some()) {
        column.cut(found);
    }
}

fn for_mysql(column: &mut Phrase, target: &Target, notes: &mut Notes) -> Fate {
    if column.find(&["AS", "ROW", "START"]).or_else(|| column.find(&["AS", "ROW", "END"])).is_some() {
        return Fate::Gone;
    }
    without_history(column, target);
    words::literals_in_char(column, notes);
    unknown_options(column, notes);
    if let Some(found) = column.find(&["COMPRESSED"]) {
        // COMPRESSED may be followed by nothing else: the servers print the method nowhere.
        column.cut(found);
        notes.add("COMPRESSED", "", Why::kept("MySQL compresses pages, not columns; values stay the same"));
    }
    types(column, target, notes);
    generated::stored(column, notes);
    match target.takes_expressions() {
        true => column_defaults::for_mysql(column, notes),
        false => column_defaults::no_expression(column, notes),
    }
    Fate::Kept
}

/// Whether a column has a history of its own.
fn without_history(column: &mut Phrase, target: &Target) {
    for words in [["WITHOUT", "SYSTEM", "VERSIONING"], ["WITH", "SYSTEM", "VERSIONING"]] {
        if let Some(found) = column.find(&words).filter(|_| !target.reads(Syntax::History)) {
            column.cut(found);
        }
    }
}

/// Rewrites one column for another version of its vendor.
pub(super) fn for_other_version(column: &mut Phrase, target: &Target, notes: &mut Notes) {
    without_history(column, target);
    words::functions(column, target, notes);
    types(column, target, notes);
    // From 8.0.11 on the shorter name is the one that is printed: manual, "Spatial Data Types".
    if target.is_mysql_before((8, 0, 11)) {
        geometry_collection(column, notes);
    }
    match target.takes_expressions() {
        true => column_defaults::without_unknown_functions(column, target, notes),
        false => column_defaults::no_expression(column, notes),
    }
    if !target.hides_columns() {
        shown(column, notes);
    }
    if target.is_mariadb_before((10, 2, 1)) {
        generated::persistent(column, notes);
    }
    collation_of_bytes(column);
    character_set(column, target, notes);
    timestamp(column, target, notes);
}

/// Where a TIMESTAMP without a default says that it is never NULL.
pub(super) fn bare_timestamp(column: &Phrase) -> Option<Range<usize>> {
    let has_value = ["DEFAULT", "AS"].iter().any(|word| column.find(&[word]).is_some());
    column.find(&["NOT", "NULL"]).filter(|_| type_of(column) == "timestamp" && !has_value)
}

/// Such a one, where the target would make it follow the clock.
fn timestamp(column: &mut Phrase, target: &Target, notes: &mut Notes) {
    let Some(found) = bare_timestamp(column).filter(|_| target.implies_timestamps) else { return };
    let zero = format!("DEFAULT '0000-00-00 00:00:00{}'", zeros_of(column));
    let reason = "explicit_defaults_for_timestamp is OFF there, and this account's sessions cannot set it: a row that gives no value gets this one";
    notes.add("timestamp NOT NULL", &format!("timestamp NOT NULL {zero}"), Why::lost(reason));
    column.replace(found.end..found.end, format!(" {zero}").as_bytes());
}

/// The fraction of a second of nothing, with as many digits as the type has: so a server prints it.
fn zeros_of(column: &Phrase) -> String {
    let at = column.code(column.code(1) + 1);
    let digits = if at < column.len() && column.token(at).is_symbol(b'(') {
        column.code(at + 1)
    } else {
        column.len()
    };
    let digits = (digits < column.len()).then(|| column.token(digits).text);
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(0);
    if digits == 0 { String::new() } else { format!(".{}", "0".repeat(digits)) }
}

/// What becomes of types that the target does not know.
fn types(column: &mut Phrase, target: &Target, notes: &mut Notes) {
    if !target.has_vectors {
        let reason = match target.vendor {
            Vendor::MySql => "MySQL has vectors from 9.0 on: the bytes are kept, and not checked",
            Vendor::MariaDb => "MariaDB has vectors from 11.7 on: the bytes are kept, and not checked",
        };
        vector(column, reason, notes);
    }
    if target.unknown_types.contains(type_of(column).as_str()) {
        text_type(column, target, notes);
    }
}

/// UUID, INET and JSON become the text that clients saw all along.
fn text_type(column: &mut Phrase, target: &Target, notes: &mut Notes) {
    let at = column.code(1);
    // TiDB has only this one.
    let collation = if target.has_collation("ascii_general_ci") { "ascii_general_ci" } else { "ascii_bin" };
    let ascii = |kind: &str| format!("{kind} CHARACTER SET ascii COLLATE {collation}");
    let to = match type_of(column).as_str() {
        "uuid" => ascii("char(36)"),
        "inet6" => ascii("varchar(39)"),
        "inet4" => ascii("varchar(15)"),
        "json" => "longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin".to_owned(),
        _ => return,
    };
    let reason = "the target has no such type: the text that clients see is kept; it is sorted as text, and no longer checked";
    notes.add(&type_of(column), &to, Why::lost(reason));
    column.replace(at..at + 1, to.as_bytes());
}

/// A VECTOR becomes the bytes that it is.
fn vector(column: &mut Phrase, reason: &str, notes: &mut Notes) {
    if type_of(column) != "vector" {
        return;
    }
    let at = column.code(1);
    let open = column.code(at + 1);
    let end = if column.token(open).is_symbol(b'(') { column.closed(open) } else { at + 1 };
    let from = column.part(at..end);
    notes.add(&from, "blob", Why::lost(reason));
    column.replace(at..end, b"blob");
}

/// Options that a server kept for an engine that it does not have.
pub(super) fn unknown_options(phrase: &mut Phrase, notes: &mut Notes) {
    while let Some((at, end)) = unknown_option(phrase) {
        let text = phrase.cut(at..end);
        notes.add(&text, "", Why::kept("an option that no storage engine there acted on"));
    }
}

pub(super) fn unknown_option(phrase: &Phrase) -> Option<(usize, usize)> {
    let top = phrase.top();
    let is_option = |places: &&[usize]| {
        places[0] > 0
            && phrase.token(places[0]).kind == Kind::Quoted
            && phrase.token(places[1]).is_symbol(b'=')
            && matches!(phrase.token(places[2]).kind, Kind::String | Kind::Word)
    };
    top.windows(3).find(is_option).map(|places| (places[0], places[2] + 1))
}

fn for_mariadb(column: &mut Phrase, target: &Target, notes: &mut Notes) -> Fate {
    words::literals(column, target, notes);
    words::functions(column, target, notes);
    geometry_collection(column, notes);
    if target.unknown_types.contains("json") {
        text_type(column, target, notes);
    }
    if type_of(column) == "json" {
        let reason = "MariaDB keeps JSON as the text that MySQL prints, checked when it is written; it is compared as text";
        notes.add("json", "json (longtext)", Why::kept(reason));
    }
    let reason = "MariaDB's vectors have as many numbers as their column says, MySQL's up to that: the bytes are kept, and not \
                  checked. If all have as many, ALTER TABLE … MODIFY makes it a VECTOR";
    vector(column, reason, notes);
    for (words, why) in [
        (vec!["NOT", "SECONDARY"], Why::kept("MariaDB has no secondary engines")),
        (vec!["ENGINE_ATTRIBUTE"], Why::lost("MariaDB has no such attributes")),
        (vec!["SECONDARY_ENGINE_ATTRIBUTE"], Why::lost("MariaDB has no such attributes")),
        (
            vec!["SRID"],
            Why::lost("MariaDB cannot hold a column to one spatial reference system; values keep theirs"),
        ),
        (vec!["COLUMN_FORMAT"], Why::kept("it has a meaning for NDB only")),
        (vec!["STORAGE"], Why::kept("it has a meaning for NDB only")),
    ] {
        cut_with_value(column, &words, why, notes);
    }
    match target.hides_columns() {
        true => invisible(column, notes),
        false => shown(column, notes),
    }
    if !target.takes_expressions() {
        column_defaults::no_expression(column, notes);
    }
    if target.is_mariadb_before((10, 2, 1)) {
        generated::persistent(column, notes);
    }
    generated::not_null(column, notes)
}

/// No column is hidden.
fn shown(column: &mut Phrase, notes: &mut Notes) {
    if let Some(found) = column.find(&["INVISIBLE"]) {
        column.cut(found);
        notes.add("INVISIBLE", "", Why::lost("MariaDB hides columns from 10.3 on: this one is shown"));
    }
}

fn geometry_collection(column: &mut Phrase, notes: &mut Notes) {
    if type_of(column) == "geomcollection" {
        let at = column.code(1);
        notes.add("geomcollection", "geometrycollection", Why::kept("the same type under the target's name"));
        column.replace(at..at + 1, b"geometrycollection");
    }
}

/// Cuts an attribute, with its value if the word alone is none.
fn cut_with_value(column: &mut Phrase, words: &[&str], why: Why, notes: &mut Notes) {
    let Some(found) = column.find(words) else { return };
    let mut end = found.end;
    if words.len() == 1 {
        let next = column.code(end);
        end = if column.token(next).is_symbol(b'=') { column.code(next + 1) + 1 } else { next + 1 };
    }
    let text = column.cut(found.start..end);
    notes.add(&text, "", why);
}

/// MariaDB hides no column that every row must be given a value for.
fn invisible(column: &mut Phrase, notes: &mut Notes) {
    let Some(found) = column.find(&["INVISIBLE"]) else { return };
    let needs_value = column.find(&["NOT", "NULL"]).is_some()
        && ["DEFAULT", "AUTO_INCREMENT", "AS"].iter().all(|word| column.find(&[word]).is_none());
    if needs_value {
        column.cut(found);
        notes.add(
            "INVISIBLE",
            "",
            Why::lost("MariaDB hides only columns that have a default: this one is shown"),
        );
    }
}

/// Behind the type of a column, with what stands in its parentheses.
pub(super) fn type_end(column: &Phrase) -> usize {
    let at = column.code(1);
    let open = column.code(at + 1);
    if column.token(open).is_symbol(b'(') { column.closed(open) } else { at + 1 }
}

/// Names the table's character set where a column of text names none of its own.
pub(super) fn name_character_set(column: &mut Phrase, set: &str) {
    let is_text = ["char", "varchar", "enum", "set"].contains(&type_of(column).as_str())
        || type_of(column).ends_with("text");
    if is_text && column.find(&["CHARACTER", "SET"]).is_none() {
        let end = type_end(column);
        column.replace(end..end, format!(" CHARACTER SET {set}").as_bytes());
    }
}

/// The character set of a column, if the target does not know it.
pub(super) fn unknown_set(column: &Phrase, target: &Target) -> Option<String> {
    let name = column.code(column.find(&["CHARACTER", "SET"])?.end);
    let set = String::from_utf8_lossy(column.token(name).text).to_ascii_lowercase();
    (!target.has_character_set(&set)).then_some(set)
}

/// How many bytes the longest value of an ENUM or SET takes that has up to four for a character. None if values of it are read as
/// numbers, as an empty member of a SET and no member look the same.
fn longest(column: &Phrase) -> Option<usize> {
    let members = (column.code(1)..type_end(column)).filter(|&at| column.token(at).kind == Kind::String);
    let lengths: Vec<_> = members.map(|at| (column.part(at..at + 1).chars().count() - 2) * 4).collect();
    match type_of(column).as_str() {
        "enum" => lengths.into_iter().max(),
        _ if lengths.contains(&0) => None,
        _ => Some(lengths.iter().sum::<usize>() + lengths.len()),
    }
}

/// Text in a character set that the target does not know is kept as bytes.
fn character_set(column: &mut Phrase, target: &Target, notes: &mut Notes) {
    let Some(set) = unknown_set(column, target) else { return };
    let Some(found) = column.find(&["CHARACTER", "SET"]) else { return };
    let name = column.code(found.end);
    let at = column.code(1);
    let end = type_end(column);
    let length =
        column.part(column.code(at + 1) + 1..end.saturating_sub(1)).trim().parse::<u32>().unwrap_or(1);
    let to = match type_of(column).as_str() {
        "char" | "varchar" => format!("varbinary({})", length * 4),
        kind @ ("tinytext" | "text" | "mediumtext" | "longtext") => kind.replace("text", "blob"),
        "enum" | "set" => match longest(column) {
            Some(longest) => format!("varbinary({})", longest.max(1)),
            None => return,
        },
        _ => return,
    };
    let collate = column.find(&["COLLATE"]).map(|found| column.code(found.end) + 1);
    let from = format!("{} CHARACTER SET {set}", column.part(at..end));
    notes.add(&from, &to, Why::lost("the target does not know the character set: the bytes are kept"));
    let default = column.find(&["DEFAULT"]);
    if let Some(default) = default {
        let first = column.code(default.end);
        let end = value_end(column, first);
        if column.token(first).kind == Kind::String {
            let text = column.cut(default.start..end);
            notes.add(&text, "", Why::lost("a text in a character set that the target does not know"));
        }
    }
    column.cut(found.start..collate.unwrap_or(name + 1));
    column.replace(at..end, to.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::sql::Dialect;

    fn to(vendor: Vendor, text: &str) -> (String, Vec<bool>, Fate) {
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        let target = Target { has_vectors: false, ..Target::of(vendor) };
        let fate = rewrite(&mut phrase, &target, &mut notes);
        let loses = notes.rewrites.iter().map(|rewrite| rewrite.loses).collect();
        (String::from_utf8(phrase.to_text()).unwrap(), loses, fate)
    }

    fn mysql(text: &str) -> String {
        to(Vendor::MySql, text).0
    }

    fn mariadb(text: &str) -> String {
        to(Vendor::MariaDb, text).0
    }

    #[test]
    fn defaults_that_are_expressions_get_parentheses() {
        assert_eq!(
            mysql("`b` varchar(64) DEFAULT concat('a','b\\'c') COMMENT 'x'"),
            "`b` varchar(64) DEFAULT (concat('a','b\\'c')) COMMENT 'x'"
        );
        assert_eq!(mysql("`h` blob DEFAULT X'00ff'"), "`h` blob DEFAULT (X'00ff')");
        assert_eq!(mysql("`t` text NOT NULL DEFAULT ''"), "`t` text NOT NULL DEFAULT ('')");
        assert_eq!(mysql("`d` date DEFAULT current_timestamp()"), "`d` date DEFAULT (current_timestamp())");
        for same in [
            "`t` text DEFAULT NULL",
            "`a` int(11) DEFAULT (1 + 2)",
            "`a` int(11) DEFAULT -5",
            "`a` datetime(6) DEFAULT current_timestamp(6) ON UPDATE current_timestamp(6)",
            "`a` varchar(9) DEFAULT 'concat(1)' COMMENT 'DEFAULT x()'",
            "`a` varchar(9) DEFAULT _latin1'('",
            "`DEFAULT` bit(3) DEFAULT b'101'",
        ] {
            assert_eq!(to(Vendor::MySql, same), (same.into(), vec![], Fate::Kept));
        }
    }

    #[test]
    fn a_timestamp_without_a_default_does_not_follow_the_clock() {
        let target = Target { implies_timestamps: true, ..Target::of(Vendor::MySql) };
        let to = |text: &str| {
            let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
            for_other_version(&mut phrase, &target, &mut notes);
            (String::from_utf8(phrase.to_text()).unwrap(), notes.rewrites.len())
        };
        assert_eq!(
            to("`t` timestamp(3) NOT NULL COMMENT 'x'"),
            ("`t` timestamp(3) NOT NULL DEFAULT '0000-00-00 00:00:00.000' COMMENT 'x'".into(), 1)
        );
        assert_eq!(
            to("`t` timestamp NOT NULL"),
            ("`t` timestamp NOT NULL DEFAULT '0000-00-00 00:00:00'".into(), 1)
        );
        for same in [
            "`t` timestamp NULL DEFAULT NULL",
            "`t` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP",
            "`t` datetime NOT NULL",
        ] {
            assert_eq!(to(same), (same.into(), 0));
        }
        assert_eq!(mysql("`t` timestamp NOT NULL"), "`t` timestamp NOT NULL");
    }

    #[test]
    fn members_that_are_bytes() {
        let text = "`e` enum('a','A') CHARACTER SET binary COLLATE binary DEFAULT NULL";
        let bare = text.replace(" COLLATE binary", "");
        assert_eq!((mysql(text), mariadb(text)), (bare.clone(), bare.clone()));
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        for_other_version(&mut phrase, &Target::of(Vendor::MySql), &mut notes);
        assert_eq!((phrase.to_text(), notes.rewrites.len()), (bare.into_bytes(), 0));
        let named = "`e` enum('COLLATE binary') COLLATE utf8mb4_bin";
        assert_eq!(mysql(named), named);
    }

    #[test]
    fn what_mysql_does_not_have() {
        assert_eq!(
            mysql("`u` uuid NOT NULL DEFAULT uuid()"),
            "`u` char(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL DEFAULT (uuid())"
        );
        assert_eq!(to(Vendor::MySql, "`i` inet6 DEFAULT '::1'").1, [true]);
        assert_eq!(
            mysql("`id` bigint(20) NOT NULL DEFAULT nextval(`s`.`q`) COMMENT 'c'"),
            "`id` bigint(20) NOT NULL COMMENT 'c'"
        );
        assert_eq!(
            mysql("`u` uuid NOT NULL DEFAULT uuid_v7()"),
            "`u` char(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL"
        );
        assert_eq!(mysql("`id` int NOT NULL `SOME`='it''s' COMMENT 'c'"), "`id` int NOT NULL COMMENT 'c'");
        assert_eq!(mysql("`v` varchar(50) COMPRESSED DEFAULT NULL"), "`v` varchar(50) DEFAULT NULL");
        assert_eq!(mysql("`a` int(11) NOT NULL WITHOUT SYSTEM VERSIONING"), "`a` int(11) NOT NULL");
        assert_eq!(
            to(Vendor::MySql, "`s` timestamp(6) GENERATED ALWAYS AS ROW START INVISIBLE").2,
            Fate::Gone
        );
    }

    #[test]
    fn what_mariadb_does_not_have() {
        assert_eq!(mariadb("`c` geomcollection DEFAULT NULL"), "`c` geometrycollection DEFAULT NULL");
        assert_eq!(
            to(Vendor::MariaDb, "`v` vector(8) NOT NULL"),
            ("`v` blob NOT NULL".into(), vec![true], Fate::Kept)
        );
        assert_eq!(mariadb("`a` int NOT SECONDARY DEFAULT NULL"), "`a` int DEFAULT NULL");
        assert_eq!(mariadb("`p` point NOT NULL SRID 4326"), "`p` point NOT NULL");
        assert_eq!(mariadb("`a` int NOT NULL INVISIBLE"), "`a` int NOT NULL");
        assert_eq!(
            mariadb("`a` int NOT NULL AUTO_INCREMENT INVISIBLE"),
            "`a` int NOT NULL AUTO_INCREMENT INVISIBLE"
        );
        let (text, _, fate) =
            to(Vendor::MariaDb, "`v` int GENERATED ALWAYS AS ((`id` + 1)) VIRTUAL NOT NULL");
        assert_eq!(text, "`v` int GENERATED ALWAYS AS ((`id` + 1)) VIRTUAL");
        assert_eq!(fate, Fate::Checked("CHECK (`v` is not null)".into()));
    }

    /// For a MariaDB of this version that lacks UUID and JSON.
    fn older_mariadb(version: &str, text: &str) -> String {
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        let server =
            drover_db::Server { vendor: Vendor::MariaDb, version: version.into(), comment: String::new() };
        let unknown_types = ["uuid", "json"].into();
        let target = Target { server, has_vectors: false, unknown_types, ..Target::of(Vendor::MariaDb) };
        for_other_version(&mut phrase, &target, &mut notes);
        String::from_utf8(phrase.to_text()).unwrap()
    }

    #[test]
    fn what_older_versions_of_mariadb_do_not_have() {
        let to = |text| older_mariadb("10.1.23-MariaDB", text);
        assert_eq!(
            to("`u` uuid NOT NULL"),
            "`u` char(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL"
        );
        assert_eq!(to("`v` vector(2) NOT NULL"), "`v` blob NOT NULL");
        assert_eq!(to("`e` varchar(9) DEFAULT concat('a','b')"), "`e` varchar(9)");
        assert_eq!(to("`t` text DEFAULT 'x'"), "`t` text");
        assert_eq!(
            to("`p` int(11) GENERATED ALWAYS AS (`a` * 2) STORED"),
            "`p` int(11) GENERATED ALWAYS AS (`a` * 2) PERSISTENT"
        );
        for same in ["`t` text DEFAULT NULL", "`n` timestamp NOT NULL DEFAULT current_timestamp()"] {
            assert_eq!(to(same), same);
        }
        let later = |text| older_mariadb("10.2.11-MariaDB", text);
        for same in
            ["`e` varchar(9) DEFAULT concat('a','b')", "`p` int(11) GENERATED ALWAYS AS (`a` * 2) STORED"]
        {
            assert_eq!(later(same), same);
        }
        assert_eq!(mysql("`p` int(11) AS (a * 2) PERSISTENT"), "`p` int(11) AS (a * 2) STORED");
    }

    #[test]
    fn a_character_set_that_is_not_there_leaves_bytes() {
        assert_eq!(
            mariadb("`g` varchar(10) CHARACTER SET gb18030 COLLATE gb18030_chinese_ci NOT NULL DEFAULT '中'"),
            "`g` varbinary(40) NOT NULL"
        );
        assert_eq!(mariadb("`g` text CHARACTER SET gb18030 COLLATE gb18030_bin"), "`g` blob");
        let enumerated = "`g` enum('中','it''s') CHARACTER SET gb18030 COLLATE gb18030_bin DEFAULT NULL";
        assert_eq!(mariadb(enumerated), "`g` varbinary(20) DEFAULT NULL");
        assert_eq!(mariadb("`g` set('a','b') CHARACTER SET gb18030"), "`g` varbinary(10)");
        let empty = "`g` set('a','') CHARACTER SET gb18030";
        assert_eq!(mariadb(empty), empty);
    }
}
