//! Restoring a schema under another name, also in the text of the objects that name it; and what a server that takes names in any case
//! makes of them.
//!
//! In a text, `a`.`b` may be a schema and a table or a table and a column. It is taken for the schema only if the dump
//! holds something called `b` in schema `a`, or if a third name follows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};
use drover_db::{Connection, quote, server};

use super::scratch::is_scratch;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::manifest::Manifest;
use drover_format::script;

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
    /// What the dump holds in each of those schemas, in the server's case.
    objects: BTreeSet<(String, String)>,
    case: Case,
    /// Whether texts of the dump have these names in any case, as its server took them.
    any_case: bool,
}

/// In which case a server has the names of schemas and tables.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// As they were given.
    #[default]
    Kept,
    /// As they were given, or in lower case; both are found in any case.
    Lower,
}

impl Case {
    pub(crate) fn of(connection: &mut Connection) -> Result<Self> {
        let takes_any = server::takes_any_case(connection).doing(|| "reading lower_case_table_names")?;
        Ok(if takes_any { Self::Lower } else { Self::Kept })
    }

    fn of_name<'a>(self, name: &'a str) -> Cow<'a, str> {
        match self {
            Self::Kept => name.into(),
            Self::Lower => name.to_lowercase().into(),
        }
    }
}

impl Renames {
    /// # Errors
    /// If a schema is renamed that the dump does not hold, or two things of the dump would have one name.
    pub(crate) fn new(renames: &[Rename], manifest: &Manifest, case: Case) -> Result<Self> {
        let schemas = manifest.schemas.iter().map(|schema| schema.name.clone()).collect();
        let new = Self::of(renames, &schemas, objects(manifest), case)?;
        let new = Self { any_case: manifest.takes_any_case(), ..new };
        new.check_relations(manifest.schemas.iter().flat_map(|schema| {
            let objects = schema.views.iter().chain(&schema.sequences).map(|object| &object.name);
            let names = schema.tables.iter().map(|table| &table.name).chain(objects);
            names.map(|name| Name::new(&schema.name, name))
        }))?;
        Ok(new)
    }

    /// New names for the schemas of a dump without a manifest, which holds these objects (schema and name).
    ///
    /// # Errors
    /// If a schema is renamed that the dump does not hold, or two would have one name.
    pub(crate) fn of(
        renames: &[Rename],
        schemas: &BTreeSet<String>,
        objects: BTreeSet<(String, String)>,
        case: Case,
    ) -> Result<Self> {
        let mut new: BTreeMap<_, _> =
            renames.iter().map(|rename| (rename.old.clone(), rename.new.clone())).collect();
        if let Some(unknown) = new.keys().find(|old| !schemas.contains(*old)) {
            return Err(Error::found(format!("--into: the dump holds no schema '{unknown}'")));
        }
        for old in schemas {
            let name = case.of_name(new.get(old).unwrap_or(old)).into_owned();
            if name != *old {
                new.insert(old.clone(), name);
            }
        }
        let mut targets = BTreeMap::new();
        for old in schemas {
            let name = new.get(old).unwrap_or(old);
            if let Some(other) = targets.insert(name, old) {
                return Err(Error::with_hint(
                    format!("schemas `{other}` and `{old}` of the dump would both be restored as `{name}`"),
                    "--into OLD=NEW restores a schema under another name",
                ));
            }
        }
        let objects = objects.into_iter().map(|(schema, name)| (schema, case.of_name(&name).into_owned()));
        Ok(Self { new, objects: objects.collect(), case, any_case: false })
    }

    /// Names that stay as they are, but for the server's case.
    pub(crate) fn in_case(case: Case) -> Self {
        Self { case, ..Self::default() }
    }

    /// # Errors
    /// If the server would take two of these tables, views or sequences for one.
    pub(crate) fn check_relations(&self, names: impl Iterator<Item = Name>) -> Result<()> {
        let mut targets = BTreeMap::new();
        for name in names {
            let target = self.relation(&name.schema, &name.name);
            if let Some(other) = targets.insert(target, name.clone()) {
                return Err(Error::with_hint(
                    format!(
                        "the server takes names in any case (lower_case_table_names is not 0), and {other} and {name} for one: nothing was \
                         changed"
                    ),
                    "rename one of them where the dump is from; or dump each by itself, and restore one --into another schema",
                ));
            }
        }
        Ok(())
    }

