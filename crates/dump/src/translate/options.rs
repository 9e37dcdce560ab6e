//! What stands behind the parenthesis of a CREATE TABLE: engine, options, partitions.

use std::ops::Range;

use drover_db::Vendor;
use drover_db::sql::Kind;

use super::syntax::Syntax;
use super::target::Target;
use super::{Notes, Why, columns};
use drover_db::engines::has_rows_elsewhere;
use drover_db::sql::phrase::Phrase;

/// Rewrites the options and partitions of a table.
pub(super) fn rewrite(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    match target.vendor {
        Vendor::MySql => for_mysql(tail, target, notes),
        Vendor::MariaDb => for_mariadb(tail, notes),
    }
    partitions(tail, target, notes);
    engines(tail, target, notes);
}

/// Where a schema or table names its character set: the words up to the name, and the name.
fn set_of(phrase: &Phrase) -> Option<(Range<usize>, String)> {
    let words = phrase.find(&["CHARACTER", "SET"]).or_else(|| phrase.find(&["CHARSET"]))?;
    let next = phrase.code(words.end);
    let name = if phrase.token(next).is_symbol(b'=') { phrase.code(next + 1) } else { next };
    Some((words.start..name + 1, phrase.part(name..name + 1).to_ascii_lowercase()))
}

/// The default character set of a table, if the target does not know it.
pub(super) fn unknown_set(tail: &Phrase, target: &Target) -> Option<String> {
    set_of(tail).map(|(_, set)| set).filter(|set| !target.has_character_set(set))
}

/// A default character set that the target does not know is utf8mb4 there.
pub(super) fn character_set(phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
    let Some((mut place, set)) = set_of(phrase) else { return };
    if target.has_character_set(&set) {
        return;
    }
    if let Some(collate) = phrase.find(&["COLLATE"]).filter(|found| found.start >= place.end) {
        let next = phrase.code(collate.end);
        place.end = if phrase.token(next).is_symbol(b'=') { phrase.code(next + 1) } else { next } + 1;
    }
    let from = phrase.part(place.clone());
    phrase.replace(place, b"CHARACTER SET utf8mb4");
    let reason =
        "the target does not know the character set: what is made there without naming one is in utf8mb4";
    notes.add(&from, "CHARACTER SET utf8mb4", Why::lost(reason));
}

/// Rewrites the options and partitions of a table for another version of MySQL.
pub(super) fn for_other_version(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    let mut at = 0;
    while at < tail.len() {
        if !tail.token(at).is_word("TABLESPACE") {
            at += 1;
            continue;
        }
        let next = tail.code(at + 1);
        let name = if tail.token(next).is_symbol(b'=') { tail.code(next + 1) } else { next };
        let is_there = tail
            .token(name)
            .name()
            .is_some_and(|name| target.tablespaces.contains(&*String::from_utf8_lossy(&name)));
        if is_there || tail.token(name).name().is_none() {
            at += 1;
            continue;
        }
        let text = tail.cut(at..name + 1);
        notes.add(
            &text,
            "",
            Why::kept("the target has no such tablespace: the table gets a file of its own"),
        );
    }
    partitions(tail, target, notes);
    engines(tail, target, notes);
}

/// The same for another version of MariaDB.
pub(super) fn for_other_mariadb(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    without_history(tail, target, notes);
    partitions(tail, target, notes);
}

fn without_history(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    let found = tail.find(&["WITH", "SYSTEM", "VERSIONING"]);
    if let Some(found) = found.filter(|_| !target.reads(Syntax::History)) {
        tail.cut(found);
        let reason = format!(
            "{}: the rows of now are restored, those of the past are only in the dump",
            lacks_history(target)
        );
        notes.add("WITH SYSTEM VERSIONING", "", Why::lost(&reason));
    }
}

fn lacks_history(target: &Target) -> &'static str {
    match target.vendor {
        Vendor::MySql => "MySQL keeps no history",
        Vendor::MariaDb => "MariaDB keeps history from 10.3 on",
    }
}

fn for_mysql(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    without_history(tail, target, notes);
    let own_checksums = "InnoDB has checksums and recovery of its own";
    option(tail, "PAGE_CHECKSUM", notes, |_| Some(Why::kept(own_checksums)));
    option(tail, "TRANSACTIONAL", notes, |_| Some(Why::kept(own_checksums)));
    option(tail, "ROW_FORMAT", notes, |value| {
        value.eq_ignore_ascii_case("PAGE").then(|| Why::kept("a format of the engine Aria"))
    });
    while let Some((at, end)) = columns::unknown_option(tail) {
        let text = tail.part(at..end);
        let (to, why) = backquoted(&text);
        notes.add(&text, to, why);
        match to {
            "" => drop(tail.cut(at..end)),
            to => tail.replace(at..end, to.as_bytes()),
        }
    }
}

