//! Restoring a schema under another name, also in the text of the objects that name it.
//!
//! In a text, `a`.`b` may be a schema and a table or a table and a column. It is taken for the schema only if the dump
//! holds something called `b` in schema `a`, or if a third name follows.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use drover_db::quote;
use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};

use crate::format::manifest::Manifest;
use crate::format::script;
use crate::{Error, Result};

/// `OLD=NEW`, as `--into` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    pub(crate) old: String,
    pub(crate) new: String,
}

impl FromStr for Rename {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once('=') {
            Some((old, new)) if !old.is_empty() && !new.is_empty() => {
                Ok(Self { old: old.into(), new: new.into() })
            }
            _ => Err("expected OLD=NEW, two schema names".into()),
        }
    }
}

/// The new names of schemas.
#[derive(Debug, Default)]
pub(crate) struct Renames {
    new: BTreeMap<String, String>,
    /// What the dump holds in each of those schemas.
    objects: BTreeSet<(String, String)>,
}

impl Renames {
    pub(crate) fn new(renames: &[Rename], manifest: &Manifest) -> Result<Self> {
        let mut new = BTreeMap::new();
        for rename in renames {
            if !manifest.schemas.iter().any(|schema| schema.name == rename.old) {
                return Err(Error::found(format!("--into: the dump holds no schema '{}'", rename.old)));
            }
            new.insert(rename.old.clone(), rename.new.clone());
        }
        let targets: Vec<_> = manifest.schemas.iter().map(|s| new.get(&s.name).unwrap_or(&s.name)).collect();
        if let Some(twice) =
            targets.iter().find(|name| targets.iter().filter(|other| other == name).count() > 1)
        {
            return Err(Error::found(format!(
                "--into: two schemas of the dump would both be restored as '{twice}'"
            )));
        }
        Ok(Self { objects: objects(manifest), new })
    }

    /// New names for the schemas of a dump without a manifest, which holds these objects (schema and name).
    pub(crate) fn of(
        renames: &[Rename],
        schemas: &BTreeSet<String>,
        objects: BTreeSet<(String, String)>,
    ) -> Result<Self> {
        let new: BTreeMap<_, _> =
            renames.iter().map(|rename| (rename.old.clone(), rename.new.clone())).collect();
        if let Some(unknown) = new.keys().find(|old| !schemas.contains(*old)) {
            return Err(Error::found(format!("--into: the dump holds no schema '{unknown}'")));
        }
        let mut targets = BTreeSet::new();
        match schemas.iter().map(|name| new.get(name).unwrap_or(name)).find(|name| !targets.insert(*name)) {
            Some(twice) => Err(Error::found(format!(
                "--into: two schemas of the dump would both be restored as '{twice}'"
            ))),
            None => Ok(Self { new, objects }),
        }
    }

    /// Every schema under a name of its own that begins with `prefix`.
    pub(super) fn to_scratch(manifest: &Manifest, prefix: &str) -> Self {
        let new = manifest.schemas.iter().enumerate();
        let new = new.map(|(number, schema)| (schema.name.clone(), format!("{prefix}{number}"))).collect();
        Self { new, objects: objects(manifest) }
    }

    /// A message with the schemas' old names.
    pub(super) fn undo(&self, text: &str) -> String {
        // A name that ends in 10 before the one that ends in 1.
        let longest_first = self.new.iter().map(|(old, new)| (new.len(), new, old)).collect::<BTreeSet<_>>();
        longest_first.iter().rev().fold(text.to_owned(), |text, (_, new, old)| text.replace(*new, old))
    }

    /// The name under which a schema of the dump is restored.
    pub(crate) fn schema<'a>(&'a self, name: &'a str) -> &'a str {
        self.new.get(name).map_or(name, String::as_str)
    }

    /// The statements of a script, with the new names.
    pub(super) fn script(&self, statements: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if self.new.is_empty() {
            return statements;
        }
        let dialect = script::dialect(&statements);
        statements.iter().map(|statement| self.statement(statement, dialect)).collect()
    }

