//! Keys, constraints and periods of a CREATE TABLE.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use drover_db::Vendor;
use drover_db::sql::Kind;

use super::syntax::Syntax;
use super::target::Target;
use super::{Notes, Why, columns, words};
use drover_db::sql::phrase::Phrase;

/// MySQL's limit; MariaDB's is 32.
const MYSQL_KEY_PARTS: usize = 16;

/// What the keys of a table have to do with its other parts.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// The types of the columns.
    pub(super) types: BTreeMap<Vec<u8>, String>,
    /// Columns that are left out.
    pub(super) gone: BTreeSet<Vec<u8>>,
    /// Constraints that columns need beside them.
    pub(super) checks: Vec<String>,
    /// For each period the column that it begins with.
    pub(super) periods: BTreeMap<Vec<u8>, String>,
}

impl Around {
    /// Whether a column is left out.
    pub(super) fn lacks(&self, column: &Phrase) -> bool {
        column.token(column.code(0)).name().is_some_and(|name| self.gone.contains(&name))
    }

    /// Notes the column that a period begins with; whether the item is a period.
    pub(super) fn take_period(&mut self, item: &Phrase) -> bool {
        let Some(found) = item.find(&["PERIOD", "FOR"]).filter(|found| found.start == item.code(0)) else {
            return false;
        };
        let name = item.code(found.end);
        let open = item.code(name + 1);
        if let Some(period) = item.token(name).name() {
            self.periods.insert(period, item.part(item.code(open + 1)..item.code(open + 1) + 1));
        }
        true
    }
}

/// Rewrites a key or constraint; whether it stays.
pub(super) fn rewrite(
    item: &mut Phrase,
    around: &Around,
    target: &Target,
    checks: &mut BTreeSet<String>,
    notes: &mut Notes,
) -> bool {
    if item.find(&["CHECK"]).is_some() && item.find(&["KEY"]).is_none() {
        return check(item, target, checks, notes);
    }
    parser(item, notes);
    let stays = match target.vendor {
        Vendor::MySql => for_mysql(item, around, target, notes),
        Vendor::MariaDb => for_mariadb(item, notes),
    };
    if stays {
        hidden(item, target, notes);
    }
    stays
}

/// A key that the optimizer does not use, under the target's word for it.
fn hidden(item: &mut Phrase, target: &Target, notes: &mut Notes) {
    let Some(found) = item.find(&["IGNORED"]).or_else(|| item.find(&["INVISIBLE"])) else { return };
    if !target.reads(Syntax::HiddenKey) {
        return shown(item, found, notes);
    }
    let own = if target.vendor == Vendor::MySql { "INVISIBLE" } else { "IGNORED" };
    let word = item.part(found.clone());
    if !word.eq_ignore_ascii_case(own) {
        item.replace(found, own.as_bytes());
        notes.add(&word, own, Why::kept("the same under the target's name"));
    }
}

/// Takes such a word away.
fn shown(item: &mut Phrase, word: Range<usize>, notes: &mut Notes) {
    let before = item.part(0..item.len());
    item.cut(word);
    let reason = "the target hides no keys from its optimizer, which uses this one again";
    notes.add(&before, &item.part(0..item.len()), Why::lost(reason));
}

/// The comment in which MySQL prints that word, where the target passes over it.
fn hidden_in_comment(item: &Phrase) -> Option<Range<usize>> {
    let is_it = |&at: &usize| {
        let token = item.token(at);
        let comment = (token.kind == Kind::Comment).then(|| words::version_comment(token.text)).flatten();
        comment.is_some_and(|(_, version, code)| {
            (version, String::from_utf8_lossy(code).trim()) == words::HIDDEN_KEY
        })
    };
    (0..item.len()).find(is_it).map(|at| at..at + 1)
}

/// Whether the item is a period that the target has, too; what is lost without it is noted. That of system time goes with the history.
pub(super) fn keeps_period(item: &Phrase, target: &Target, notes: &mut Notes) -> bool {
    let Some(found) = item.find(&["PERIOD", "FOR"]) else { return true };
    if item.token(item.code(found.end)).is_word("SYSTEM_TIME") {
        return target.reads(Syntax::History);
    }
    if target.reads(Syntax::Period) {
        return true;
    }
    let reason = "the target has no periods: nothing checks that one begins before it ends, and FOR PORTION OF is not there";
    left_out(item, reason, notes)
}

