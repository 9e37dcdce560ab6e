//! What the text of a trigger or a routine does to tables: which ones it changes, and what it calls. What it only reads is left out.

use std::collections::BTreeSet;

use drover_db::sql::{Dialect, tokens_in_comments};

use crate::code::{Code, Reference};
use crate::foreign_keys::Change;
use crate::subquery;

/// What a stored program does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Changes(Reference, Change),
    /// CALL of a procedure.
    Calls(Reference),
    /// A function, of the server's or somebody's own.
    Asks(Reference),
}

/// A table of a join, and what the statement calls it.
type Joined = (Reference, Option<String>);

const MODIFIERS: [&str; 6] = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE", "HISTORY"];

const ENDS: [&str; 4] = ["WHERE", "ORDER", "LIMIT", "RETURNING"];

/// All that a program may do, whether or not it comes to it.
pub(crate) fn effects(text: &str, dialect: Dialect) -> Vec<Effect> {
    let tokens = tokens_in_comments(text.as_bytes(), dialect).filter(|token| token.is_code());
    let code: Vec<_> = tokens.map(|token| Code { token, at: 0 }).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let before = at.checked_sub(1).map(|before| &code[before]);
        let is_part = before.is_some_and(|before| before.is_symbol(b'.'));
        let follows = |words: &[&str]| before.is_some_and(|before| before.is_any(words));
        let (word, is_call) = (&code[at], is_symbol(&code, at + 1, b'('));
        at += 1;
        if is_part {
            found.extend(is_call.then(|| function(&code, at - 1)).flatten());
        } else if word.is("UPDATE") && !follows(&["FOR", "KEY", "ON"]) {
            found.extend(update(&code, at));
        } else if word.is("DELETE") && !follows(&["ON"]) {
            found.extend(delete(&code, at));
        } else if word.is_any(&["INSERT", "REPLACE"]) && !is_call && !follows(&["OR"]) {
            found.extend(insert(&code, word.is("REPLACE"), &mut at));
        } else if word.is("CALL") {
            found.extend(subquery::reference(&code, &mut at).map(Effect::Calls));
        } else if is_call {
            found.extend(function(&code, at - 1));
        }
    }
    found
}

