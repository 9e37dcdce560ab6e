//! Which version an examination compares with.

use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::target::{self, Snapshot};

/// What to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// That version.
    Target(&'static Snapshot),
    /// Nothing, and why.
    None(String),
}

impl Facts {
    /// The version that was asked for, else the newest known one of the same vendor that is newer than the server.
    pub(crate) fn target(&self) -> Seen<Choice> {
        let (vendor, (major, minor, _)) = (self.vendor()?, self.version()?);
        let known = target::known()?;
        if let Some(name) = &self.target {
            let named = known.iter().find(|one| one.name() == *name);
            return named
                .map(Choice::Target)
                .ok_or_else(|| Unseen::Failed(format!("nothing is known of {name}")));
        }
        let newest = known.iter().filter(|one| one.vendor == vendor).max_by_key(|one| one.series());
        Ok(match newest {
            Some(newest) if newest.series() > (major, minor) => Choice::Target(newest),
            _ => Choice::None(format!(
                "no newer version of {vendor} than this one is known; --target names another one ({})",
                target::names().join(", ")
            )),
        })
    }

    /// What is known of this server's own series.
    pub(crate) fn own_series(&self) -> Seen<Option<&'static Snapshot>> {
        let (vendor, (major, minor, _)) = (self.vendor()?, self.version()?);
        Ok(target::known()?.iter().find(|one| one.vendor == vendor && one.series() == (major, minor)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::evidence::{Answer, Evidence, Kept};

    fn choice(version: &str, target: Option<&str>) -> Seen<Choice> {
        let rows = vec![vec![Some("version".to_owned()), Some(version.to_owned())]];
        let columns = vec!["Variable_name".into(), "Value".into()];
        let mut kept = Kept::default();
        kept.answers.insert("SHOW GLOBAL VARIABLES".into(), Ok(Answer { columns, rows }));
        let mut facts = Facts::gather(Evidence::kept(kept), Duration::ZERO);
        facts.target = target.map(ToOwned::to_owned);
        facts.target()
    }

    fn name(choice: Seen<Choice>) -> Option<String> {
        match choice.unwrap() {
            Choice::Target(target) => Some(target.name()),
            Choice::None(_) => None,
        }
    }

    #[test]
    fn the_newest_that_is_newer() {
        assert_eq!(name(choice("10.6.4-MariaDB", None)).as_deref(), Some("mariadb-11.8"));
        assert_eq!(name(choice("8.0.36", None)).as_deref(), Some("mysql-9.7"));
        assert_eq!(name(choice("12.3.1-MariaDB", None)), None);
        assert_eq!(name(choice("9.7.4", None)), None);
        assert_eq!(name(choice("9.7.4", Some("mariadb-10.11"))).as_deref(), Some("mariadb-10.11"));
    }
}