fn check(item: &mut Phrase, target: &Target, checks: &mut BTreeSet<String>, notes: &mut Notes) -> bool {
    if target.vendor == Vendor::MySql {
        words::literals_in_char(item, notes);
    }
    if target.vendor == Vendor::MariaDb {
        words::literals(item, target, notes);
        words::functions(item, target, notes);
        if item.find(&["NOT", "ENFORCED"]).is_some() {
            let text = item.part(0..item.len());
            notes.add(
                &text,
                "",
                Why::lost("MariaDB enforces every constraint: one that was not enforced is left out"),
            );
            return false;
        }
        if let Some(found) = item.find(&["ENFORCED"]) {
            item.cut(found);
        }
        return true;
    }
    // The names are one set for a whole schema there, and MariaDB gives the same ones in every table.
    let name = item.token(item.code(1)).name().map(|name| String::from_utf8_lossy(&name).to_lowercase());
    let Some(name) = name.filter(|_| item.token(item.code(0)).is_word("CONSTRAINT")) else { return true };
    let given =
        name.strip_prefix("constraint_").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if given || !checks.insert(name) {
        let end = item.code(item.code(1) + 1);
        let text = item.part(0..end);
        item.replace(0..end, b"");
        if !given {
            notes.add(
                &text,
                "",
                Why::kept("another table of the schema has a constraint of that name: MySQL chooses one"),
            );
        }
    }
    true
}

fn parser(item: &mut Phrase, notes: &mut Notes) {
    let Some(found) = item.find(&["WITH", "PARSER"]) else { return };
    let text = item.cut(found.start..item.code(found.end) + 1);
    notes.add(
        &text,
        "",
        Why::lost("the other vendor's parsers are not there: words are found by the built-in one"),
    );
}