fn is_symbol(code: &[Code<'_>], at: usize, symbol: u8) -> bool {
    code.get(at).is_some_and(|code| code.is_symbol(symbol))
}

fn function(code: &[Code<'_>], at: usize) -> Option<Effect> {
    let schema = (at > 1 && code[at - 1].is_symbol(b'.')).then(|| code[at - 2].name()).flatten();
    Some(Effect::Asks(Reference { schema, name: code[at].name()? }))
}

fn pass_modifiers(code: &[Code<'_>], at: &mut usize) {
    while code.get(*at).is_some_and(|next| next.is_any(&MODIFIERS)) {
        *at += 1;
    }
}

fn update(code: &[Code<'_>], mut at: usize) -> Vec<Effect> {
    pass_modifiers(code, &mut at);
    let tables = joined(code, &mut at, &["SET"]);
    let assigned = assigned(code, at + 1);
    let is_unclear = |qualifier: &str| !tables.iter().any(|table| is_called(table, qualifier));
    let changes = tables.iter().filter_map(|table| {
        let is_its = |qualifier: &str| is_called(table, qualifier) || is_unclear(qualifier);
        let its = assigned.iter().filter(|(qualifier, _)| qualifier.as_deref().is_none_or(is_its));
        let columns: BTreeSet<_> = its.map(|(_, column)| column.to_lowercase()).collect();
        (!columns.is_empty()).then(|| Effect::Changes(table.0.clone(), Change::Updated(Some(columns))))
    });
    changes.collect()
}

fn delete(code: &[Code<'_>], mut at: usize) -> Vec<Effect> {
    pass_modifiers(code, &mut at);
    at += usize::from(code.get(at).is_some_and(|next| next.is("FROM")));
    let targets = joined(code, &mut at, &["FROM", "USING"]);
    let sources = match code.get(at) {
        Some(next) if next.is_any(&["FROM", "USING"]) => joined(code, &mut (at + 1), &[]),
        _ => Vec::new(),
    };
    let real = |target: Reference| {
        let of_alias = sources.iter().find(|(_, alias)| {
            target.schema.is_none() && alias.as_ref().is_some_and(|alias| is_same(alias, &target.name))
        });
        of_alias.map_or(target, |(source, _)| source.clone())
    };
    targets.into_iter().map(|(target, _)| Effect::Changes(real(target), Change::Removed)).collect()
}

/// Leaves `at` behind the table.
fn insert(code: &[Code<'_>], replaces: bool, at: &mut usize) -> Vec<Effect> {
    pass_modifiers(code, at);
    *at += usize::from(code.get(*at).is_some_and(|next| next.is("INTO")));
    let Some(table) = subquery::reference(code, at) else { return Vec::new() };
    let rest = code[*at..].iter().take_while(|next| !next.is_symbol(b';'));
    let rest: Vec<_> = rest.copied().collect();
    let update = rest.windows(2).position(|pair| pair[0].is("KEY") && pair[1].is("UPDATE"));
    let updated = update.map(|update| {
        let columns = assigned(&rest, update + 2).into_iter().map(|(_, column)| column.to_lowercase());
        Change::Updated(Some(columns.collect()))
    });
    let changes = [Some(Change::Inserted), replaces.then_some(Change::Removed), updated];
    changes.into_iter().flatten().map(|change| Effect::Changes(table.clone(), change)).collect()
}

/// The tables that are named up to one of these words or the end.
fn joined(code: &[Code<'_>], at: &mut usize, ends: &[&str]) -> Vec<Joined> {
    let mut tables = Vec::new();
    let mut wants_table = true;
    while let Some(next) = code.get(*at) {
        if next.is_any(ends) || next.is_any(&ENDS) || next.is_symbol(b';') {
            break;
        }
        let is_query = code.get(*at + 1).is_some_and(|next| next.is_any(&["SELECT", "WITH", "VALUES"]));
        if next.is_symbol(b'(') && (is_query || !wants_table) {
            pass_parenthesis(code, at);
            wants_table = false;
            continue;
        }
        if next.is_symbol(b',') || next.is_any(&["JOIN", "STRAIGHT_JOIN"]) {
            wants_table = true;
        } else if wants_table
            && !next.is("LATERAL")
            && let Some(table) = subquery::reference(code, at)
        {
            tables.push((table, alias(code, *at, ends)));
            wants_table = false;
            continue;
        }
        *at += 1;
    }
    tables
}

fn alias(code: &[Code<'_>], at: usize, ends: &[&str]) -> Option<String> {
    const OTHERS: [&str; 14] = [
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "CROSS",
        "NATURAL",
        "STRAIGHT_JOIN",
        "ON",
        "USING",
        "USE",
        "FORCE",
        "IGNORE",
        "PARTITION",
        "FOR",
    ];
    let next = code.get(at)?;
    if next.is("AS") {
        return code.get(at + 1)?.name();
    }
    let is_other = next.is_any(&OTHERS) || next.is_any(&ENDS) || next.is_any(ends);
    (!is_other).then(|| next.name()).flatten()
}

/// Leaves `at` behind what closes the parenthesis that it stands on.
fn pass_parenthesis(code: &[Code<'_>], at: &mut usize) {
    let mut depth = 0_usize;
    while let Some(next) = code.get(*at) {
        *at += 1;
        if next.is_symbol(b'(') {
            depth += 1;
        } else if next.is_symbol(b')') {
            depth -= 1;
            if depth == 0 {
                return;
            }
        }
    }
}

/// The columns that are assigned to, with the table's name if it stands before them.
fn assigned(code: &[Code<'_>], mut at: usize) -> Vec<(Option<String>, String)> {
    let mut columns = Vec::new();
    let mut wants_column = true;
    while let Some(next) = code.get(at) {
        if next.is_any(&ENDS) || next.is_symbol(b';') {
            break;
        }
        if next.is_symbol(b'(') {
            pass_parenthesis(code, &mut at);
            continue;
        }
        if wants_column {
            let mut names: Vec<_> = next.name().into_iter().collect();
            while is_symbol(code, at + 1, b'.') {
                at += 2;
                names.extend(code.get(at).and_then(Code::name));
            }
            columns.extend(names.pop().map(|column| (names.pop(), column)));
        }
        wants_column = next.is_symbol(b',');
        at += 1;
    }
    columns
}

fn is_called(table: &Joined, qualifier: &str) -> bool {
    is_same(&table.0.name, qualifier) || table.1.as_ref().is_some_and(|alias| is_same(alias, qualifier))
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` for rows that are added, `-` for those that are removed, `=` with the columns that are set.
    fn changes(text: &str) -> String {
        let name = |table: Reference| match table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name,
        };
        let change = |effect| match effect {
            Effect::Changes(table, Change::Inserted) => Some(format!("+{}", name(table))),
            Effect::Changes(table, Change::Removed) => Some(format!("-{}", name(table))),
            Effect::Changes(table, Change::Updated(columns)) => {
                let columns: Vec<_> = columns.unwrap_or_default().into_iter().collect();
                Some(format!("{}={}", name(table), columns.join("+")))
            }
            Effect::Calls(routine) => Some(format!("{}()", name(routine))),
            Effect::Asks(_) => None,
        };
        effects(text, Dialect::default()).into_iter().filter_map(change).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tables_that_are_changed() {
        for (text, expected) in [
            ("INSERT INTO a VALUES (1, NEW.id)", "+a"),
            ("insert ignore s.`a` (x, y) SELECT x, y FROM b", "+s.a"),
            ("REPLACE LOW_PRIORITY INTO a VALUES (1)", "+a -a"),
            (
                "INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1, a.M = (SELECT MAX(x) FROM b, c)",
                "+a a=m+n",
            ),
            ("DELETE FROM a WHERE id IN (SELECT id FROM b)", "-a"),
            ("DELETE QUICK x, c.* FROM a AS x JOIN b ON b.i = x.i, c", "-a -c"),
            ("DELETE FROM x USING s.a x JOIN b USING (i) WHERE 1", "-s.a"),
            ("UPDATE a SET x = f(1, 2), y = 3 WHERE z = 4", "a=x+y"),
            ("UPDATE a x JOIN b ON (b.i = x.i) SET x.n = b.n, X.m = 1", "a=m+n"),
            ("UPDATE a JOIN (SELECT i FROM b, c) d USING (i), e SET n = 1", "a=n e=n"),
            ("UPDATE (a JOIN s.b y ON a.i = y.i) SET y.n = 1", "s.b=n"),
            ("IF NEW.x THEN CALL s.p(NEW.y); DELETE FROM a; END IF", "s.p() -a"),
            ("/*!50000 DELETE FROM a */", "-a"),
            (
                "BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE EXIT HANDLER FOR NOT FOUND UPDATE a SET x = 1; END",
                "a=x",
            ),
        ] {
            assert_eq!(changes(text), expected, "{text}");
        }
    }

    #[test]
    fn tables_that_are_read() {
        for text in [
            "SET NEW.a = (SELECT MAX(b) FROM a WHERE NEW.`update` = 1)",
            "BEGIN SELECT id INTO @x FROM a WHERE i = 1 FOR UPDATE; END",
            "SET NEW.a = REPLACE(NEW.b, 'DELETE FROM a', INSERT('x', 1, 1, 'y'))",
            "IF EXISTS (SELECT 1 FROM a) THEN SIGNAL SQLSTATE '45000'; END IF",
        ] {
            assert_eq!(changes(text), "", "{text}");
        }
    }

    #[test]
    fn functions_that_are_asked() {
        let asked = effects("INSERT INTO a (x) VALUES (f(1), s.g (2), (3))", Dialect::default());
        let names = asked.iter().filter_map(|effect| match effect {
            Effect::Asks(function) => Some((function.schema.as_deref(), function.name.as_str())),
            _ => None,
        });
        let names: Vec<_> = names.filter(|(_, name)| *name != "VALUES").collect();
        assert_eq!(names, [(None, "f"), (Some("s"), "g")]);
    }
}
