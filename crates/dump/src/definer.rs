//! Definers of views and stored programs: what they become on the target (`--definer`), and whether its account may create what has
//! them. Restores, copies and restores of other tools' dumps all ask here, before the first row.
//!
//! What an account may do is not worked out from versions and privileges but asked for, with statements that the server refuses in any
//! case: for which reason tells. So the error also names the privilege as that server does, and holds on managed servers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use drover_db::grants::{Held, Who};
use drover_db::sql::Dialect;
use drover_db::sql::program::Program;
use drover_db::{Connection, er, server};

use crate::error::Doing;
use crate::{Error, Result};
use drover_format::Refusal;

/// How many objects an error lists that are refused for one reason.
const SHOWN: usize = 5;

/// What to do where a server trusts no creators of functions and triggers.
pub(crate) const TRUST: &str = "SET GLOBAL log_bin_trust_function_creators = ON on the target; on a managed server in its parameter group (Amazon \
                                RDS), database flags (Cloud SQL) or server parameters (Azure)";

/// What to do where an account may not create what has another definer.
pub(crate) const CURRENT_USER: &str = "--definer current-user makes the account in use the definer of all, which takes no privilege: what is \
                                       SQL SECURITY DEFINER then runs with its privileges; or GRANT it the privilege, where the server lets you";

/// What becomes of definers: `--definer`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Definer {
    /// They stay.
    #[default]
    Keep,
    /// The account that creates the object.
    CurrentUser,
    /// This one.
    Account(Who),
}

impl FromStr for Definer {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let bare = |part: &str| -> String {
            let within =
                ['\'', '`', '"'].iter().find_map(|quote| part.strip_prefix(*quote)?.strip_suffix(*quote));
            within.unwrap_or(part).to_owned()
        };
        match (text, text.rsplit_once('@')) {
            ("keep", _) => Ok(Self::Keep),
            ("current-user", _) => Ok(Self::CurrentUser),
            (_, Some((name, host))) if !bare(name).is_empty() && !bare(host).is_empty() => {
                Ok(Self::Account(Who::new(&bare(name), &bare(host))))
            }
            _ => Err("expected keep, current-user or an account as USER@HOST".into()),
        }
    }
}

/// What definers become on one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Definers {
    /// The account that creates them.
    me: Option<Who>,
    /// Their new definer; `None` if they keep theirs.
    new: Option<Who>,
}

impl Definers {
    /// Those of what this session creates.
    pub(crate) fn of(wish: &Definer, connection: &mut Connection) -> Result<Self> {
        let row = connection.first("SELECT CURRENT_USER()").doing(|| "asking for the account in use")?;
        let text = row.map(|row| row.string(0)).unwrap_or_default();
        let me = text.rsplit_once('@').map(|(name, host)| Who::new(name, host));
        let new = match wish {
            Definer::Keep => None,
            Definer::CurrentUser => me.clone(),
            Definer::Account(who) => Some(who.clone()),
        };
        Ok(Self { me, new })
    }

    /// A statement with its new definer.
    pub(crate) fn statement<'t>(&self, text: &'t [u8], dialect: Dialect) -> Cow<'t, [u8]> {
        let program = self.new.as_ref().and_then(|_| Program::parse(text, dialect));
        match (&self.new, program) {
            (Some(new), Some(program)) if self.changes(&program) => program.with_definer(text, new).into(),
            _ => text.into(),
        }
    }

    /// Statements with their new definers.
    pub(crate) fn statements(&self, statements: Vec<Vec<u8>>, dialect: Dialect) -> Vec<Vec<u8>> {
        if self.new.is_none() {
            return statements;
        }
        statements.into_iter().map(|text| self.statement(&text, dialect).into_owned()).collect()
    }

    /// Whether an object gets another definer than it had.
    fn changes(&self, program: &Program) -> bool {
        self.new
            .as_ref()
            .is_some_and(|new| !is_same(program.definer.as_ref().or(self.me.as_ref()), Some(new)))
    }

    /// The definer that an object is to have, if it is not the account which creates it.
    fn stranger<'p>(&'p self, program: &'p Program) -> Option<&'p Who> {
        let definer = self.new.as_ref().or(program.definer.as_ref());
        definer.filter(|definer| !is_same(Some(*definer), self.me.as_ref()))
    }
}

/// Names of accounts count in their case, those of hosts do not.
fn is_same(one: Option<&Who>, other: Option<&Who>) -> bool {
    let folded = |who: Option<&Who>| {
        who.map(|who| (who.name.clone(), who.host.as_ref().map(|host| host.to_lowercase())))
    };
    folded(one) == folded(other)
}

/// What helps where a time zone is not known.
const ZONES: &str = "fill the target's tables of time zones: mysql_tzinfo_to_sql /usr/share/zoneinfo | mysql -u root mysql (on MariaDB \
                     mariadb-tzinfo-to-sql); --skip-refused leaves these events out";

