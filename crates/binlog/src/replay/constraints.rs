//! Constraints that stand in a definition of the logs and that their server did not keep, or that the target does not take where they stand:
//! old servers read a CHECK and a column's own REFERENCES, and make nothing of them.

use std::ops::Range;

use drover_db::sql::Dialect;
use drover_db::sql::phrase::Phrase;

use super::keeper::Keeper;
use super::tables::defines_table;

/// The statement with the constraints that its table had where the log was written, and no others; `None` if it is as it stands.
pub(super) fn as_kept(text: &[u8], dialect: Dialect, from: Keeper, to: Keeper) -> Option<Vec<u8>> {
    let drops_checks = !from.keeps_checks() && to.keeps_checks();
    let (had, has) = (from.keeps_references(), to.keeps_references());
    if !drops_checks && had == has {
        return None;
    }
    let mut phrase = Phrase::in_comments(text, dialect);
    if !defines_table(&phrase) {
        return None;
    }
    let (parts, is_alter) = parts(&phrase)?;
    let (mut edits, mut keys) = (Vec::new(), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        if drops_checks {
            edits.extend(checks(&phrase, &parts, number).into_iter().map(|range| (range, Vec::new())));
        }
        let Some(reference) = reference(&phrase, part) else { continue };
        match (had, has) {
            (false, true) => edits.push((reference, Vec::new())),
            (true, false) => {
                let name = phrase.part(column(&phrase, part)?);
                let add = if is_alter { "ADD " } else { "" };
                keys.push(format!(", {add}FOREIGN KEY ({name}) {}", phrase.part(reference)));
            }
            _ => {}
        }
    }
    if let Some(end) = parts.last().map(|part| part.end).filter(|_| !keys.is_empty()) {
        edits.push((end..end, keys.concat().into_bytes()));
    }
    edits.sort_by_key(|(range, _)| range.start);
    // What lies within a part that goes as a whole goes with it.
    edits.dedup_by(|next, before| next.0.start < before.0.end);
    for (range, text) in edits.iter().rev() {
        match text.is_empty() {
            true => drop(phrase.cut(range.clone())),
            false => phrase.replace(range.clone(), text),
        }
    }
    (!edits.is_empty()).then(|| phrase.to_text())
}

/// The columns, keys and changes that a statement on a table lists, and whether it is ALTER; `None` if it lists none.
fn parts(phrase: &Phrase) -> Option<(Vec<Range<usize>>, bool)> {
    if !phrase.token(phrase.code(0)).is_word("ALTER") {
        let open = phrase.top().into_iter().find(|&at| phrase.token(at).is_symbol(b'('))?;
        return Some((split(phrase, open + 1..phrase.closed(open) - 1), false));
    }
    let table = phrase.find(&["TABLE"])?;
    let mut start = phrase.code(table.end);
    if phrase.token(start).is_word("IF") {
        start = phrase.code(phrase.code(start + 1) + 1);
    }
    start = behind_name(phrase, start);
    let mut all = Vec::new();
    for part in split(phrase, start..phrase.len()) {
        match list_of_columns(phrase, &part) {
            Some(open) => all.extend(split(phrase, open + 1..phrase.closed(open) - 1)),
            None => all.push(part),
        }
    }
    Some((all, true))
}

/// Where `ADD (` or `ADD COLUMN (` opens its list.
fn list_of_columns(phrase: &Phrase, part: &Range<usize>) -> Option<usize> {
    let mut at = phrase.code(part.start);
    if !phrase.token(at).is_word("ADD") {
        return None;
    }
    at = phrase.code(at + 1);
    if phrase.token(at).is_word("COLUMN") {
        at = phrase.code(at + 1);
    }
    phrase.token(at).is_symbol(b'(').then_some(at)
}

/// Behind a name that may have its schema's before it.
fn behind_name(phrase: &Phrase, at: usize) -> usize {
    let next = phrase.code(at + 1);
    match phrase.token(next).is_symbol(b'.') {
        true => phrase.code(phrase.code(next + 1) + 1),
        false => next,
    }
}

