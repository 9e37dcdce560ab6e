//! Defaults of columns.

use drover_db::sql::Kind;
use drover_db::sql::literals::value_end;
use drover_db::sql::phrase::Phrase;

use super::columns::{is_long, type_of};
use super::syntax::Syntax;
use super::target::Target;
use super::{Notes, Why};

/// A default that is an expression, or of a long type, is cut.
pub(super) fn no_expression(column: &mut Phrase, notes: &mut Notes) {
    let Some(word) = column.find(&["DEFAULT"]) else { return };
    let first = column.code(word.end);
    let end = value_end(column, first);
    let token = column.token(first);
    let is_long = is_long(&type_of(column)) && !token.is_word("NULL");
    if token.is_symbol(b'(') || is_name(column, first) || is_call(column, first, end) || is_long {
        let text = column.cut(word.start..end);
        let reason = "the target's version takes no expression as a default: a row must be given its value";
        notes.add(&text, "", Why::lost(reason));
    }
}

/// Whether a default is another column's value, whose name MariaDB prints alone.
fn is_name(column: &Phrase, first: usize) -> bool {
    column.token(first).kind == Kind::Quoted
}

/// Whether a default is a call of a function, but for the time of now where a column may have it.
fn is_call(column: &Phrase, first: usize, end: usize) -> bool {
    let token = column.token(first);
    let is_time = matches!(type_of(column).as_str(), "timestamp" | "datetime");
    let is_now =
        ["current_timestamp", "now", "localtime", "localtimestamp"].iter().any(|now| token.is_word(now));
    token.kind == Kind::Word && column.token(end - 1).is_symbol(b')') && !(is_time && is_now)
}

/// A default that calls a function of a later version is cut: the table would be refused.
pub(super) fn without_unknown_functions(column: &mut Phrase, target: &Target, notes: &mut Notes) {
    let Some(word) = column.find(&["DEFAULT"]) else { return };
    let end = value_end(column, column.code(word.end));
    let calls = |names: [&str; 2]| {
        (word.end..end).any(|at| {
            names.iter().any(|name| column.token(at).is_word(name)) && column.token(at + 1).is_symbol(b'(')
        })
    };
    let of_sequence = !target.reads(Syntax::Sequences) && calls(["nextval", "lastval"]);
    if of_sequence || !target.has_uuid_v7 && calls(["uuid_v4", "uuid_v7"]) {
        let text = column.cut(word.start..end);
        let reason = "the target's version has no such function: a row must be given its value";
        notes.add(&text, "", Why::lost(reason));
    }
}

/// Functions of which MySQL has none that would give the same values, and what follows for a column with such a default.
const NOT_IN_MYSQL: [(&str, &str); 4] = {
    const SEQUENCE: &str =
        "MySQL has no sequences: a row must be given its value, or the column be made AUTO_INCREMENT";
    const UUID: &str = "MySQL makes only UUIDs of version 1: a row must be given its value";
    [("nextval(", SEQUENCE), ("lastval(", SEQUENCE), ("uuid_v4(", UUID), ("uuid_v7(", UUID)]
};

/// MySQL takes an expression as a default only in parentheses, and for long types nothing else.
pub(super) fn for_mysql(column: &mut Phrase, notes: &mut Notes) {
    let Some(word) = column.find(&["DEFAULT"]) else { return };
    let first = column.code(word.end);
    let end = value_end(column, first);
    let value = column.part(first..end);
    let lower = value.to_ascii_lowercase();
    if let Some((_, reason)) = NOT_IN_MYSQL.iter().find(|(function, _)| lower.contains(function)) {
        let text = column.cut(word.start..end);
        notes.add(&text, "", Why::lost(reason));
        return;
    }
    let token = column.token(first);
    let is_long = is_long(&type_of(column)) && !token.is_word("NULL") && !token.is_symbol(b'(');
    if is_name(column, first) || is_call(column, first, end) || is_long {
        let with = format!("({value})");
        let reason = "MySQL takes an expression, and any default of a long type, only in parentheses";
        notes.add("DEFAULT expression", "DEFAULT (expression)", Why::kept(reason));
        column.replace(first..end, with.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::Vendor;
    use drover_db::sql::Dialect;

    #[test]
    fn defaults_of_the_other_vendor() {
        let rewritten = |text: &str, rewrite: fn(&mut Phrase, &mut Notes)| {
            let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
            rewrite(&mut phrase, &mut notes);
            String::from_utf8(phrase.to_text()).unwrap()
        };
        assert_eq!(
            rewritten("`b` int(11) DEFAULT `a` COMMENT 'x'", for_mysql),
            "`b` int(11) DEFAULT (`a`) COMMENT 'x'"
        );
        assert_eq!(rewritten("`b` int(11) DEFAULT `a`", no_expression), "`b` int(11)");
    }

    #[test]
    fn functions_of_later_versions() {
        let to = |target: &Target, text: &str| {
            let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
            without_unknown_functions(&mut phrase, target, &mut notes);
            (String::from_utf8(phrase.to_text()).unwrap(), notes.rewrites.len())
        };
        let newer = Target::of(Vendor::MariaDb);
        let unknown_syntax = [Syntax::Sequences].into();
        let older = Target { has_uuid_v7: false, unknown_syntax, ..newer.clone() };
        for value in ["nextval(`d`.`s`)", "uuid_v7()", "(lastval(`s`) + 1)"] {
            let text = format!("`a` int(11) NOT NULL DEFAULT {value} COMMENT 'DEFAULT uuid_v7()'");
            let without = text.replacen(&format!(" DEFAULT {value}"), "", 1);
            assert_eq!((to(&newer, &text), to(&older, &text)), ((text.clone(), 0), (without, 1)));
        }
        for same in ["`a` int(11) DEFAULT 1", "`a` varchar(9) DEFAULT 'uuid_v7()'", "`a` uuid DEFAULT uuid()"]
        {
            assert_eq!(to(&older, same), (same.into(), 0));
        }
    }
}