/// What came of asking a server whether its account may create views and programs.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// How many get another definer.
    pub(crate) changed: usize,
    /// Those that it may not create.
    pub(crate) refused: Vec<Refusal>,
    /// What a person can do about them.
    pub(crate) hints: Vec<String>,
}

impl Asked {
    /// Asks about views and programs, by what they are called, such as ``view `shop`.`sums` ``. With `accounts_come` their definers may be
    /// created before them.
    pub(crate) fn of(
        connection: &mut Connection,
        definers: &Definers,
        programs: &BTreeMap<String, Program>,
        accounts_come: bool,
    ) -> Result<Self> {
        let changed = programs.values().filter(|program| definers.changes(program)).count();
        let mut asked = Self { changed, ..Self::default() };
        asked.ask_about_definers(connection, definers, programs, accounts_come)?;
        asked.ask_about_trust(connection, programs)?;
        Ok(asked)
    }

    fn ask_about_definers(
        &mut self,
        connection: &mut Connection,
        definers: &Definers,
        programs: &BTreeMap<String, Program>,
        accounts_come: bool,
    ) -> Result<()> {
        let strangers: BTreeSet<_> =
            programs.values().filter_map(|program| definers.stranger(program)).collect();
        let mut refused = BTreeMap::new();
        for who in strangers {
            let why = definer_refusal(connection, who)?;
            let why = why.filter(|why| !(accounts_come && why.contains("ALLOW_NONEXISTENT_DEFINER")));
            refused.extend(why.map(|why| (who.clone(), why)));
        }
        for (object, program) in programs {
            let Some(who) = definers.stranger(program) else { continue };
            let reason = refused.get(who).map(|why| format!("definer {who}: {why}"));
            self.refused.extend(reason.map(|reason| Refusal { object: object.clone(), reason }));
        }
        if !self.refused.is_empty() {
            self.hints.push(CURRENT_USER.into());
        }
        Ok(())
    }

    /// Asks whether the server knows the time zones of events, each as a literal.
    pub(crate) fn ask_about_zones(
        &mut self,
        connection: &mut Connection,
        zones: &BTreeMap<Vec<u8>, Vec<String>>,
    ) -> Result<()> {
        for (zone, events) in zones {
            // NULL for a zone that is not known; of SYSTEM it is the server's own.
            let sql = [b"SELECT CONVERT_TZ('2000-01-01', ", &zone[..], b", '+00:00') IS NULL"].concat();
            let row = connection.first(sql).doing(|| "asking for a time zone")?;
            if row.is_none_or(|row| row.string(0) != "1") {
                continue;
            }
            let reason = format!(
                "the server knows no time zone {} (error {})",
                String::from_utf8_lossy(zone),
                er::UNKNOWN_TIME_ZONE
            );
            let refusal = |object: &String| Refusal { object: object.clone(), reason: reason.clone() };
            self.refused.extend(events.iter().map(refusal));
            if !self.hints.iter().any(|hint| hint == ZONES) {
                self.hints.push(ZONES.into());
            }
        }
        Ok(())
    }

    fn ask_about_trust(
        &mut self,
        connection: &mut Connection,
        programs: &BTreeMap<String, Program>,
    ) -> Result<()> {
        let is_logged =
            |program: &Program| ["FUNCTION", "TRIGGER"].contains(&program.word) && !program.is_loadable;
        if !programs.values().any(is_logged) || trusts(connection)? {
            return Ok(());
        }
        let held = Held::of(connection).doing(|| "reading the account's privileges")?;
        let has_super = held.on_all("SUPER").is_some();
        let needs_super = if has_super { None } else { trust_refusal(connection)? };
        for (object, program) in programs.iter().filter(|(_, program)| is_logged(program)) {
            let unsafe_function = (program.word == "FUNCTION" && !program.is_safe).then_some(
                "the server writes a binary log, and takes no function that is neither DETERMINISTIC nor NO SQL nor READS SQL DATA (error 1418)",
            );
            let reason = needs_super.as_deref().or(unsafe_function);
            self.refused
                .extend(reason.map(|reason| Refusal { object: object.clone(), reason: reason.into() }));
            if reason.is_some() && !self.hints.iter().any(|hint| hint == TRUST) {
                self.hints.push(TRUST.into());
            }
        }
        Ok(())
    }

    /// An error that lists what cannot be created.
    pub(crate) fn error(&self) -> Option<Error> {
        if self.refused.is_empty() {
            return None;
        }
        let (mut objects, mut reasons) = (BTreeSet::new(), BTreeMap::<_, Vec<_>>::new());
        for one in &self.refused {
            objects.insert(&one.object);
            reasons.entry(&one.reason).or_default().push(one.object.as_str());
        }
        let line = |(reason, objects): (&String, Vec<&str>)| {
            let shown = objects.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
            let more = match objects.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("\n  {shown}{more}: {reason}")
        };
        let count = objects.len();
        let objects = if count == 1 { "object" } else { "objects" };
        Some(Error::with_hint(
            format!(
                "{count} {objects} of the dump cannot be created on the target: nothing was changed{}",
                reasons.into_iter().map(line).collect::<String>()
            ),
            self.hints.join("; and "),
        ))
    }

