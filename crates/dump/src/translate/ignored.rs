//! What a server takes and does not keep, without an error: told by what it shows of a table that it has just made. CHECKs before MySQL 8.0.16
//! and MariaDB 10.2, the order of a key's columns before MySQL 8.0 and MariaDB 10.8, FULLTEXT keys and subpartitions on TiDB.

use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Dialect, Kind, Token, tokens};

use crate::ddl::CreateTable;

/// Something of a table that is not there as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ignored {
    /// As the statement has it.
    pub(crate) asked: String,
    /// As the server has it; empty if not at all.
    pub(crate) kept: String,
    pub(crate) reason: String,
    pub(crate) loses: bool,
}

impl Ignored {
    fn lost(asked: &[u8], reason: &str) -> Self {
        Self { asked: text(asked), kept: String::new(), reason: reason.into(), loses: true }
    }
}

const UNCHECKED: &str = "the target takes it and keeps none: it checks no row";

/// What of a statement is not in what the server shows afterwards.
pub(crate) fn ignored(asked: &CreateTable, shown: &CreateTable) -> Vec<Ignored> {
    let mut all = keys(asked, shown);
    all.extend(checks(asked, shown));
    for (words, reason) in [
        ("SUBPARTITION BY", "the target takes it and keeps the partitions alone"),
        ("PARTITION BY", "the target takes it and keeps no partitions"),
    ] {
        if says(asked, words) && !says(shown, words) {
            all.push(Ignored::lost(words.as_bytes(), reason));
        }
    }
    all
}

/// The same of attributes that servers print in version comments, which others pass over. In `asked` they stand as code.
pub(crate) fn passed_over(asked: &CreateTable, shown: &CreateTable) -> Vec<Ignored> {
    let there: Vec<_> =
        shown.items.iter().map(|item| Phrase::in_comments(item, Dialect::default())).collect();
    let mut all = Vec::new();
    for item in &asked.items {
        let item = Phrase::of(item, Dialect::default());
        let same = there.iter().find(|there| kind_and_name(there) == kind_and_name(&item));
        all.extend(same.into_iter().flat_map(|there| attributes(&item, there)));
    }
    let tail = Phrase::of(&asked.tail, Dialect::default());
    let is_asked = tail.find(&["ENCRYPTION"]).is_some_and(|found| {
        let option = tail.part(found.start..value_end(&tail, found.end)).to_ascii_uppercase();
        option.contains("'Y'")
    });
    if is_asked && !says(shown, "ENCRYPT") {
        let reason = "the target passes over it and does not encrypt the table";
        all.push(Ignored::lost(b"ENCRYPTION='Y'", reason));
    }
    all
}

/// What attributes of columns mean that a target does not have.
const OF_COLUMNS: [(&str, &str); 4] = [
    ("INVISIBLE", "the target passes over it and shows the column"),
    ("SRID", "the target passes over it and does not hold the column to one spatial reference system"),
    ("ENGINE_ATTRIBUTE", "the target passes over it"),
    ("SECONDARY_ENGINE_ATTRIBUTE", "the target passes over it"),
];

/// The attributes of an item that the target's has not.
fn attributes(asked: &Phrase, there: &Phrase) -> Vec<Ignored> {
    let first = asked.token(asked.code(0));
    let lacks = |words: &[&str]| asked.find(words).filter(|_| there.find(words).is_none());
    let begin = || {
        let open = asked.top().into_iter().find(|&at| asked.token(at).is_symbol(b'('));
        asked.part(0..open.unwrap_or(asked.len())).trim().to_owned()
    };
    if first.kind == Kind::Quoted {
        let found = OF_COLUMNS.into_iter().filter_map(|(word, reason)| {
            let found = lacks(&[word])?;
            let end = if word == "INVISIBLE" { found.end } else { value_end(asked, found.end) };
            let text =
                format!("{} {}", asked.part(0..asked.code(0) + 1).trim(), asked.part(found.start..end));
            Some(Ignored::lost(text.as_bytes(), reason))
        });
        return found.collect();
    }
    let (words, reason): (&[&str], _) = match first.is_word("CONSTRAINT") {
        true => (&["NOT", "ENFORCED"], "the target passes over it and enforces the constraint"),
        // MariaDB has another word for it.
        false if there.find(&["IGNORED"]).is_some() => return Vec::new(),
        false => (&["INVISIBLE"], "the target passes over it, and statements may use the key"),
    };
    let text = lacks(words).map(|_| format!("{} {}", begin(), words.join(" ")));
    text.into_iter().map(|text| Ignored::lost(text.as_bytes(), reason)).collect()
}