/// What becomes of an option that MariaDB prints in backquotes.
fn backquoted(text: &str) -> (&'static str, Why) {
    let text = text.to_ascii_uppercase();
    let is_on = ["'1'", "'ON'", "'YES'"].iter().any(|on| text.ends_with(on));
    match () {
        () if text.contains("PAGE_COMPRESSED") && is_on => {
            ("COMPRESSION='zlib'", Why::kept("page compression under the target's name"))
        }
        () if text.contains("ENCRYPTED") && is_on => (
            "",
            Why::lost(
                "MySQL encrypts with a keyring that must be set up first: then ALTER TABLE … ENCRYPTION = 'Y'",
            ),
        ),
        () => ("", Why::kept("an option of a storage engine of MariaDB")),
    }
}

/// Partitions that the target does not know. Without them the table holds the same rows.
fn partitions(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    let Some(found) = tail.find(&["PARTITION", "BY"]) else { return };
    let has_default = (found.end..tail.len()).any(|at| {
        tail.token(at).is_word("DEFAULT")
            && tail.before(at).is_some_and(|name| {
                tail.before(name).is_some_and(|word| tail.token(word).is_word("PARTITION"))
            })
    });
    let by_time = tail.token(tail.code(found.end)).is_word("SYSTEM_TIME");
    let reason = match target.vendor {
        _ if by_time && !target.reads(Syntax::History) => lacks_history(target),
        _ if !has_default || target.reads(Syntax::DefaultPartition) => return,
        Vendor::MySql => "MySQL has no partition for all other values: the table is not partitioned",
        Vendor::MariaDb => {
            "the target's version has no partition for all other values: the table is not partitioned"
        }
    };
    let text = tail.cut(found.start..tail.len());
    notes.add(&text, "", Why::lost(reason));
}

fn for_mariadb(tail: &mut Phrase, notes: &mut Notes) {
    for name in ["SECONDARY_ENGINE", "SECONDARY_ENGINE_ATTRIBUTE", "ENGINE_ATTRIBUTE", "AUTOEXTEND_SIZE"] {
        option(tail, name, notes, |_| Some(Why::kept("MariaDB has no such option; rows are not affected")));
    }
    option(tail, "ENCRYPTION", notes, |value| {
        Some(match value.to_ascii_uppercase().contains('Y') {
            true => Why::lost(
                "MariaDB encrypts with a plugin that must be set up first: then ALTER TABLE … ENCRYPTED = YES",
            ),
            false => Why::kept("not to encrypt is what it does anyway"),
        })
    });
    if let Some(found) = tail.find(&["TABLESPACE"]) {
        let text = tail.cut(found.start..tail.code(found.end) + 1);
        notes.add(&text, "", Why::kept("MariaDB gives each table a file of its own"));
    }
    if let Some(found) = tail.find(&["COMPRESSION"]) {
        let end = tail.code(tail.code(found.end) + 1) + 1;
        let text = tail.part(found.start..end);
        let to = if text.to_ascii_lowercase().contains("none") { "" } else { "PAGE_COMPRESSED=1" };
        tail.replace(found.start..end, to.as_bytes());
        notes.add(&text, to, Why::kept("page compression under the target's name"));
    }
}

/// Cuts an option that `decide` gives a reason for.
fn option(tail: &mut Phrase, name: &str, notes: &mut Notes, decide: impl Fn(&str) -> Option<Why>) {
    let Some(found) = tail.find(&[name]) else { return };
    let equals = tail.code(found.end);
    let value = tail.code(equals + 1);
    if !tail.token(equals).is_symbol(b'=') {
        return;
    }
    if let Some(why) = decide(&tail.part(value..value + 1)) {
        let text = tail.cut(found.start..value + 1);
        notes.add(&text, "", why);
    }
}

/// An engine that the target does not have becomes InnoDB, but for those whose rows are elsewhere: such a table would be empty, so the
/// target refuses it. MySQL from 8.0 on partitions tables of InnoDB only.
fn engines(tail: &mut Phrase, target: &Target, notes: &mut Notes) {
    let partitioned = target.partitions_innodb_only && tail.find(&["PARTITION", "BY"]).is_some();
    let mut noted = false;
    for at in 0..tail.len() {
        if !tail.token(at).is_word("ENGINE") || !tail.token(tail.code(at + 1)).is_symbol(b'=') {
            continue;
        }
        let value = tail.code(tail.code(at + 1) + 1);
        let engine = tail.part(value..value + 1);
        let may_stay = !partitioned || engine.eq_ignore_ascii_case("InnoDB");
        let may_stay = may_stay && (target.has_engine(&engine) || has_rows_elsewhere(&engine));
        if may_stay || tail.token(value).kind != Kind::Word {
            continue;
        }
        tail.replace(value..value + 1, b"InnoDB");
        if !noted {
            notes.add(&format!("ENGINE={engine}"), "ENGINE=InnoDB", engine_reason(&engine, target));
        }
        noted = true;
    }
}