/// The parts of a key: each from its first token to behind its last.
fn parts(item: &Phrase) -> Vec<(usize, usize)> {
    let Some(open) = (0..item.len()).find(|&at| item.token(at).is_symbol(b'(')) else { return Vec::new() };
    let end = item.closed(open) - 1;
    let (mut parts, mut from, mut depth) = (Vec::new(), open + 1, 0usize);
    for at in open + 1..end {
        match item.token(at) {
            token if token.is_symbol(b'(') => depth += 1,
            token if token.is_symbol(b')') => depth = depth.saturating_sub(1),
            token if token.is_symbol(b',') && depth == 0 => {
                parts.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push((from, end));
    parts
}

fn left_out(item: &Phrase, reason: &str, notes: &mut Notes) -> bool {
    notes.add(&item.part(0..item.len()), "", Why::lost(reason));
    false
}

fn for_mysql(item: &mut Phrase, around: &Around, target: &Target, notes: &mut Notes) -> bool {
    if item.token(item.code(0)).is_word("VECTOR") {
        return left_out(item, "MySQL has no index on vectors", notes);
    }
    if !for_changed_columns(item, around, target, notes) {
        return left_out(item, "none of its columns is kept", notes);
    }
    columns::unknown_options(item, notes);
    let is_primary = item.token(item.code(0)).is_word("PRIMARY");
    let is_foreign = item.find(&["FOREIGN"]).is_some();
    let key_parts = parts(item);
    if key_parts.len() > MYSQL_KEY_PARTS && !is_primary && !is_foreign {
        return left_out(item, "MySQL takes no more than 16 columns in a key", notes);
    }
    let whole_long = |&(from, end): &(usize, usize)| {
        let name = item.token(item.code(from)).name().unwrap_or_default();
        let has_length = (from..end).any(|at| item.token(at).is_symbol(b'('));
        around.types.get(&name).is_some_and(|kind| columns::is_long(kind)) && !has_length
    };
    if item.token(item.code(0)).is_word("UNIQUE") && key_parts.iter().any(whole_long) {
        return left_out(
            item,
            "MySQL has no unique keys on the whole of a long text: values may be there twice",
            notes,
        );
    }
    true
}

/// Takes columns that are gone out of a key, and puts the beginning of a period in its place. Whether anything is left.
fn for_changed_columns(item: &mut Phrase, around: &Around, target: &Target, notes: &mut Notes) -> bool {
    if item.find(&["FOREIGN"]).is_some() || target.reads(Syntax::WithoutOverlaps) {
        return true;
    }
    let reason = match target.vendor {
        Vendor::MySql => {
            "MySQL has no periods: a key with the beginning of each holds, that they overlap is not refused"
        }
        Vendor::MariaDb => {
            "the target's version has no such keys: one with the beginning of each period holds, that they overlap is not refused"
        }
    };
    let (mut changed, mut kept) = (false, Vec::new());
    for (from, end) in parts(item) {
        let at = item.code(from);
        let name = item.token(at).name().filter(|_| item.token(at).kind == Kind::Quoted).unwrap_or_default();
        let is_period = (from..end).any(|at| item.token(at).is_word("OVERLAPS"));
        match around.periods.get(&name).filter(|_| is_period) {
            Some(begin) => {
                notes.add(&item.part(from..end), begin, Why::lost(reason));
                kept.push(begin.clone());
                changed = true;
            }
            None if around.gone.contains(&name) => changed = true,
            None => kept.push(item.part(from..end)),
        }
    }
    if changed && !kept.is_empty() {
        let Some(open) = (0..item.len()).find(|&at| item.token(at).is_symbol(b'(')) else { return true };
        let end = item.closed(open);
        item.replace(open..end, format!("({})", kept.join(",")).as_bytes());
    }
    !kept.is_empty()
}

fn for_mariadb(item: &mut Phrase, notes: &mut Notes) -> bool {
    let is_expression = |&(from, _): &(usize, usize)| item.token(item.code(from)).is_symbol(b'(');
    if parts(item).iter().any(is_expression) {
        let unique = item.token(item.code(0)).is_word("UNIQUE");
        let reason = match unique {
            true => {
                "MariaDB has no keys on expressions: values may be there twice, unless a generated column gets such a key"
            }
            false => "MariaDB has no keys on expressions; a generated column may have one",
        };
        return left_out(item, reason, notes);
    }
    true
}

/// Rewrites a key or constraint for another version of its vendor; whether it stays.
pub(super) fn for_other_version(
    item: &mut Phrase,
    around: &Around,
    target: &Target,
    notes: &mut Notes,
) -> bool {
    if item.token(item.code(0)).is_word("VECTOR") && !target.has_vectors {
        return left_out(item, "the target's version has no index on vectors", notes);
    }
    // Before these versions a CHECK was read and forgotten: MySQL's manual, "CHECK Constraints"; MariaDB's documentation, "CONSTRAINT".
    let forgets = target.is_mysql_before((8, 0, 16)) || target.is_mariadb_before((10, 2, 1));
    if forgets && item.find(&["CHECK"]).is_some() {
        let text = String::from_utf8_lossy(&item.to_text()).into_owned();
        notes.add(&text, "", Why::lost("the target's version reads a CHECK and does not keep it"));
    }
    let first = item.token(item.code(0));
    if !["CONSTRAINT", "CHECK", "PERIOD"].iter().any(|word| first.is_word(word)) {
        if !for_changed_columns(item, around, target, notes) {
            return left_out(item, "none of its columns is kept", notes);
        }
        match hidden_in_comment(item).filter(|_| !target.reads(Syntax::HiddenKey)) {
            Some(comment) => shown(item, comment, notes),
            None => hidden(item, target, notes),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::sql::Dialect;

    fn to(vendor: Vendor, text: &str, around: &Around) -> Option<String> {
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        let mut checks = BTreeSet::from(["taken".to_owned()]);
        rewrite(&mut phrase, around, &Target::of(vendor), &mut checks, &mut notes)
            .then(|| String::from_utf8(phrase.to_text()).unwrap())
    }

    fn mysql(text: &str) -> Option<String> {
        let around = Around {
            types: [("t", "text"), ("a", "varchar")].map(|(name, kind)| (name.into(), kind.into())).into(),
            gone: [b"re".to_vec()].into(),
            checks: Vec::new(),
            periods: [(b"stay".to_vec(), "`s`".to_owned())].into(),
        };
        to(Vendor::MySql, text, &around)
    }

    fn mariadb(text: &str) -> Option<String> {
        to(Vendor::MariaDb, text, &Around::default())
    }

    #[test]
    fn for_mysql() {
        assert_eq!(mysql("KEY `k` (`a`) IGNORED").as_deref(), Some("KEY `k` (`a`) INVISIBLE"));
        assert_eq!(mysql("UNIQUE KEY `u` (`t`) USING HASH"), None);
        assert_eq!(mysql("UNIQUE KEY `u` (`t`(10))").as_deref(), Some("UNIQUE KEY `u` (`t`(10))"));
        assert_eq!(
            mysql("PRIMARY KEY (`id`,`re`,`stay` WITHOUT OVERLAPS)").as_deref(),
            Some("PRIMARY KEY (`id`,`s`)")
        );
        assert_eq!(mysql("KEY `x` (`re`)"), None);
        assert_eq!(mysql(&format!("KEY `w` ({}`a`)", "`a`,".repeat(16))), None);
        assert_eq!(mysql("CONSTRAINT `CONSTRAINT_1` CHECK (`a` > 0)").as_deref(), Some("CHECK (`a` > 0)"));
        assert_eq!(mysql("CONSTRAINT `taken` CHECK (`a` > 0)").as_deref(), Some("CHECK (`a` > 0)"));
        let fresh = "CONSTRAINT `fresh` CHECK (`a` > 0)";
        assert_eq!(mysql(fresh).as_deref(), Some(fresh));
        let foreign = "CONSTRAINT `f` FOREIGN KEY (`re`) REFERENCES `p` (`id`)";
        assert_eq!(mysql(foreign).as_deref(), Some(foreign));
    }

    #[test]
    fn keys_that_the_optimizer_uses_again() {
        let older = |vendor, text: &str| {
            let target = Target { unknown_syntax: [Syntax::HiddenKey].into(), ..Target::of(vendor) };
            let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
            assert!(for_other_version(&mut phrase, &Around::default(), &target, &mut notes));
            let [note] = &notes.rewrites[..] else { panic!("{:?}", notes.rewrites) };
            assert!(note.loses && note.from == text, "{note:?}");
            assert_eq!(note.to.as_bytes(), phrase.to_text());
            note.to.clone()
        };
        let kept = "UNIQUE KEY `k` (`a`) USING BTREE COMMENT 'INVISIBLE'";
        assert_eq!(older(Vendor::MariaDb, &format!("{kept} IGNORED")), kept);
        assert_eq!(older(Vendor::MySql, &format!("{kept} /*!80000 INVISIBLE */")), kept);
        // The same where the other vendor's word was put.
        let target = Target { unknown_syntax: [Syntax::HiddenKey].into(), ..Target::of(Vendor::MariaDb) };
        let (mut phrase, mut notes) =
            (Phrase::of(b"KEY `k` (`a`) INVISIBLE", Dialect::default()), Notes::new("x"));
        assert!(rewrite(&mut phrase, &Around::default(), &target, &mut BTreeSet::new(), &mut notes));
        assert_eq!((phrase.to_text(), notes.rewrites.len()), (b"KEY `k` (`a`)".to_vec(), 1));
    }

    #[test]
    fn periods_are_noted() {
        let keeps = |target: &Target, text: &str| {
            let mut notes = Notes::new("x");
            let phrase = Phrase::of(text.as_bytes(), Dialect::default());
            (keeps_period(&phrase, target, &mut notes), notes.rewrites.len())
        };
        let (stay, time) = ("PERIOD FOR `stay` (`s`, `e`)", "PERIOD FOR SYSTEM_TIME (`s`, `e`)");
        let (mysql, mariadb) = (Target::of(Vendor::MySql), Target::of(Vendor::MariaDb));
        assert_eq!((keeps(&mysql, stay), keeps(&mysql, time)), ((false, 1), (false, 0)));
        assert_eq!((keeps(&mariadb, stay), keeps(&mariadb, time)), ((true, 0), (true, 0)));
        assert_eq!(keeps(&mysql, "KEY `k` (`a`)"), (true, 0));
    }

    #[test]
    fn for_mariadb() {
        assert_eq!(mariadb("KEY `k` (`a`) INVISIBLE").as_deref(), Some("KEY `k` (`a`) IGNORED"));
        assert_eq!(mariadb("KEY `k` ((lower(`a`)),`b` DESC)"), None);
        assert_eq!(mariadb("KEY `k` (`a` DESC,`b`(3))").as_deref(), Some("KEY `k` (`a` DESC,`b`(3))"));
        assert_eq!(
            mariadb("FULLTEXT KEY `w` (`a`) WITH PARSER `ngram`").as_deref(),
            Some("FULLTEXT KEY `w` (`a`)")
        );
        assert_eq!(mariadb("CONSTRAINT `c` CHECK ((`a` > 0)) NOT ENFORCED"), None);
        assert_eq!(
            mariadb("CONSTRAINT `c` CHECK (regexp_like(`b`,_utf8mb4'^[a-z\\\\]'))").as_deref(),
            Some("CONSTRAINT `c` CHECK ((`b` regexp '^[a-z\\\\]'))")
        );
    }
}