    /// Every schema under a name of its own that begins with `prefix`.
    pub(super) fn to_scratch(manifest: &Manifest, prefix: &str) -> Self {
        let new = manifest.schemas.iter().enumerate();
        let new = new.map(|(number, schema)| (schema.name.clone(), format!("{prefix}{number}"))).collect();
        Self { new, objects: objects(manifest), case: Case::Kept, any_case: manifest.takes_any_case() }
    }

    /// A message with the old names of schemas that are tried under others.
    pub(super) fn undo(&self, text: &str) -> String {
        let tried = self.new.iter().filter(|(_, new)| is_scratch(new));
        // A name that ends in 10 before the one that ends in 1.
        let longest_first = tried.map(|(old, new)| (new.len(), new, old)).collect::<BTreeSet<_>>();
        longest_first.iter().rev().fold(text.to_owned(), |text, (_, new, old)| text.replace(*new, old))
    }

    /// In which case the target has names.
    pub(super) fn case(&self) -> Case {
        self.case
    }

    /// The name under which a schema of the dump is restored.
    pub(crate) fn schema<'a>(&'a self, name: &'a str) -> &'a str {
        self.new.get(name).map_or(name, String::as_str)
    }

    /// The same of a dump whose schemas were not known before.
    pub(crate) fn any_schema<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        self.case.of_name(self.schema(name))
    }

    /// A table, view or sequence of the dump as it is named where it is restored.
    pub(crate) fn relation(&self, schema: &str, name: &str) -> Name {
        Name::new(&self.any_schema(schema), &self.case.of_name(name))
    }

    /// A definition as it can be compared with what the server shows, which may have the names in another case.
    pub(crate) fn comparable(&self, text: Vec<u8>) -> Vec<u8> {
        if self.case == Case::Kept {
            return text;
        }
        let lower = |token: Token<'_>| match token.is_code() && token.kind != Kind::String {
            true => String::from_utf8_lossy(token.text).to_lowercase().into_bytes(),
            false => token.text.to_vec(),
        };
        tokens_in_comments(&text, Dialect::default()).flat_map(lower).collect()
    }

    /// The statements of a script, with the new names.
    pub(super) fn script(&self, statements: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if self.new.is_empty() {
            return statements;
        }
        let dialect = script::dialect(&statements);
        statements.iter().map(|statement| self.statement(statement, dialect).into_owned()).collect()
    }

    /// A statement with the new names.
    pub(crate) fn statement<'t>(&self, text: &'t [u8], dialect: Dialect) -> Cow<'t, [u8]> {
        if self.new.is_empty() {
            return text.into();
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
        out.into()
    }

    /// The new name, if the code token at `at` names a schema that is renamed.
    fn new_name(&self, all: &[Token<'_>], code: &[usize], at: usize) -> Option<&str> {
        let token = |offset: usize| code.get(at + offset).map(|&index| &all[index]);
        let before = at.checked_sub(1).map(|before| &all[code[before]]);
        if before.is_some_and(|token| token.is_symbol(b'.') || token.is_symbol(b'@')) {
            return None;
        }
        let old = name(token(0)?)?;
        let typed = |(known, _): &(&String, &String)| self.is_same(known, &old);
        let (old, new) = self.new.get_key_value(&old).or_else(|| self.new.iter().find(typed))?;
        // IF NOT EXISTS may stand between.
        let option = |token: &&Token<'_>| ["IF", "NOT", "EXISTS"].iter().any(|word| token.is_word(word));
        let before = code[..at].iter().rev().map(|&index| &all[index]).find(|token| !option(token));
        if before.is_some_and(|token| token.is_word("DATABASE") || token.is_word("SCHEMA")) {
            return Some(new);
        }
        if !token(1)?.is_symbol(b'.') {
            return None;
        }
        let inner = self.case.of_name(&name(token(2)?)?).into_owned();
        let third = token(3).is_some_and(|token| token.is_symbol(b'.'));
        let is_held = |(schema, object): &(String, String)| schema == old && self.is_same(object, &inner);
        let holds =
            || self.objects.contains(&(old.clone(), inner.clone())) || self.objects.iter().any(is_held);
        (third || holds()).then_some(new)
    }

    /// Whether a text means what the dump has under that name in another case.
    fn is_same(&self, known: &str, typed: &str) -> bool {
        self.any_case && known.to_lowercase() == typed.to_lowercase()
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
            case: Case::Kept,
            any_case: false,
        }
    }

    fn renamed(text: &str) -> String {
        let out = renames().script(vec![text.as_bytes().to_vec()]);
        String::from_utf8(out.concat()).unwrap()
    }

    #[test]
    fn texts_of_a_server_that_takes_any_case() {
        let renames = Renames { any_case: true, ..renames() };
        let renamed = |text: &str| String::from_utf8(renames.script(vec![text.into()]).concat()).unwrap();
        assert_eq!(renamed("DELETE FROM SHOP.Orders"), "DELETE FROM `new``shop`.Orders");
        assert_eq!(renamed("SELECT Shop.id"), "SELECT Shop.id");
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

    fn of_schemas(renames: &[&str], schemas: &[&str], case: Case) -> Result<Renames> {
        let renames: Vec<Rename> = renames.iter().map(|text| text.parse().unwrap()).collect();
        let schemas = schemas.iter().map(|&name| name.to_owned()).collect();
        Renames::of(&renames, &schemas, BTreeSet::new(), case)
    }

    #[test]
    fn a_server_that_takes_any_case_has_lower_case() {
        let renames = of_schemas(&["A=New"], &["A", "Shop", "low"], Case::Lower).unwrap();
        assert_eq!(["A", "Shop", "low"].map(|name| renames.schema(name)), ["new", "shop", "low"]);
        assert_eq!(renames.relation("Shop", "Größe"), Name::new("shop", "größe"));
        let comparable = |text: &str| String::from_utf8(renames.comparable(text.into())).unwrap();
        assert_eq!(
            comparable("CREATE TABLE `Big` (`A` int COMMENT 'Big')"),
            comparable("CREATE TABLE `big` (`A` int COMMENT 'Big')")
        );
        assert_ne!(comparable("`a` int COMMENT 'Big'"), comparable("`a` int COMMENT 'big'"));
        assert!(of_schemas(&[], &["Shop", "shop"], Case::Lower).is_err());
        assert!(of_schemas(&["Shop=old"], &["Shop", "shop"], Case::Lower).is_ok());
        let kept = of_schemas(&[], &["Shop", "shop"], Case::Kept).unwrap();
        assert_eq!(kept.relation("Shop", "Orders"), Name::new("Shop", "Orders"));
        let both = || ["Orders", "orders"].map(|name| Name::new("Shop", name)).into_iter();
        assert!(renames.check_relations(both()).is_err() && kept.check_relations(both()).is_ok());
    }

    #[test]
    fn tables_that_a_text_names_in_another_case() {
        let objects = || BTreeSet::from([("Shop".to_owned(), "Orders".to_owned())]);
        let shown = |case| {
            let rename = "Shop=new".parse().unwrap();
            let renames = Renames::of(&[rename], &["Shop".to_owned()].into(), objects(), case).unwrap();
            let text = renames.statement(b"SELECT MAX(a) FROM Shop.ORDERS", Dialect::default()).into_owned();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(shown(Case::Lower), "SELECT MAX(a) FROM `new`.ORDERS");
        assert_eq!(shown(Case::Kept), "SELECT MAX(a) FROM Shop.ORDERS");
    }

    #[test]
    fn names_are_two() {
        assert!("a=b".parse::<Rename>().is_ok());
        for wrong in ["a", "=b", "a="] {
            assert!(wrong.parse::<Rename>().is_err());
        }
    }
}