fn engine_reason(engine: &str, target: &Target) -> Why {
    match engine.to_ascii_uppercase().as_str() {
        "BLACKHOLE" => Why::lost("the target does not have the engine: rows that are written will stay"),
        _ if target.has_engine(engine) => Why::kept("MySQL partitions no tables of that engine"),
        _ => Why::kept("the target does not have the engine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::sql::Dialect;

    fn to(vendor: Vendor, text: &str) -> String {
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        rewrite(&mut phrase, &Target::of(vendor), &mut notes);
        String::from_utf8(phrase.to_text()).unwrap()
    }

    #[test]
    fn for_mysql() {
        let to = |text| to(Vendor::MySql, text);
        assert_eq!(
            to(
                ") ENGINE=Aria DEFAULT CHARSET=utf8mb4 PAGE_CHECKSUM=0 ROW_FORMAT=PAGE TRANSACTIONAL=1 COMMENT='TRANSACTIONAL=1'"
            ),
            ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='TRANSACTIONAL=1'"
        );
        assert_eq!(
            to(") ENGINE=InnoDB `PAGE_COMPRESSED`='1' `PAGE_COMPRESSION_LEVEL`='3'"),
            ") ENGINE=InnoDB COMPRESSION='zlib'"
        );
        assert_eq!(to(") ENGINE=InnoDB `ENCRYPTED`='NO'"), ") ENGINE=InnoDB");
        assert_eq!(
            to(
                ") ENGINE=InnoDB WITH SYSTEM VERSIONING\n PARTITION BY SYSTEM_TIME \n(PARTITION `p0` HISTORY ENGINE = InnoDB)"
            ),
            ") ENGINE=InnoDB"
        );
        assert_eq!(
            to(
                ") ENGINE=InnoDB\n PARTITION BY LIST (`k`)\n(PARTITION `a` VALUES IN (1), PARTITION `r` DEFAULT ENGINE = InnoDB)"
            ),
            ") ENGINE=InnoDB"
        );
        assert_eq!(
            to(
                ") ENGINE=MyISAM\n PARTITION BY RANGE (`id`)\n(PARTITION `a` VALUES LESS THAN (10) ENGINE = MyISAM)"
            ),
            ") ENGINE=InnoDB\n PARTITION BY RANGE (`id`)\n(PARTITION `a` VALUES LESS THAN (10) ENGINE = InnoDB)"
        );
        for same in [
            ") ENGINE=MyISAM DEFAULT CHARSET=latin1 ROW_FORMAT=FIXED MAX_ROWS=5",
            ") ENGINE=FEDERATED CONNECTION='mysql://host/a/b'",
        ] {
            assert_eq!(to(same), same);
        }
    }

    #[test]
    fn for_mariadb() {
        let to = |text| to(Vendor::MariaDb, text);
        assert_eq!(
            to(") TABLESPACE `innodb_system` ENGINE=InnoDB AUTOEXTEND_SIZE=4194304 SECONDARY_ENGINE=rapid"),
            ") ENGINE=InnoDB"
        );
        assert_eq!(
            to(") ENGINE=InnoDB COMPRESSION='zlib' ENCRYPTION='N'"),
            ") ENGINE=InnoDB PAGE_COMPRESSED=1"
        );
        assert_eq!(to(") ENGINE=ARCHIVE"), ") ENGINE=InnoDB");
    }

    #[test]
    fn partitions_that_older_versions_do_not_know() {
        let to = |target: &Target, text: &str| {
            let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
            match target.vendor {
                Vendor::MySql => for_other_version(&mut phrase, target, &mut notes),
                Vendor::MariaDb => for_other_mariadb(&mut phrase, target, &mut notes),
            }
            let loses = notes.rewrites.iter().map(|rewrite| rewrite.loses).collect::<Vec<_>>();
            (String::from_utf8(phrase.to_text()).unwrap(), loses)
        };
        let unknown_syntax = [Syntax::History, Syntax::DefaultPartition].into();
        let older = Target { unknown_syntax, ..Target::of(Vendor::MariaDb) };
        let listed = ") ENGINE=InnoDB\n PARTITION BY LIST (`k`)\n(PARTITION `a` VALUES IN (1), PARTITION `r` DEFAULT ENGINE = InnoDB)";
        let by_time = ") ENGINE=InnoDB WITH SYSTEM VERSIONING\n PARTITION BY SYSTEM_TIME \n(PARTITION `p0` HISTORY ENGINE = InnoDB)";
        let none = (") ENGINE=InnoDB".to_owned(), vec![true]);
        assert_eq!(to(&older, listed), none);
        assert_eq!(to(&Target::of(Vendor::MySql), listed), none);
        assert_eq!(to(&older, by_time), (none.0, vec![true, true]));
        for same in [listed, by_time] {
            assert_eq!(to(&Target::of(Vendor::MariaDb), same), (same.to_owned(), vec![]));
        }
    }
}
