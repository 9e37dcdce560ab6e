//! A whole CREATE TABLE.

use std::collections::BTreeSet;

use drover_db::sql::{Dialect, Kind};
use drover_db::{Server, Vendor};

use super::columns::{self, Fate};
use super::keys::{self, Around};
use super::syntax::Syntax;
use super::target::Target;
use super::{Notes, defaults, described, generated, options, tidb, words};
use crate::ddl::CreateTable;
use drover_db::sql::phrase::Phrase;

/// Rewrites the statement that `old` printed. `checks` are the constraints' names that are taken in the schema.
pub(super) fn rewrite(
    text: &[u8],
    old: &Server,
    target: &Target,
    checks: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> Vec<u8> {
    let own = (old.is_tidb() && !target.server.is_tidb()).then(|| tidb::without_own(text, notes));
    let text = own.as_deref().unwrap_or(text);
    if old.vendor == target.vendor {
        return for_other_version(text, old, target, notes);
    }
    let text = words::open_comments(text, old);
    let Some(mut parts) = CreateTable::parse(&text) else { return text };
    let mut tail = named(&parts.tail, old, target, notes);
    let mut items: Vec<_> = parts.items.iter().map(|item| named(item, old, target, notes)).collect();
    name_unknown_set(&mut items, &tail, target);
    options::rewrite(&mut tail, target, notes);
    options::character_set(&mut tail, target, notes);
    words::collations(&mut tail, target, notes);
    parts.tail = tail.to_text();
    let collation = described::of_table(&tail, |set| target.set_default(set));
    parts.items = rewrite_items(items, collation.as_deref(), target, checks, notes);
    parts.to_text()
}

/// The same for another version of its vendor.
fn for_other_version(text: &[u8], old: &Server, target: &Target, notes: &mut Notes) -> Vec<u8> {
    let text = match target.vendor {
        Vendor::MySql => {
            let text = words::open_comments(text, &target.server);
            words::unread_comments(&text, target, notes);
            text
        }
        Vendor::MariaDb => text.to_vec(),
    };
    let Some(mut parts) = CreateTable::parse(&text) else { return text };
    let mut tail = named(&parts.tail, old, target, notes);
    let mut items: Vec<_> = parts.items.iter().map(|item| named(item, old, target, notes)).collect();
    name_unknown_set(&mut items, &tail, target);
    options::character_set(&mut tail, target, notes);
    match target.vendor {
        Vendor::MySql => options::for_other_version(&mut tail, target, notes),
        Vendor::MariaDb => options::for_other_mariadb(&mut tail, target, notes),
    }
    words::collations(&mut tail, target, notes);
    parts.tail = tail.to_text();
    let collation = described::of_table(&tail, |set| target.set_default(set));
    let mut around = around(&items, target);
    let for_other_version =
        |item| item_for_other_version(item, collation.as_deref(), &mut around, target, notes);
    parts.items = items.into_iter().filter_map(for_other_version).collect();
    parts.items.extend(around.checks.into_iter().map(String::into_bytes));
    parts.to_text()
}

/// Where the target does not know the table's character set, its columns name it.
fn name_unknown_set(items: &mut [Phrase], tail: &Phrase, target: &Target) {
    let Some(set) = options::unknown_set(tail, target) else { return };
    for column in items.iter_mut().filter(|item| is_column(item)) {
        columns::name_character_set(column, &set);
    }
}

/// `collation` is the table's, `around` what the item may have to do with.
fn item_for_other_version(
    mut phrase: Phrase,
    collation: Option<&str>,
    around: &mut Around,
    target: &Target,
    notes: &mut Notes,
) -> Option<Vec<u8>> {
    if is_column(&phrase) && around.lacks(&phrase) {
        return None;
    }
    words::collations(&mut phrase, target, notes);
    let stays = match is_column(&phrase) {
        true => {
            columns::for_other_version(&mut phrase, target, notes);
            generated::collation(&mut phrase, collation, target, notes);
            around.checks.extend(generated::check(&mut phrase, target, notes));
            true
        }
        false => {
            keys::keeps_period(&phrase, target, notes)
                && keys::for_other_version(&mut phrase, around, target, notes)
        }
    };
    words::literals_of_four_bytes(&mut phrase, target, notes);
    stays.then(|| phrase.to_text())
}

/// A part of the statement, with the collations that the old server meant.
fn named(text: &[u8], old: &Server, target: &Target, notes: &mut Notes) -> Phrase {
    let mut phrase = Phrase::of(text, Dialect::default());
    defaults::name_them(&mut phrase, old, target, false, notes);
    phrase
}

fn rewrite_items(
    items: Vec<Phrase>,
    collation: Option<&str>,
    target: &Target,
    checks: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> Vec<Vec<u8>> {
    let mut around = around(&items, target);
    let (mut rewritten, mut more) = (Vec::new(), Vec::new());
    for mut item in items {
        words::collations(&mut item, target, notes);
        if !is_column(&item) {
            // A key must know of all columns.
            more.push(item);
            continue;
        }
        let fate = columns::rewrite(&mut item, target, notes);
        generated::collation(&mut item, collation, target, notes);
        match fate {
            Fate::Kept => rewritten.push(item.to_text()),
            Fate::Gone => {}
            Fate::Checked(check) => {
                rewritten.push(item.to_text());
                around.checks.push(check);
            }
        }
    }
    for mut item in more {
        if keys::keeps_period(&item, target, notes)
            && keys::rewrite(&mut item, &around, target, checks, notes)
        {
            rewritten.push(item.to_text());
        }
    }
    rewritten.extend(around.checks.into_iter().map(String::into_bytes));
    rewritten
}

fn around(items: &[Phrase], target: &Target) -> Around {
    let mut around = Around::default();
    for item in items {
        let name = item.token(item.code(0)).name().unwrap_or_default();
        if is_column(item) {
            around.types.insert(name.clone(), columns::type_of(item));
            if !target.reads(Syntax::History) && is_row_time(item) {
                around.gone.insert(name);
            }
        } else {
            around.take_period(item);
        }
    }
    around
}

pub(super) fn is_column(item: &Phrase) -> bool {
    item.token(item.code(0)).kind == Kind::Quoted
}

fn is_row_time(column: &Phrase) -> bool {
    ["START", "END"].iter().any(|end| column.find(&["AS", "ROW", end]).is_some())
}

/// The columns that say from when to when a row of a table with history was there; none if the table does not show them.
pub(super) fn row_times(text: &[u8]) -> Vec<String> {
    let Some(parts) = CreateTable::parse(text) else { return Vec::new() };
    let items = parts.items.iter().map(|item| Phrase::of(item, Dialect::default()));
    let times = items.filter(|item| is_column(item) && is_row_time(item));
    times.filter_map(|item| String::from_utf8(item.token(item.code(0)).name()?).ok()).collect()
}

/// Whether a column is a TIMESTAMP that is never NULL and has no default.
pub(super) fn has_bare_timestamp(text: &[u8]) -> bool {
    let items = CreateTable::parse(text).map(|parts| parts.items).unwrap_or_default();
    let mut items = items.iter().map(|item| Phrase::of(item, Dialect::default()));
    items.any(|item| is_column(&item) && columns::bare_timestamp(&item).is_some())
}

/// The columns that hold floating-point numbers.
pub(super) fn doubles(text: &[u8]) -> Vec<String> {
    columns_of(text, |data_type| matches!(data_type, "float" | "double" | "real"))
}

/// The columns whose types, in small letters, are such.
pub(super) fn columns_of(text: &[u8], is_such: impl Fn(&str) -> bool) -> Vec<String> {
    let Some(parts) = CreateTable::parse(text) else { return Vec::new() };
    let items = parts.items.iter().map(|item| Phrase::of(item, Dialect::default()));
    let columns = items.filter(|item| is_column(item) && is_such(&columns::type_of(item)));
    columns.filter_map(|item| String::from_utf8(item.token(item.code(0)).name()?).ok()).collect()
}

/// The columns of text in a character set that the target does not know: it keeps their bytes.
pub(super) fn kept_as_bytes(text: &[u8], target: &Target) -> Vec<String> {
    let Some(parts) = CreateTable::parse(text) else { return Vec::new() };
    let tail = Phrase::of(&parts.tail, Dialect::default());
    let mut items: Vec<_> = parts.items.iter().map(|item| Phrase::of(item, Dialect::default())).collect();
    name_unknown_set(&mut items, &tail, target);
    let columns = items.iter().filter(|item| is_column(item) && columns::unknown_set(item, target).is_some());
    columns.filter_map(|item| String::from_utf8(item.token(item.code(0)).name()?).ok()).collect()
}

/// The statement without the items at these places.
pub(super) fn without(text: &[u8], places: &[usize]) -> Vec<u8> {
    CreateTable::parse(text).map_or_else(|| text.to_vec(), |parts| parts.without(places).to_text())
}

/// The item at that place.
pub(super) fn item(text: &[u8], place: usize) -> String {
    let item = CreateTable::parse(text).and_then(|parts| parts.items.into_iter().nth(place));
    item.map(|item| String::from_utf8_lossy(&item).into_owned()).unwrap_or_default()
}

/// The engine that the statement names.
pub(super) fn engine(text: &[u8]) -> Option<String> {
    let parts = CreateTable::parse(text)?;
    let tail = Phrase::of(&parts.tail, Dialect::default());
    let found = tail.find(&["ENGINE"])?;
    let value = tail.code(tail.code(found.end) + 1);
    Some(tail.part(value..value + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(vendor: Vendor, text: &str) -> (String, Vec<super::super::Rewrite>) {
        let version = if vendor == Vendor::MySql { "11.8.2-MariaDB" } else { "9.7.4" };
        let old_vendor = if vendor == Vendor::MySql { Vendor::MariaDb } else { Vendor::MySql };
        let old = Server { vendor: old_vendor, version: version.into(), comment: String::new() };
        let mut notes = Notes::new("table `s`.`t`");
        let text = rewrite(text.as_bytes(), &old, &Target::of(vendor), &mut BTreeSet::new(), &mut notes);
        (String::from_utf8(text).unwrap(), notes.rewrites)
    }

    #[test]
    fn a_table_with_history_for_mysql() {
        let text = "CREATE TABLE `t` (
  `s` timestamp(6) GENERATED ALWAYS AS ROW START INVISIBLE,
  `id` int(11) NOT NULL,
  `e` timestamp(6) GENERATED ALWAYS AS ROW END INVISIBLE,
  PRIMARY KEY (`id`,`e`),
  PERIOD FOR SYSTEM_TIME (`s`, `e`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_uca1400_ai_ci WITH SYSTEM VERSIONING";
        let (to, rewrites) = to(Vendor::MySql, text);
        assert_eq!(
            to,
            "CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
        );
        assert!(rewrites.iter().any(|rewrite| rewrite.loses && rewrite.from == "WITH SYSTEM VERSIONING"));
        assert_eq!(row_times(text.as_bytes()), ["s", "e"]);
    }

    #[test]
    fn a_table_of_mysql_for_mariadb() {
        let text = "CREATE TABLE `t` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT /*!80023 INVISIBLE */,
  `a` varchar(9) COLLATE utf8mb4_0900_ai_ci DEFAULT NULL,
  `v` int GENERATED ALWAYS AS ((`id` + 1)) VIRTUAL NOT NULL,
  PRIMARY KEY (`id`),
  KEY `h` (`a`) /*!80000 INVISIBLE */,
  CONSTRAINT `c` CHECK ((`id` > 0)) /*!80016 NOT ENFORCED */
) /*!50100 TABLESPACE `innodb_system` */ ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
/*!50100 PARTITION BY HASH (`id`)
PARTITIONS 2 */";
        let (to, rewrites) = to(Vendor::MariaDb, text);
        let expected = "CREATE TABLE `t` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT INVISIBLE,
  `a` varchar(9) COLLATE utf8mb4_uca1400_nopad_ai_ci DEFAULT NULL,
  `v` int GENERATED ALWAYS AS ((`id` + 1)) VIRTUAL,
  PRIMARY KEY (`id`),
  KEY `h` (`a`) IGNORED,
  CHECK (`v` is not null)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_uca1400_nopad_ai_ci
PARTITION BY HASH (`id`)
PARTITIONS 2";
        assert_eq!(to, expected);
        assert_eq!(rewrites.iter().filter(|rewrite| rewrite.loses).count(), 1, "{rewrites:?}");
    }

    /// For a MariaDB that has none of what 10.3 and later ones brought.
    fn to_older_mariadb(text: &str) -> (String, Vec<super::super::Rewrite>) {
        let server = |version: &str| Server {
            vendor: Vendor::MariaDb,
            version: version.into(),
            comment: String::new(),
        };
        let unknown_syntax = [
            Syntax::HiddenKey,
            Syntax::DefaultPartition,
            Syntax::Period,
            Syntax::WithoutOverlaps,
            Syntax::History,
            Syntax::GeneratedCollation,
        ]
        .into();
        let older = server("10.2.11-MariaDB");
        let target = Target { server: older, unknown_syntax, ..Target::of(Vendor::MariaDb) };
        let (old, mut notes) = (server("11.8.2-MariaDB"), Notes::new("table `s`.`t`"));
        let text = rewrite(text.as_bytes(), &old, &target, &mut BTreeSet::new(), &mut notes);
        (String::from_utf8(text).unwrap(), notes.rewrites)
    }

    #[test]
    fn a_table_for_an_older_mariadb() {
        let text = "CREATE TABLE `t` (
  `id` int(11) NOT NULL,
  `s` timestamp(6) GENERATED ALWAYS AS ROW START INVISIBLE,
  `e` timestamp(6) GENERATED ALWAYS AS ROW END INVISIBLE,
  `a` date NOT NULL,
  `b` date NOT NULL WITHOUT SYSTEM VERSIONING,
  `g` varchar(9) COLLATE utf8mb4_bin GENERATED ALWAYS AS (`id`) VIRTUAL,
  PERIOD FOR `p` (`a`, `b`),
  PRIMARY KEY (`id`,`e`),
  UNIQUE KEY `u` (`id`,`p` WITHOUT OVERLAPS) IGNORED,
  KEY `k` (`e`),
  PERIOD FOR SYSTEM_TIME (`s`, `e`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci WITH SYSTEM VERSIONING
 PARTITION BY SYSTEM_TIME
(PARTITION `p0` HISTORY ENGINE = InnoDB)";
        let (to, rewrites) = to_older_mariadb(text);
        let expected = "CREATE TABLE `t` (
  `id` int(11) NOT NULL,
  `a` date NOT NULL,
  `b` date NOT NULL,
  `g` varchar(9) CHARACTER SET utf8mb4 BINARY GENERATED ALWAYS AS (`id`) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`id`,`a`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci";
        assert_eq!(to, expected);
        let lost: BTreeSet<_> =
            rewrites.iter().filter(|one| one.loses).map(|one| one.from.as_str()).collect();
        let hidden = "UNIQUE KEY `u` (`id`,`a`) IGNORED";
        let partitions = "PARTITION BY SYSTEM_TIME (PARTITION `p0` HISTORY ENGINE = InnoDB)";
        let (period, overlaps) = ("PERIOD FOR `p` (`a`, `b`)", "`p` WITHOUT OVERLAPS");
        let history = "WITH SYSTEM VERSIONING";
        assert_eq!(lost, [partitions, period, hidden, "KEY `k` (`e`)", history, overlaps].into());
    }

    #[test]
    fn what_is_left_out_afterwards() {
        let text = b"CREATE TABLE `t` (\n  `a` int,\n  KEY `k` (`a`)\n) ENGINE=InnoDB";
        assert_eq!((item(text, 1).as_str(), engine(text).as_deref()), ("KEY `k` (`a`)", Some("InnoDB")));
        assert_eq!(without(text, &[1]), b"CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB");
    }
}