    /// The same as the result of asking.
    pub(crate) fn into_result(self) -> Result<usize> {
        match self.error() {
            Some(error) => Err(error),
            None => Ok(self.changed),
        }
    }
}

/// Why the account may not create what has this definer, in the server's words. An event whose interval is 0 is refused in any case, before
/// it is looked for, and behind the definer. Source: `sql/sql_parse.cc`, `sql/events.cc`, `Events::update_event()`.
fn definer_refusal(connection: &mut Connection, who: &Who) -> Result<Option<String>> {
    let sql = format!("ALTER DEFINER={who} EVENT drover_no_schema.none ON SCHEDULE EVERY 0 SECOND");
    refusal(connection, &sql, er::SPECIFIC_ACCESS_DENIED)
}

/// Why the account may create neither functions nor triggers, in the server's words. Whether there is the table of a trigger is looked at
/// after that. Source: `sql/sql_trigger.cc`, `mysql_create_or_drop_trigger()`.
fn trust_refusal(connection: &mut Connection) -> Result<Option<String>> {
    let sql = "CREATE TRIGGER drover_no_schema.none BEFORE INSERT ON drover_no_schema.none FOR EACH ROW SET @drover = 1";
    refusal(connection, sql, er::BINLOG_CREATE_ROUTINE_NEED_SUPER)
}

/// The server's words against a statement, if it has this against it.
fn refusal(connection: &mut Connection, sql: &str, code: u16) -> Result<Option<String>> {
    match connection.execute(sql) {
        Err(drover_db::Error::Server(error)) => Ok((error.code == code).then_some(error.message)),
        other => other.map(|_| None).doing(|| "asking what the account may create"),
    }
}

/// Whether the server lets everybody create functions and triggers who has the privilege, or writes no log.
fn trusts(connection: &mut Connection) -> Result<bool> {
    let mut is_on =
        |name| -> drover_db::Result<bool> { Ok(server::variable(connection, name)?.as_deref() == Some("1")) };
    let log = is_on("GLOBAL.log_bin").doing(|| "reading log_bin")?;
    let trusts = is_on("GLOBAL.log_bin_trust_function_creators")
        .doing(|| "reading log_bin_trust_function_creators")?;
    Ok(!log || trusts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definers(new: Option<Who>) -> Definers {
        Definers { me: Some(Who::new("me", "localhost")), new }
    }

    fn program(text: &str) -> Program {
        Program::parse(text.as_bytes(), Dialect::default()).unwrap()
    }

    #[test]
    fn what_the_option_takes() {
        assert_eq!("keep".parse(), Ok(Definer::Keep));
        assert_eq!("current-user".parse(), Ok(Definer::CurrentUser));
        for text in ["a@b@%", "'a@b'@'%'", "`a@b`@%"] {
            assert_eq!(text.parse(), Ok(Definer::Account(Who::new("a@b", "%"))), "{text}");
        }
        for text in ["", "root", "@%", "a@", "''@'%'"] {
            assert!(text.parse::<Definer>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_account_s_own_objects_are_no_stranger_s() {
        let (other, own) =
            (program("CREATE DEFINER=a@b VIEW v AS x"), program("CREATE DEFINER=me@LOCALHOST VIEW v AS x"));
        let nobody = program("CREATE VIEW v AS x");
        let keep = definers(None);
        assert_eq!(keep.stranger(&other), Some(&Who::new("a", "b")));
        assert_eq!((keep.stranger(&own), keep.stranger(&nobody)), (None, None));
        let current = definers(keep.me.clone());
        assert_eq!([&other, &own, &nobody].map(|program| current.stranger(program)), [None; 3]);
        assert_eq!([&other, &own, &nobody].map(|program| current.changes(program)), [true, false, false]);
        let named = definers(Some(Who::new("x", "%")));
        assert!([&other, &own, &nobody].iter().all(|program| named.changes(program)));
        assert_eq!(named.stranger(&nobody), Some(&Who::new("x", "%")));
    }

    #[test]
    fn statements_that_have_no_definer_stay() {
        let named = definers(Some(Who::new("x", "%")));
        let text = |text: &str| {
            String::from_utf8(named.statement(text.as_bytes(), Dialect::default()).into_owned()).unwrap()
        };
        assert_eq!(text("SET sql_mode = 'DEFINER=a@b'"), "SET sql_mode = 'DEFINER=a@b'");
        assert_eq!(text("CREATE TABLE t (a int)"), "CREATE TABLE t (a int)");
        assert_eq!(text("CREATE DEFINER=`a`@`b` VIEW v AS x"), "CREATE DEFINER=`x`@`%` VIEW v AS x");
    }
}