    /// A statement with the new names.
    pub(crate) fn statement(&self, text: &[u8], dialect: Dialect) -> Vec<u8> {
        if self.new.is_empty() {
            return text.to_vec();
        }
        let all: Vec<_> = tokens_in_comments(text, dialect).collect();
        let code: Vec<usize> = (0..all.len()).filter(|&index| all[index].is_code()).collect();
        let mut out = Vec::with_capacity(text.len());
        let mut next = 0;
        for (index, token) in all.iter().enumerate() {
            let is_next = code.get(next) == Some(&index);
            let new = if is_next { self.new_name(&all, &code, next) } else { None };
            next += usize::from(is_next);
            match new {
                Some(new) => out.extend_from_slice(quote::identifier(new).as_bytes()),
                None => out.extend_from_slice(token.text),
            }
        }
        out
    }

    /// The new name, if the code token at `at` names a schema that is renamed.
    fn new_name(&self, all: &[Token<'_>], code: &[usize], at: usize) -> Option<&str> {
        let token = |offset: usize| code.get(at + offset).map(|&index| &all[index]);
        let before = at.checked_sub(1).map(|before| &all[code[before]]);
        if before.is_some_and(|token| token.is_symbol(b'.') || token.is_symbol(b'@')) {
            return None;
        }
        let old = name(token(0)?)?;
        let new = self.new.get(&old)?;
        // IF NOT EXISTS may stand between.
        let option = |token: &&Token<'_>| ["IF", "NOT", "EXISTS"].iter().any(|word| token.is_word(word));
        let before = code[..at].iter().rev().map(|&index| &all[index]).find(|token| !option(token));
        if before.is_some_and(|token| token.is_word("DATABASE") || token.is_word("SCHEMA")) {
            return Some(new);
        }
        if !token(1)?.is_symbol(b'.') {
            return None;
        }
        let inner = name(token(2)?)?;
        let third = token(3).is_some_and(|token| token.is_symbol(b'.'));
        (third || self.objects.contains(&(old, inner))).then_some(new)
    }
}

fn objects(manifest: &Manifest) -> BTreeSet<(String, String)> {
    let objects = manifest.schemas.iter().flat_map(|schema| {
        let objects = [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events];
        let objects = objects.into_iter().flatten();
        let names = schema.tables.iter().map(|t| &t.name).chain(objects.map(|object| &object.name));
        names.map(|name| (schema.name.clone(), name.clone()))
    });
    objects.collect()
}

fn name(token: &Token<'_>) -> Option<String> {
    let is_number = token.kind == Kind::Word && token.text.first().is_some_and(u8::is_ascii_digit);
    if is_number { None } else { String::from_utf8(token.name()?).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renames() -> Renames {
        Renames {
            new: BTreeMap::from([("shop".into(), "new`shop".into())]),
            objects: [("shop", "orders"), ("shop", "shop")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
        }
    }

    fn renamed(text: &str) -> String {
        let out = renames().script(vec![text.as_bytes().to_vec()]);
        String::from_utf8(out.concat()).unwrap()
    }

    #[test]
    fn schemas_are_renamed_and_columns_are_not() {
        assert_eq!(
            renamed("select `shop`.`id` from shop . orders"),
            "select `shop`.`id` from `new``shop` . orders"
        );
        assert_eq!(renamed("`shop`.`t`.`c`, x.shop.orders"), "`new``shop`.`t`.`c`, x.shop.orders");
        assert_eq!(renamed("'shop.orders' /* shop.orders */"), "'shop.orders' /* shop.orders */");
        assert_eq!(renamed("CREATE DATABASE `shop` x"), "CREATE DATABASE `new``shop` x");
        assert_eq!(
            renamed(
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`; /*!50001 VIEW v AS select * from `shop`.`orders` */"
            ),
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `new``shop`; /*!50001 VIEW v AS select * from `new``shop`.`orders` */"
        );
        assert_eq!(
            renamed("DEFINER=`a`@`shop` REFERENCES `shop`.`orders`"),
            "DEFINER=`a`@`shop` REFERENCES `new``shop`.`orders`"
        );
    }

    #[test]
    fn double_quotes_are_names_where_the_sql_mode_says_so() {
        let script = |mode: &str| {
            let statements = [format!("SET sql_mode = '{mode}'"), "select * from \"shop\".\"orders\"".into()];
            renames().script(statements.map(String::into_bytes).to_vec()).pop().unwrap()
        };
        assert!(script("ANSI_QUOTES").starts_with(b"select * from `new``shop`"));
        assert!(script("").starts_with(b"select * from \"shop\""));
    }

    #[test]
    fn names_are_two() {
        assert!("a=b".parse::<Rename>().is_ok());
        for wrong in ["a", "=b", "a="] {
            assert!(wrong.parse::<Rename>().is_err());
        }
    }
}
