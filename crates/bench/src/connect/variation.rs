//! The kinds of sessions that are compared: alike in all but one thing.

use drover_db::er;
use drover_db::options::ConnectOptions;
use drover_db::quote;
use serde::Serialize;

use super::bed::Bed;
use super::site::{Account, Site};
use super::vary::Vary;
use crate::{Error, Result};

/// How the kinds of sessions differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// There is one kind.
    Plain,
    /// Not at all.
    Again,
    /// By TLS.
    Tls,
    /// By the account's authentication plugin.
    Account,
    /// By a variable that is set before each block.
    SetGlobal,
    /// By a variable that the servers are started with.
    AtStart,
}

/// What is compared.
#[derive(Debug)]
pub(super) struct Variation {
    pub(super) name: String,
    pub(super) how: How,
    pub(super) variants: Vec<Variant>,
    /// What puts the first server back to where it was.
    restore: Option<String>,
}

/// One kind of sessions.
#[derive(Debug)]
pub(super) struct Variant {
    /// Its value, as it was asked for.
    pub(super) label: String,
    /// What the server made of it, where it is a variable.
    pub(super) actual: Option<String>,
    /// On which server.
    pub(super) site: usize,
    pub(super) options: ConnectOptions,
    /// What has to be set before.
    pub(super) set: Option<String>,
    /// What a server of its own is started with; none for sessions on the server that is always there.
    start: Option<Vec<String>>,
}

impl Variant {
    fn new(label: &str, site: usize, options: ConnectOptions) -> Self {
        Self { label: label.to_owned(), actual: None, site, options, set: None, start: None }
    }
}

impl Variation {
    /// Prepares what is to be compared; `None` for a single kind of sessions.
    ///
    /// # Errors
    /// If the server has no such thing, or refuses a value.
    pub(super) fn new(bed: &mut Bed<'_>, vary: Option<&Vary>, at_start: bool) -> Result<Self> {
        let variation = match vary {
            None => Self::of(How::Plain, "", vec![usual(bed, "")]),
            Some(Vary::Again) => Self::of(How::Again, "again", again(bed, at_start)?),
            Some(Vary::Tls(values)) => Self::of(How::Tls, "tls", tls(bed, values)?),
            Some(Vary::Auth(plugins)) => Self::of(How::Account, "auth", accounts(bed, plugins)?),
            Some(Vary::Variable { name, values }) => variable(bed, name, values, at_start)?,
        };
        bed.warnings.extend(variation.warnings());
        Ok(variation)
    }

    fn of(how: How, name: &str, variants: Vec<Variant>) -> Self {
        Self { name: name.to_owned(), how, variants, restore: None }
    }

    /// Puts everything back to where it was before.
    ///
    /// # Errors
    /// If the server refuses its own value.
    pub(super) fn end(self, bed: &mut Bed<'_>) -> Result<()> {
        bed.sites.truncate(1);
        match (self.restore, bed.sites.first_mut()) {
            (Some(statement), Some(site)) => site.run(&statement),
            _ => Ok(()),
        }
    }

    /// Whether each round has servers of its own. Two processes of the same server differ a little, by where things happen to lie
    /// in memory: only many of them tell what else differs.
    pub(super) fn restarts(&self) -> bool {
        self.variants.iter().any(|variant| variant.start.is_some())
    }

    /// Starts the servers of a round, in the order of these kinds, in place of those of the round before.
    ///
    /// # Errors
    /// If one does not come up.
    pub(super) fn restart(&mut self, bed: &mut Bed<'_>, order: &[usize]) -> Result<()> {
        bed.sites.truncate(1);
        for &kind in order {
            let variant = &mut self.variants[kind];
            let Some(options) = &variant.start else { continue };
            variant.site = bed.start(options)?;
            variant.options = bed.sites[variant.site].login(bed.way);
        }
        Ok(())
    }

    /// Where the server made something else of a value.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (number, variant) in self.variants.iter().enumerate() {
            let Some(actual) = &variant.actual else { continue };
            let asked = number_of(&variant.label);
            if asked.is_some_and(|asked| actual.parse::<i128>() != Ok(asked)) {
                warnings.push(format!("the server made {actual} of {}={}", self.name, variant.label));
            }
            let same = self.variants[..number].iter().find(|other| other.actual == variant.actual);
            if let Some(other) = same {
                let (name, one, two) = (&self.name, &other.label, &variant.label);
                warnings.push(format!("to the server {name}={one} and {name}={two} are the same: {actual}"));
            }
        }
        warnings
    }
}

fn usual(bed: &Bed<'_>, label: &str) -> Variant {
    Variant::new(label, 0, bed.sites[0].login(bed.way))
}

fn tls(bed: &Bed<'_>, values: &[bool]) -> Result<Vec<Variant>> {
    let variant = |tls: &bool| {
        let label = if *tls { "on" } else { "off" };
        Ok(Variant::new(label, 0, bed.sites[0].login_with_tls(*tls)?))
    };
    values.iter().map(variant).collect()
}

fn accounts(bed: &mut Bed<'_>, plugins: &[String]) -> Result<Vec<Variant>> {
    let Some(flavour) = bed.flavour() else {
        return Err(Error::found("no account is made on a server that others may use"));
    };
    let (way, site) = (bed.way, &mut bed.sites[0]);
    let mut variants = Vec::new();
    for (number, plugin) in plugins.iter().enumerate() {
        let account = Account::new(&format!("drover_bench_{number}"))?;
        site.create(&account, Some(plugin), flavour)?;
        variants.push(Variant::new(plugin, 0, site.login_as(way, &account)));
    }
    Ok(variants)
}

