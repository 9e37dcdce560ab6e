//! Definitions of tables, as a script has them, in the form in which servers print them: what stands in version comments is code, names are
//! in backquotes, and keys have the names that servers give them.

use std::collections::BTreeSet;

use drover_db::quote;
use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Dialect, Kind as TokenKind, Token, tokens, tokens_in_comments};

use crate::ddl::CreateTable;

/// What a statement that makes or changes a table asks for; `None` if it defines nothing.
pub(super) fn printed(text: &[u8], dialect: Dialect) -> Option<CreateTable> {
    let plain = plain(text, dialect);
    let phrase = Phrase::of(&plain, Dialect::default());
    let is = |at: usize, word: &str| phrase.token(at).is_word(word);
    let (items, tail) = match phrase.code(0) {
        first if is(first, "ALTER") => (added(&phrase), Vec::new()),
        _ if phrase.find(&["TABLE"]).is_none() => (vec![index(&phrase)?], Vec::new()),
        _ => {
            let table = CreateTable::parse(&plain)?;
            (table.items, table.tail)
        }
    };
    let mut names = BTreeSet::new();
    let items: Vec<_> = items.iter().map(|item| printed_item(item, &mut names)).collect();
    let tail = if tail.is_empty() { b")".to_vec() } else { tail };
    CreateTable::parse(&[b"CREATE TABLE `t` (", &items.join(&b",\n"[..])[..], &tail].concat())
}

/// The text with what stands in version comments as code, without other comments, as a session of no special sql_mode writes it.
fn plain(text: &[u8], dialect: Dialect) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for token in tokens_in_comments(text, dialect) {
        match token.kind {
            TokenKind::Comment => plain.push(b' '),
            TokenKind::Quoted => plain.extend(quoted(&token)),
            // Read in another dialect it might end elsewhere.
            TokenKind::String if dialect != Dialect::default() => plain.extend("'…'".bytes()),
            _ => plain.extend_from_slice(token.text),
        }
    }
    plain
}

fn quoted(name: &Token<'_>) -> Vec<u8> {
    let name = name.name().unwrap_or_default();
    quote::identifier(&String::from_utf8_lossy(&name)).into_bytes()
}

/// What ALTER TABLE adds to a table, or defines anew.
fn added(phrase: &Phrase) -> Vec<Vec<u8>> {
    const DEFINE: [&str; 3] = ["ADD", "MODIFY", "CHANGE"];
    let top = phrase.top();
    let begins = |&&at: &&usize| DEFINE.iter().any(|word| phrase.token(at).is_word(word));
    let Some(&first) = top.iter().find(begins) else { return Vec::new() };
    let commas = top.iter().copied().filter(|&at| at > first && phrase.token(at).is_symbol(b','));
    let (mut items, mut start) = (Vec::new(), first);
    for end in commas.chain([phrase.len()]) {
        items.extend(defined(phrase, start, end));
        start = phrase.code(end + 1);
    }
    items
}

/// What one part of ALTER TABLE defines.
fn defined(phrase: &Phrase, start: usize, end: usize) -> Vec<Vec<u8>> {
    let is = |at: usize, word: &str| phrase.token(at).is_word(word);
    let after = |at: usize| phrase.code(at + 1);
    let is_change = is(start, "CHANGE");
    if !is_change && !is(start, "ADD") && !is(start, "MODIFY") {
        return Vec::new();
    }
    let mut at = after(start);
    for word in ["COLUMN", "IF", "NOT", "EXISTS"] {
        at = if is(at, word) { after(at) } else { at };
    }
    at = if is_change { after(at) } else { at };
    let text = phrase.part(at..end).into_bytes();
    match phrase.token(at).is_symbol(b'(') {
        true => CreateTable::parse(&text).map(|list| list.items).unwrap_or_default(),
        false => vec![text],
    }
}

/// The key that CREATE INDEX makes.
fn index(phrase: &Phrase) -> Option<Vec<u8>> {
    let top = phrase.top();
    let (word, on) = (phrase.find(&["INDEX"])?, phrase.find(&["ON"])?);
    let open = top.iter().copied().find(|&at| at > on.start && phrase.token(at).is_symbol(b'('))?;
    let is_kind = |word: &&str| phrase.find(&[word]).is_some_and(|found| found.start < on.start);
    let kind = ["UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"].into_iter().find(is_kind).unwrap_or_default();
    let is_condition =
        |at: &usize| ["IF", "NOT", "EXISTS"].iter().any(|word| phrase.token(*at).is_word(word));
    let name = top.iter().copied().find(|at| *at >= word.end && !is_condition(at))?;
    let name = phrase.part(name..name + 1);
    Some(format!("{kind} KEY {name} {}", phrase.part(open..phrase.len())).into_bytes())
}

