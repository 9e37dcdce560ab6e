//! The transactions that a log begins behind, as its first events tell them.

use std::collections::BTreeMap;

use crate::event::Gtid;
use crate::gtid_set::GtidSet;
use crate::log::{Kind, Short};

/// Which transactions a server's logs have had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GtidState {
    /// All of them.
    Mysql(GtidSet),
    /// The last number of each domain and server.
    Mariadb(BTreeMap<(u32, u32), u64>),
}

/// The identifier of a transaction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Identifier {
    Mysql { source: [u8; 16], tag: String, number: u64 },
    Mariadb { domain: u32, server: u32, number: u64 },
}

impl Identifier {
    /// Of a transaction, if it has one.
    pub(crate) fn of(gtid: &Gtid<'_>) -> Option<Self> {
        match gtid {
            Gtid::Mysql(gtid) if gtid.is_anonymous => None,
            Gtid::Mysql(gtid) => Some(Self::Mysql {
                source: gtid.source,
                tag: String::from_utf8_lossy(gtid.tag).into_owned(),
                number: gtid.number,
            }),
            Gtid::Mariadb(gtid) => {
                Some(Self::Mariadb { domain: gtid.domain, server: gtid.server, number: gtid.number })
            }
        }
    }
}

impl GtidState {
    /// Reads the body of an event that tells it; `None` for other kinds.
    pub(crate) fn parse(kind: Kind, body: &[u8]) -> Result<Option<Self>, Short> {
        match kind {
            Kind::PREVIOUS_GTIDS => GtidSet::parse_mysql(body).map(|set| Some(Self::Mysql(set))),
            Kind::MARIADB_GTID_LIST => gtid_list(body).map(|list| Some(Self::Mariadb(list))),
            _ => Ok(None),
        }
    }

    /// Whether a log may begin behind these transactions where the one before it ended behind `before`. More may have come otherwise, and
    /// MariaDB forgets a domain that it is told to; none goes back unless the logs are begun anew.
    pub(crate) fn may_follow(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Mysql(set), Self::Mysql(before)) => set.contains_all(before),
            (Self::Mariadb(list), Self::Mariadb(before)) => {
                (before.is_empty() || !list.is_empty())
                    && before.iter().all(|(of, number)| list.get(of).is_none_or(|last| last >= number))
            }
            _ => true,
        }
    }

    /// As a text without spaces, which [`Self::read`] takes.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Mysql(set) => format!("mysql:{set}"),
            Self::Mariadb(list) => {
                let gtids =
                    list.iter().map(|((domain, server), number)| format!("{domain}-{server}-{number}"));
                format!("mariadb:{}", gtids.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// What [`Self::text`] wrote.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (vendor, all) = text.split_once(':')?;
        let gtid = |text: &str| {
            let mut numbers = text.split('-').map(str::parse::<u64>);
            let mut number = || numbers.next()?.ok();
            let (domain, server) = (u32::try_from(number()?).ok()?, u32::try_from(number()?).ok()?);
            Some(((domain, server), number()?))
        };
        match vendor {
            "mysql" => all.parse().ok().map(Self::Mysql),
            "mariadb" => all
                .split(',')
                .filter(|gtid| !gtid.is_empty())
                .map(gtid)
                .collect::<Option<_>>()
                .map(Self::Mariadb),
            _ => None,
        }
    }

    /// Behind one more transaction.
    pub(crate) fn add(&mut self, identifier: Identifier) {
        match (self, identifier) {
            (Self::Mysql(set), Identifier::Mysql { source, tag, number }) => {
                set.insert_mysql(source, tag, number);
            }
            (Self::Mariadb(list), Identifier::Mariadb { domain, server, number }) => {
                list.insert((domain, server), number);
            }
            _ => {}
        }
    }
}

fn gtid_list(body: &[u8]) -> Result<BTreeMap<(u32, u32), u64>, Short> {
    let list = GtidSet::list(body)?;
    Ok(list.into_iter().map(|gtid| ((gtid.domain, gtid.server), gtid.number)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_and_read() {
        let mysql = |text: &str| GtidState::Mysql(text.parse().unwrap());
        let mariadb = |all: &[((u32, u32), u64)]| GtidState::Mariadb(all.iter().copied().collect());
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        for state in [
            mysql(""),
            mysql(&format!("{uuid}:1-77:80,4{}:5", &uuid[1..])),
            mariadb(&[]),
            mariadb(&[((0, 1), 7), ((3, 2), 9)]),
        ] {
            assert!(!state.text().contains(' '), "{}", state.text());
            assert_eq!(GtidState::read(&state.text()), Some(state));
        }
        assert_eq!(GtidState::read("mariadb:1-2"), None);
        let before = mariadb(&[((0, 1), 7), ((3, 2), 9)]);
        assert!(mariadb(&[((0, 1), 7)]).may_follow(&before), "a domain was forgotten");
        assert!(!mariadb(&[]).may_follow(&before) && !mariadb(&[((0, 1), 6)]).may_follow(&before));
    }

    #[test]
    fn lists_of_mariadb() {
        let entry = |domain: u32, server: u32, number: u64| {
            [&domain.to_le_bytes()[..], &server.to_le_bytes(), &number.to_le_bytes()].concat()
        };
        // The upper bits are flags.
        let body = [&(0x1000_0002_u32).to_le_bytes()[..], &entry(0, 1, 7), &entry(3, 2, 9)].concat();
        let mut state = GtidState::parse(Kind::MARIADB_GTID_LIST, &body).unwrap().unwrap();
        state.add(Identifier::Mariadb { domain: 0, server: 1, number: 8 });
        state.add(Identifier::Mariadb { domain: 0, server: 4, number: 9 });
        let right = [((0, 1), 8), ((0, 4), 9), ((3, 2), 9)];
        assert_eq!(state, GtidState::Mariadb(right.into()));
        for length in 0..body.len() {
            assert_eq!(GtidState::parse(Kind::MARIADB_GTID_LIST, &body[..length]), Err(Short), "{length}");
        }
    }
}