/// Cuts at the commas that stand in no parenthesis.
fn split(phrase: &Phrase, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut all, mut start, mut at) = (Vec::new(), range.start, range.start);
    while at < range.end {
        match phrase.token(at) {
            token if token.is_symbol(b'(') => at = phrase.closed(at),
            token if token.is_symbol(b',') => {
                all.push(start..at);
                at += 1;
                start = at;
            }
            _ => at += 1,
        }
    }
    all.push(start..range.end);
    all
}

/// The places of code in a part that stand in no parenthesis of it.
fn top(phrase: &Phrase, part: &Range<usize>) -> Vec<usize> {
    let (mut all, mut at) = (Vec::new(), phrase.code(part.start));
    while at < part.end {
        all.push(at);
        let is_open = phrase.token(at).is_symbol(b'(');
        at = phrase.code(if is_open { phrase.closed(at) } else { at + 1 });
    }
    all
}

/// Each CHECK of a part, with its name; with the comma beside it where it is a part of its own.
fn checks(phrase: &Phrase, parts: &[Range<usize>], number: usize) -> Vec<Range<usize>> {
    let part = &parts[number];
    let top = top(phrase, part);
    let is = |at: Option<&usize>, word: &str| at.is_some_and(|&at| phrase.token(at).is_word(word));
    let mut found = Vec::new();
    for (place, &at) in top.iter().enumerate() {
        let Some(&open) = top.get(place + 1) else { continue };
        if !phrase.token(at).is_word("CHECK") || !phrase.token(open).is_symbol(b'(') {
            continue;
        }
        let before = |count: usize| place.checked_sub(count).and_then(|place| top.get(place));
        let first = match () {
            () if is(before(1), "CONSTRAINT") => place - 1,
            () if is(before(2), "CONSTRAINT") => place - 2,
            () => place,
        };
        let mut end = phrase.closed(open);
        let (next, second) = (top.get(place + 2), top.get(place + 3));
        if is(next, "ENFORCED") {
            end = top[place + 2] + 1;
        } else if is(next, "NOT") && is(second, "ENFORCED") {
            end = top[place + 3] + 1;
        }
        let is_alone = first == 0 || first == 1 && is(top.first(), "ADD");
        found.push(match is_alone {
            true if number > 0 => parts[number - 1].end..part.end,
            true if parts.len() > 1 => part.start..parts[1].start,
            true => part.clone(),
            false => top[first]..end,
        });
    }
    found
}

/// What a column's own definition references: from REFERENCES to the end of its actions.
fn reference(phrase: &Phrase, part: &Range<usize>) -> Option<Range<usize>> {
    let top = top(phrase, part);
    let place = top.iter().position(|&at| phrase.token(at).is_word("REFERENCES"))?;
    if top[..place].iter().any(|&at| phrase.token(at).is_word("FOREIGN")) {
        return None;
    }
    let start = top[place];
    let mut at = behind_name(phrase, phrase.code(start + 1));
    let mut end = phrase.before(at)? + 1;
    if phrase.token(at).is_symbol(b'(') {
        end = phrase.closed(at);
        at = phrase.code(end);
    }
    while at < part.end {
        let is = |at: usize, words: &[&str]| words.iter().any(|word| phrase.token(at).is_word(word));
        let words = match () {
            () if is(at, &["MATCH"]) => 2,
            // ON DELETE CASCADE, ON UPDATE SET NULL
            () if is(at, &["ON"]) => {
                3 + usize::from(is(phrase.code(phrase.code(at + 1) + 1), &["SET", "NO"]))
            }
            () => break,
        };
        for _ in 0..words {
            end = at + 1;
            at = phrase.code(end);
        }
    }
    Some(start..end.min(part.end))
}

/// The name of the column that a part defines.
fn column(phrase: &Phrase, part: &Range<usize>) -> Option<Range<usize>> {
    const BEFORE: [&str; 7] = ["ADD", "MODIFY", "CHANGE", "COLUMN", "IF", "NOT", "EXISTS"];
    let top = top(phrase, part);
    let is_before = |&&at: &&usize| BEFORE.iter().any(|word| phrase.token(at).is_word(word));
    let count = top.iter().take_while(is_before).count();
    // CHANGE has the old name first.
    let changes = top[..count].iter().any(|&at| phrase.token(at).is_word("CHANGE"));
    let &at = top.get(count + usize::from(changes))?;
    Some(at..at + 1)
}