/// A column with its name in backquotes, or a key as servers print it; `names` are those of the keys before it.
fn printed_item(item: &[u8], names: &mut BTreeSet<Vec<u8>>) -> Vec<u8> {
    const OTHER: [&str; 6] = ["CONSTRAINT", "FOREIGN", "CHECK", "PERIOD", "LIKE", "EXCLUDE"];
    if let Some(key) = printed_key(item, names) {
        return key;
    }
    let mut words = code(item);
    match words.next() {
        Some(first) if first.is_word("CONSTRAINT") => {
            let name = words
                .next()
                .filter(|name| name.kind == TokenKind::Word && !OTHER.iter().any(|word| name.is_word(word)));
            let Some(name) = name else { return item.to_vec() };
            let words: Vec<_> = words.map(|word| word.text).collect();
            [b"CONSTRAINT ", &quoted(&name)[..], b" ", &words.join(&b" "[..])].concat()
        }
        Some(first) if first.kind == TokenKind::Word && !OTHER.iter().any(|word| first.is_word(word)) => {
            [&quoted(&first), &item.trim_ascii_start()[first.text.len()..]].concat()
        }
        _ => item.to_vec(),
    }
}

fn printed_key(item: &[u8], names: &mut BTreeSet<Vec<u8>>) -> Option<Vec<u8>> {
    const KINDS: [&str; 4] = ["PRIMARY", "UNIQUE", "FULLTEXT", "SPATIAL"];
    let is_key = |token: &Token<'_>| token.is_word("KEY") || token.is_word("INDEX");
    let mut words = code(item).peekable();
    let mut first = words.next()?;
    if first.is_word("CONSTRAINT") {
        let begins = |token: &Token<'_>| KINDS.iter().any(|kind| token.is_word(kind));
        first = words.by_ref().take(2).find(begins)?;
    }
    let kind = match () {
        () if first.is_word("VECTOR") && words.peek().is_some_and(is_key) => "VECTOR ",
        () if is_key(&first) => "",
        () => kind_of(&first)?,
    };
    words.next_if(|token| !kind.is_empty() && is_key(token));
    let name = words.next_if(|token| !token.is_symbol(b'(') && !token.is_word("USING"));
    let words: Vec<_> = words.skip_while(|token| !token.is_symbol(b'(')).collect();
    let (list, first_column) = printed_list(&words)?;
    let name = match (kind, name.and_then(|name| name.name()), first_column) {
        ("PRIMARY ", ..) => String::new(),
        (_, Some(name), _) | (_, None, Some(name)) => {
            let own = unused(&name, names);
            format!("{} ", quote::identifier(&String::from_utf8_lossy(&own)))
        }
        // Servers number keys on expressions that have no name.
        (_, None, None) => return None,
    };
    Some(format!("{kind}KEY {name}{list}").into_bytes())
}