fn variable(bed: &mut Bed<'_>, name: &str, values: &[String], at_start: bool) -> Result<Variation> {
    if !at_start && is_settable(&mut bed.sites[0], name, &values[0])? {
        return set_global(bed, name, values);
    }
    let mut variants = Vec::new();
    for value in values {
        let options = vec![format!("--{name}={value}")];
        let mut variant = started(bed, value, options).map_err(|error| of_value(error, name, value))?;
        variant.actual = bed.sites[variant.site].variable(name)?;
        variants.push(variant);
    }
    Ok(Variation::of(How::AtStart, name, variants))
}

fn again(bed: &mut Bed<'_>, at_start: bool) -> Result<Vec<Variant>> {
    let labels = ["first", "again"].into_iter();
    if at_start {
        labels.map(|label| started(bed, label, Vec::new())).collect()
    } else {
        Ok(labels.map(|label| usual(bed, label)).collect())
    }
}

fn started(bed: &mut Bed<'_>, label: &str, options: Vec<String>) -> Result<Variant> {
    let site = bed.start(&options)?;
    let variant = Variant::new(label, site, bed.sites[site].login(bed.way));
    Ok(Variant { start: Some(options), ..variant })
}

/// An error of a server that did not start, with the setting that it was started with.
fn of_value(error: Error, name: &str, value: &str) -> Error {
    match error {
        Error::Sandbox(error) => {
            Error::Found { what: format!("a server with {name}={value}: {error}"), hint: error.hint() }
        }
        other => other,
    }
}

/// Whether a variable can be set while the server runs. Whether it is there at all, the server says.
fn is_settable(site: &mut Site, name: &str, value: &str) -> Result<bool> {
    let before = site.variable(name)?;
    match set(site, name, value) {
        Err(error) if error.code() == Some(er::INCORRECT_GLOBAL_LOCAL_VAR) => Ok(false),
        Err(error) => Err(error),
        Ok(()) => site.run(&restored(name, before.as_deref())).map(|()| true),
    }
}

fn set_global(bed: &mut Bed<'_>, name: &str, values: &[String]) -> Result<Variation> {
    let way = bed.way;
    let site = &mut bed.sites[0];
    let before = site.variable(name)?;
    let mut variation = Variation::of(How::SetGlobal, name, Vec::new());
    for value in values {
        set(site, name, value)?;
        let (actual, set) = (site.variable(name)?, Some(assignment(name, value)));
        variation.variants.push(Variant { actual, set, ..Variant::new(value, 0, site.login(way)) });
    }
    variation.restore = Some(restored(name, before.as_deref()));
    Ok(variation)
}

fn set(site: &mut Site, name: &str, value: &str) -> Result<()> {
    let doing = format!("setting {name} to '{value}'");
    site.control.execute(assignment(name, value)).map(drop).map_err(Error::server(doing))
}

fn assignment(name: &str, value: &str) -> String {
    format!("SET GLOBAL {name} = {}", literal(value))
}

fn restored(name: &str, before: Option<&str>) -> String {
    match before {
        Some(before) => assignment(name, before),
        None => format!("SET GLOBAL {name} = DEFAULT"),
    }
}

/// A value as SET takes it: numbers bare, sizes as numbers, anything else as text.
fn literal(value: &str) -> String {
    match number_of(value) {
        Some(number) => number.to_string(),
        None if value.parse::<f64>().is_ok_and(f64::is_finite) => value.to_owned(),
        None if value.eq_ignore_ascii_case("default") => value.to_owned(),
        None => quote::string(value),
    }
}

/// A whole number, with the letters behind it that servers take in their options.
fn number_of(value: &str) -> Option<i128> {
    let (digits, power) = match value.chars().last()?.to_ascii_uppercase() {
        'K' => (&value[..value.len() - 1], 1),
        'M' => (&value[..value.len() - 1], 2),
        'G' => (&value[..value.len() - 1], 3),
        'T' => (&value[..value.len() - 1], 4),
        _ => (value, 0),
    };
    digits.parse::<i128>().ok()?.checked_mul(1024_i128.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_set_takes_them() {
        for (value, written) in [
            ("128K", "131072"),
            ("5M", "5242880"),
            ("-1", "-1"),
            ("0.5", "0.5"),
            ("ON", "'ON'"),
            ("DEFAULT", "DEFAULT"),
            ("", "''"),
            ("DO SLEEP(0.01)", "'DO SLEEP(0.01)'"),
            ("K", "'K'"),
            ("é", "'é'"),
            ("inf", "'inf'"),
        ] {
            assert_eq!(literal(value), written, "{value}");
        }
        assert_eq!(assignment("a", "1G"), "SET GLOBAL a = 1073741824");
        assert_eq!(restored("a", None), "SET GLOBAL a = DEFAULT");
    }

    #[test]
    fn what_the_server_made_of_values_is_told() {
        let options = crate::connect::tests::nowhere();
        let variant = |label: &str, actual: &str| Variant {
            actual: Some(actual.to_owned()),
            ..Variant::new(label, 0, options.clone())
        };
        let told = |variants| Variation::of(How::SetGlobal, "x", variants).warnings();
        assert!(told(vec![variant("8K", "8192"), variant("ON", "1")]).is_empty());
        assert_eq!(
            told(vec![variant("1", "8192"), variant("8K", "8192")]),
            ["the server made 8192 of x=1", "to the server x=1 and x=8K are the same: 8192"]
        );
    }
}
