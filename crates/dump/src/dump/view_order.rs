//! The order in which views can be made: each after those that it reads.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::sql::{Dialect, Token, tokens};

use super::catalog::Name;

/// The views' names, each after those that its statement reads. Views that seem to read each other in a circle, as an alias may
/// make it look, come last in alphabetical order.
pub(crate) fn in_order(statements: &BTreeMap<Name, Vec<u8>>) -> Vec<Name> {
    let mut waiting: BTreeMap<&Name, BTreeSet<&Name>> =
        statements.iter().map(|(name, statement)| (name, read_by(name, statement, statements))).collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let ready = waiting.iter().find(|(_, needs)| needs.is_empty()).map(|(view, _)| *view);
        let Some(view) = ready.or_else(|| waiting.keys().next().copied()) else { break };
        waiting.remove(view);
        for needs in waiting.values_mut() {
            needs.remove(view);
        }
        order.push(view.clone());
    }
    order
}

/// The views that a statement names as the servers print them: with their schema, if that is another one than the view's own. A
/// name before a dot or behind AS is an alias or a column's.
fn read_by<'a>(view: &Name, statement: &[u8], views: &'a BTreeMap<Name, Vec<u8>>) -> BTreeSet<&'a Name> {
    let code: Vec<_> = tokens(statement, Dialect::default()).filter(Token::is_code).collect();
    let text = |at: usize| String::from_utf8(code.get(at)?.name()?).ok();
    let is_dot =
        |at: Option<usize>| at.and_then(|at| code.get(at)).is_some_and(|token| token.is_symbol(b'.'));
    let named = |at: usize| {
        let before = at.checked_sub(1);
        if is_dot(Some(at + 1)) || before.is_some_and(|before| code[before].is_word("AS")) {
            return None;
        }
        let schema = if is_dot(before) { text(at.checked_sub(2)?)? } else { view.schema.clone() };
        let (name, _) = views.get_key_value(&Name { schema, name: text(at)? })?;
        Some(name).filter(|name| *name != view)
    };
    (0..code.len()).filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(views: &[(&str, &str)]) -> Vec<String> {
        let name = |name: &str| {
            let (schema, name) = name.split_once('.').unwrap();
            Name::new(schema, name)
        };
        let views = views.iter().map(|(view, text)| (name(view), text.as_bytes().to_vec())).collect();
        in_order(&views).into_iter().map(|name| format!("{}.{}", name.schema, name.name)).collect()
    }

    #[test]
    fn views_come_after_those_they_read() {
        let views = [
            ("s.a", "CREATE VIEW `a` AS select `b`.`x` AS `x` from `b`"),
            ("s.b", "CREATE VIEW `b` AS select 1 AS `x` from `s`.`c`"),
            ("s.c", "CREATE VIEW `c` AS select 'a' AS `x`"),
        ];
        assert_eq!(order(&views), ["s.c", "s.b", "s.a"]);
    }

    #[test]
    fn the_same_name_in_two_schemas_is_two_views() {
        let views = [
            ("s.a", "CREATE VIEW `a` AS select `t`.`a`.`x` AS `x` from `t`.`a`"),
            ("s.b", "CREATE VIEW `b` AS select `a`.`x` AS `x` from (`t`.`c` join `a`)"),
            ("t.a", "CREATE VIEW `a` AS select 1 AS `x`"),
            ("t.c", "CREATE VIEW `c` AS select `s`.`a`.`x` AS `x` from `s`.`a`"),
        ];
        assert_eq!(order(&views), ["t.a", "s.a", "t.c", "s.b"]);
    }

    #[test]
    fn names_of_columns_are_no_views() {
        let views = [
            ("s.a", "CREATE VIEW `a` AS select `b`.`b` AS `b` from `b`"),
            ("s.b", "CREATE VIEW `b` AS select `t`.`x` AS `a` from `t`"),
        ];
        assert_eq!(order(&views), ["s.b", "s.a"]);
    }

    #[test]
    fn views_that_seem_to_need_each_other_are_all_there() {
        assert_eq!(order(&[("s.a", "`b`"), ("s.b", "`a`")]), ["s.a", "s.b"]);
    }
}