/// Behind the value of an attribute that ends at `end`.
fn value_end(phrase: &Phrase, end: usize) -> usize {
    let next = phrase.code(end);
    if phrase.token(next).is_symbol(b'=') { phrase.code(next + 1) + 1 } else { next + 1 }
}

/// The kind of an item, and its name in small letters.
fn kind_and_name(item: &Phrase) -> (Option<&'static str>, Vec<u8>) {
    const KINDS: [&str; 7] = ["PRIMARY", "UNIQUE", "KEY", "FULLTEXT", "SPATIAL", "VECTOR", "CONSTRAINT"];
    let first = item.token(item.code(0));
    let kind = KINDS.into_iter().find(|kind| first.is_word(kind));
    let before = item.top().into_iter().take_while(|&at| !item.token(at).is_symbol(b'('));
    let mut quoted = before.map(|at| item.token(at)).filter(|token| token.kind == Kind::Quoted);
    let name = quoted.next().and_then(|token| token.name()).unwrap_or_default();
    (kind, name.to_ascii_lowercase())
}

/// Whether these words stand behind the columns, in a comment that is run or not.
fn says(table: &CreateTable, words: &str) -> bool {
    let tail = text(&table.tail).to_uppercase();
    tail.match_indices(words).any(|(at, _)| !tail[..at].ends_with("SUB"))
}

fn keys(asked: &CreateTable, shown: &CreateTable) -> Vec<Ignored> {
    let there: Vec<_> = shown.items.iter().filter_map(|item| Key::of(item)).collect();
    let mut all = Vec::new();
    for (item, key) in asked.items.iter().filter_map(|item| Some((item, Key::of(item)?))) {
        match there.iter().find(|one| (&one.kind, &one.name) == (&key.kind, &key.name)) {
            None => all.push(Ignored::lost(item, "the target takes it and keeps no such key")),
            Some(kept) => all.extend(key.changed(item, kept)),
        }
    }
    all
}

/// A key, without its options.
#[derive(Debug)]
struct Key {
    /// PRIMARY, UNIQUE, KEY, FULLTEXT and so on.
    kind: String,
    /// In small letters.
    name: Vec<u8>,
    text: String,
    /// Of columns alone.
    parts: Option<Vec<Part>>,
}

#[derive(Debug)]
struct Part {
    length: Option<u64>,
    is_descending: bool,
}

impl Key {
    fn of(item: &[u8]) -> Option<Self> {
        const KINDS: [&str; 6] = ["PRIMARY", "UNIQUE", "KEY", "FULLTEXT", "SPATIAL", "VECTOR"];
        let words: Vec<_> = code(item).collect();
        let kind = KINDS.iter().find(|kind| words.first().is_some_and(|first| first.is_word(kind)))?;
        let open = words.iter().position(|word| word.is_symbol(b'('))?;
        let name = words[..open].iter().find(|word| word.kind == Kind::Quoted).and_then(Token::name);
        let (mut depth, mut end) = (0usize, open);
        for (at, word) in words.iter().enumerate().skip(open) {
            depth = match () {
                () if word.is_symbol(b'(') => depth + 1,
                () if word.is_symbol(b')') => depth.saturating_sub(1),
                () => depth,
            };
            if depth == 0 {
                end = at;
                break;
            }
        }
        let within = &words[open + 1..end.max(open + 1)];
        let shown: Vec<_> = within.iter().map(|word| String::from_utf8_lossy(word.text)).collect();
        Some(Self {
            kind: (*kind).to_owned(),
            name: name.map(|name| name.to_ascii_lowercase()).unwrap_or_default(),
            text: format!(
                "({})",
                shown.join(" ").replace(" ,", ",").replace("( ", "(").replace(" )", ")").replace(" (", "(")
            ),
            parts: parts(within),
        })
    }