#[cfg(test)]
mod tests {
    use drover_db::Vendor;

    use super::*;

    const MYSQL_57: Keeper = Keeper { vendor: Vendor::MySql, version: (5, 7, 22) };
    const MYSQL_80: Keeper = Keeper { vendor: Vendor::MySql, version: (8, 0, 33) };
    const MYSQL_97: Keeper = Keeper { vendor: Vendor::MySql, version: (9, 7, 0) };
    const MARIADB: Keeper = Keeper { vendor: Vendor::MariaDb, version: (11, 8, 2) };

    fn kept(text: &str, from: Keeper, to: Keeper) -> String {
        let kept = as_kept(text.as_bytes(), Dialect::default(), from, to);
        kept.map_or_else(|| "same".into(), |text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn checks_that_the_old_server_passed_over() {
        for (text, right) in [
            (
                "CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0))",
                "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
            ),
            (
                "create table t (a int constraint c check (a in (1,2)) not null, check (a>0), key (a))",
                "create table t (a int not null, key (a))",
            ),
            ("CREATE TABLE t (CHECK (a > 0), a INT)", "CREATE TABLE t ( a INT)"),
            (
                "CREATE TABLE t (a INT, CONSTRAINT c CHECK (a > 0)) ENGINE=InnoDB",
                "CREATE TABLE t (a INT) ENGINE=InnoDB",
            ),
            (
                "ALTER TABLE s.t ADD b INT, ADD CONSTRAINT c CHECK (b > 0), ADD d INT CHECK (d<>1) AFTER a",
                "ALTER TABLE s.t ADD b INT, ADD d INT AFTER a",
            ),
            ("ALTER TABLE t ADD CHECK (b > 0)", "ALTER TABLE t"),
            ("CREATE TABLE t (`check` INT, a INT DEFAULT '1' COMMENT 'CHECK (a)')", "same"),
            ("CREATE VIEW v AS SELECT 1 WITH CHECK OPTION", "same"),
        ] {
            assert_eq!(kept(text, MYSQL_57, MYSQL_80), right, "{text}");
            assert_eq!(kept(text, MYSQL_57, MYSQL_57), "same");
            assert_eq!(kept(text, MYSQL_80, MYSQL_97), "same");
        }
    }

    #[test]
    fn references_of_columns() {
        const LONG: &str = "REFERENCES `s`.`par` (`id`) ON UPDATE NO ACTION ON DELETE SET NULL";
        let long = format!("ALTER TABLE ch ADD COLUMN IF NOT EXISTS `p` INT {LONG} COMMENT 'x', ADD q INT");
        for (text, without, named) in [
            (
                "CREATE TABLE ch (id INT PRIMARY KEY, p INT REFERENCES par(id) ON DELETE CASCADE) ENGINE=InnoDB",
                "CREATE TABLE ch (id INT PRIMARY KEY, p INT) ENGINE=InnoDB",
                "CREATE TABLE ch (id INT PRIMARY KEY, p INT REFERENCES par(id) ON DELETE CASCADE, FOREIGN KEY (p) REFERENCES par(id) ON DELETE CASCADE) ENGINE=InnoDB",
            ),
            (
                &long,
                "ALTER TABLE ch ADD COLUMN IF NOT EXISTS `p` INT COMMENT 'x', ADD q INT",
                &format!("{long}, ADD FOREIGN KEY (`p`) {LONG}"),
            ),
            ("CREATE TABLE ch (p INT, FOREIGN KEY k (p) REFERENCES par (id))", "same", "same"),
            ("ALTER TABLE ch ADD CONSTRAINT FOREIGN KEY (p) REFERENCES par (id)", "same", "same"),
        ] {
            assert_eq!(kept(text, MYSQL_80, MYSQL_97), without, "{text}");
            assert_eq!(kept(text, MARIADB, MYSQL_80), named, "{text}");
            assert_eq!(kept(text, MARIADB, MYSQL_97), "same", "{text}");
        }
    }
}