fn kind_of(first: &Token<'_>) -> Option<&'static str> {
    ["PRIMARY ", "UNIQUE ", "FULLTEXT ", "SPATIAL "].into_iter().find(|kind| first.is_word(kind.trim_end()))
}

/// A name for a key; servers number those that have the name of their first column.
fn unused(name: &[u8], names: &mut BTreeSet<Vec<u8>>) -> Vec<u8> {
    let numbered = |number: u32| match number {
        1 => name.to_vec(),
        _ => [name, format!("_{number}").as_bytes()].concat(),
    };
    let own = (1..).map(numbered).find(|name| !names.contains(&name.to_ascii_lowercase()));
    let own = own.unwrap_or_default();
    names.insert(own.to_ascii_lowercase());
    own
}

/// A key's list in parentheses and what follows it, with the names of columns in backquotes, and the first column, if the list begins
/// with one.
fn printed_list(words: &[Token<'_>]) -> Option<(String, Option<Vec<u8>>)> {
    let (mut depth, mut is_first, mut first, mut list) = (0usize, false, None, String::new());
    for (at, word) in words.iter().enumerate() {
        let is_call = words.get(at + 1).is_some_and(|next| next.is_symbol(b'('))
            && !words.get(at + 2).is_some_and(|next| next.text.iter().all(u8::is_ascii_digit));
        let is_column = depth == 1 && is_first && word.name().is_some() && !is_call;
        let text = if is_column { quoted(word) } else { word.text.to_vec() };
        if is_column && first.is_none() {
            first = Some(word.name()?);
        }
        let is_close = word.is_symbol(b')') || word.is_symbol(b',') || word.is_symbol(b'(');
        if !is_close && !list.is_empty() && !list.ends_with(['(', ',']) {
            list.push(' ');
        }
        list.push_str(&String::from_utf8_lossy(&text));
        is_first = depth == 0 && word.is_symbol(b'(') || depth == 1 && word.is_symbol(b',');
        depth += usize::from(word.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(word.is_symbol(b')')));
    }
    (!list.is_empty()).then_some((list, first))
}

fn code(item: &[u8]) -> impl Iterator<Item = Token<'_>> {
    tokens(item, Dialect::default()).filter(Token::is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str, dialect: Dialect) -> Vec<String> {
        let table = printed(text.as_bytes(), dialect).map(|table| table.items).unwrap_or_default();
        table.into_iter().map(|item| String::from_utf8(item).unwrap()).collect()
    }

    #[test]
    fn columns_and_keys_without_quotes() {
        let text = "create table T (a int not null, `b` text /*!80023 INVISIBLE */ COMMENT 'x', unique (a), index k using btree (b(9) desc, a), \
                    KEY (b(2)), key (b(3)), CONSTRAINT u UNIQUE INDEX (a, p WITHOUT OVERLAPS), VECTOR INDEX (v) M=8, vector int, \
                    KEY e ((lower(b))), KEY (a) /*!80000 INVISIBLE */, primary key (a), check (a > 0)) ENGINE=InnoDB";
        let expected = [
            "`a` int not null",
            "`b` text   INVISIBLE   COMMENT 'x'",
            "UNIQUE KEY `a` (`a`)",
            "KEY `k` (`b`(9) desc,`a`)",
            "KEY `b` (`b`(2))",
            "KEY `b_2` (`b`(3))",
            "UNIQUE KEY `a_2` (`a`,`p` WITHOUT OVERLAPS)",
            "VECTOR KEY `v` (`v`) M = 8",
            "`vector` int",
            "KEY `e` ((lower(b)))",
            "KEY `a_3` (`a`) INVISIBLE",
            "PRIMARY KEY (`a`)",
            "check (a > 0)",
        ];
        assert_eq!(items(text, Dialect::default()), expected);
    }

    #[test]
    fn what_is_added_later() {
        let added = |text: &str| items(text, Dialect::default());
        assert_eq!(
            added(
                "ALTER TABLE `s`.`t` ADD PRIMARY KEY (`a`), ADD KEY `k` (`b` DESC), MODIFY `c` int NOT NULL AFTER a, \
                 CHANGE COLUMN old new int /*!80023 INVISIBLE */, ADD COLUMN IF NOT EXISTS (x int, y point SRID 4326), \
                 ADD CONSTRAINT c CHECK (a > 0), ADD CONSTRAINT CHECK (b), COMMENT='x, ADD KEY (a)', AUTO_INCREMENT=5"
            ),
            [
                "PRIMARY KEY (`a`)",
                "KEY `k` (`b` DESC)",
                "`c` int NOT NULL AFTER a",
                "`new` int   INVISIBLE",
                "`x` int",
                "`y` point SRID 4326",
                "CONSTRAINT `c` CHECK ( a > 0 )",
                "CONSTRAINT CHECK (b)",
            ]
        );
        assert_eq!(added("CREATE UNIQUE INDEX k USING BTREE ON s.t (a DESC)"), ["UNIQUE KEY `k` (`a` DESC)"]);
        assert_eq!(
            added("CREATE OR REPLACE INDEX IF NOT EXISTS `k` ON t (`a`(3), b)"),
            ["KEY `k` (`a`(3),`b`)"]
        );
        assert_eq!(added("CREATE TABLE a LIKE b"), [""; 0]);
    }

    #[test]
    fn other_dialects() {
        let ansi = Dialect::of("ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "utf8mb4");
        let text =
            "CREATE TABLE \"t\" (\"a`b\" int COMMENT 'x\\', \"c\" int, KEY \"k\" (\"c\" DESC)) COMMENT='\\'";
        assert_eq!(items(text, ansi), ["`a``b` int COMMENT '…'", "`c` int", "KEY `k` (`c` DESC)"]);
    }
}