    fn changed(&self, item: &[u8], kept: &Self) -> Option<Ignored> {
        let (asked, there) = (self.parts.as_ref()?, kept.parts.as_ref()?);
        let pairs = || asked.iter().zip(there);
        let reason = match () {
            () if asked.len() != there.len() => {
                return Some(Ignored::lost(item, "the target keeps it with other columns"));
            }
            () if pairs().any(|(asked, there)| {
                there.length.is_some_and(|length| asked.length.is_none_or(|it| it > length))
            }) =>
            {
                "the target's keys are not as long"
            }
            () if pairs().any(|(asked, there)| asked.is_descending && !there.is_descending) => {
                "the target keeps keys in ascending order only"
            }
            () => return None,
        };
        Some(Ignored { asked: text(item), kept: kept.text.clone(), reason: reason.into(), loses: false })
    }
}

/// The columns of a key; `None` where it has expressions.
fn parts(words: &[Token<'_>]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if word.is_symbol(b',') {
            continue;
        }
        if word.kind != Kind::Quoted {
            return None;
        }
        let mut part = Part { length: None, is_descending: false };
        if words.next_if(|next| next.is_symbol(b'(')).is_some() {
            part.length = Some(std::str::from_utf8(words.next()?.text).ok()?.parse().ok()?);
            words.next_if(|next| next.is_symbol(b')'))?;
        }
        part.is_descending = words.next_if(|next| next.is_word("DESC")).is_some();
        words.next_if(|next| next.is_word("ASC"));
        parts.push(part);
    }
    Some(parts)
}

/// CHECKs that are not there. MySQL shows those of columns as the table's own.
fn checks(asked: &CreateTable, shown: &CreateTable) -> Vec<Ignored> {
    let all = |table: &CreateTable| table.items.iter().filter_map(|item| check(item)).collect::<Vec<_>>();
    let (asked, there) = (all(asked), all(shown));
    if there.len() >= asked.len() {
        return Vec::new();
    }
    let is_there = |name: &[u8]| there.iter().any(|(it, _)| it == name);
    asked
        .iter()
        .filter(|(name, _)| !is_there(name))
        .map(|(_, text)| Ignored::lost(text.as_bytes(), UNCHECKED))
        .collect()
}

/// The name of a CHECK's constraint, or of its column, in small letters, and its text.
fn check(item: &[u8]) -> Option<(Vec<u8>, String)> {
    let words: Vec<_> = code(item).collect();
    let mut depth = 0usize;
    for (at, word) in words.iter().enumerate() {
        depth = match () {
            () if word.is_symbol(b'(') => depth + 1,
            () if word.is_symbol(b')') => depth.saturating_sub(1),
            () => depth,
        };
        if depth == 0 && word.is_word("CHECK") && words.get(at + 1).is_some_and(|next| next.is_symbol(b'(')) {
            let name = words[..at].iter().find(|word| word.kind == Kind::Quoted).and_then(Token::name);
            return Some((name.map(|name| name.to_ascii_lowercase()).unwrap_or_default(), text(item)));
        }
    }
    None
}

fn code(item: &[u8]) -> impl Iterator<Item = Token<'_>> {
    tokens(item, Dialect::default()).filter(Token::is_code)
}

fn text(item: &[u8]) -> String {
    String::from_utf8_lossy(item).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(asked: &str, shown: &str) -> Vec<(String, String, bool)> {
        let parse = |text: &str| CreateTable::parse(text.as_bytes()).unwrap();
        let found = ignored(&parse(asked), &parse(shown));
        found.into_iter().map(|one| (one.asked, one.kept, one.loses)).collect()
    }

    const ASKED: &str = "CREATE TABLE `t` (`a` int NOT NULL CHECK (`a` > 0), `b` varchar(500), `check` text,
        PRIMARY KEY (`a`), UNIQUE KEY `U` (`b`(9)), KEY `k` (`a` DESC,`b`), FULLTEXT KEY `f` (`b`),
        KEY `e` ((lower(`b`))), CONSTRAINT `c` CHECK (`a` <> 7)) ENGINE=InnoDB\n PARTITION BY RANGE (`a`)\nSUBPARTITION BY HASH (`a`)";

    #[test]
    fn all_that_is_kept_is_no_matter() {
        assert_eq!(of(ASKED, ASKED), []);
        let elsewhere = "CREATE TABLE `t` (\n`a` int NOT NULL,\n`b` varchar(500),\n`check` text,\nPRIMARY KEY (`a`),\nUNIQUE KEY `u` (`b`(9)),\n\
            KEY `k` (`a` DESC,`b`), KEY `e` ((lower(`b`))), FULLTEXT KEY `f` (`b`), CONSTRAINT `t_chk_1` CHECK ((`a` > 0)), CONSTRAINT `c` CHECK ((`a` <> 7))) \
            /*!50100 PARTITION BY RANGE (`a`) SUBPARTITION BY HASH (`a`) */";
        assert_eq!(of(ASKED, elsewhere), []);
    }

    #[test]
    fn what_is_not_kept_is_told() {
        let shown = "CREATE TABLE `t` (`a` int NOT NULL, `b` varchar(500), `check` text, PRIMARY KEY (`a`), UNIQUE KEY `u` (`b`(9)), KEY `k` (`a`,`b`(191)), \
            KEY `e` ((lower(`b`)))) ENGINE=InnoDB PARTITION BY RANGE (`a`)";
        let found = of(ASKED, shown);
        let told: Vec<_> =
            found.iter().map(|(asked, kept, loses)| (asked.as_str(), kept.as_str(), *loses)).collect();
        assert_eq!(
            told,
            [
                ("KEY `k` (`a` DESC,`b`)", "(`a`, `b`(191))", false),
                ("FULLTEXT KEY `f` (`b`)", "", true),
                ("`a` int NOT NULL CHECK (`a` > 0)", "", true),
                ("CONSTRAINT `c` CHECK (`a` <> 7)", "", true),
                ("SUBPARTITION BY", "", true),
            ]
        );
        let plain = "CREATE TABLE `t` (`a` int) COMMENT 'PARTITION BY'";
        assert_eq!(of(plain, plain), []);
        let bare = "CREATE TABLE `t` (`a` int)";
        assert_eq!(of("CREATE TABLE `t` (`a` int) PARTITION BY HASH (`a`)", bare).len(), 1);
    }

    #[test]
    fn attributes_that_are_passed_over() {
        let asked = "CREATE TABLE `t` (`a` int COMMENT 'SRID 1', `h` int INVISIBLE, `p` point NOT NULL SRID 4326, KEY `k` (`a`) INVISIBLE, \
            KEY `l` (`h`) INVISIBLE, CONSTRAINT `c` CHECK (`a` > 0) NOT ENFORCED) ENGINE=InnoDB ENCRYPTION='Y'";
        let of = |shown: &str| {
            let parse = |text: &str| CreateTable::parse(text.as_bytes()).unwrap();
            let found = passed_over(&parse(asked), &parse(shown));
            found.into_iter().map(|one| one.asked).collect::<Vec<_>>()
        };
        let kept = "CREATE TABLE `t` (`a` int, `h` int /*!80023 INVISIBLE */, `p` point NOT NULL /*!80003 SRID 4326 */, KEY `k` (`a`) /*!80000 INVISIBLE */, \
            KEY `l` (`h`) IGNORED, CONSTRAINT `c` CHECK ((`a` > 0)) /*!80016 NOT ENFORCED */) ENGINE=InnoDB /*!80016 ENCRYPTION='Y' */";
        assert_eq!(of(kept), [""; 0]);
        let bare = "CREATE TABLE `t` (`a` int, `h` int, `p` point NOT NULL, KEY `k` (`a`), KEY `l` (`h`) IGNORED, CONSTRAINT `c` CHECK (`a` > 0)) ENGINE=InnoDB";
        let told = [
            "`h` INVISIBLE",
            "`p` SRID 4326",
            "KEY `k` INVISIBLE",
            "CONSTRAINT `c` CHECK NOT ENFORCED",
            "ENCRYPTION='Y'",
        ];
        assert_eq!(of(bare), told);
    }
}
