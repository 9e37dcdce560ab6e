//! Sets of transactions' identifiers, as either vendor writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::event::{Gtid, MariadbGtid, uuid_text};
use crate::log::{Cursor, Short};

/// Which transactions.
///
/// MySQL's are written as its `gtid_executed` shows them: `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:8,…`, with tags as
/// `UUID:tag:1-5`. MariaDB's are `0-1-5`, or `0-1-5..9` for several numbers of one domain and server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GtidSet {
    mysql: BTreeMap<([u8; 16], String), Vec<Numbers>>,
    mariadb: BTreeMap<(u32, u32), Vec<Numbers>>,
}

/// Of a tag, in characters: MySQL `libs/mysql/gtid/tag.h`.
const LONGEST_TAG: usize = 32;

/// From one number to another, both included.
type Numbers = (u64, u64);

impl GtidSet {
    /// Whether this transaction is in it. One without an identifier never is.
    pub fn contains(&self, gtid: &Gtid<'_>) -> bool {
        let (numbers, number) = match gtid {
            Gtid::Mysql(gtid) if gtid.is_anonymous => return false,
            Gtid::Mysql(gtid) => {
                let tag = String::from_utf8_lossy(gtid.tag).into_owned();
                (self.mysql.get(&(gtid.source, tag)), gtid.number)
            }
            Gtid::Mariadb(gtid) => (self.mariadb.get(&(gtid.domain, gtid.server)), gtid.number),
        };
        numbers.is_some_and(|numbers| numbers.iter().any(|&(from, to)| (from..=to).contains(&number)))
    }

    /// Whether there are none in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.mysql.is_empty() && self.mariadb.is_empty()
    }

    /// Takes in a transaction; one without an identifier is left out.
    pub(crate) fn insert(&mut self, gtid: &Gtid<'_>) {
        match gtid {
            Gtid::Mysql(gtid) if gtid.is_anonymous => {}
            Gtid::Mysql(gtid) => {
                self.insert_mysql(gtid.source, String::from_utf8_lossy(gtid.tag).into_owned(), gtid.number);
            }
            Gtid::Mariadb(gtid) => {
                let numbers = self.mariadb.entry((gtid.domain, gtid.server)).or_default();
                add_number(numbers, gtid.number);
            }
        }
    }

    /// Whether all transactions of `other` are in it.
    pub(crate) fn contains_all(&self, other: &Self) -> bool {
        let holds = |all: Option<&Vec<Numbers>>, some: &[Numbers]| {
            let all = all.map(|all| merged(all)).unwrap_or_default();
            merged(some).iter().all(|(from, to)| all.iter().any(|(first, last)| first <= from && to <= last))
        };
        other.mysql.iter().all(|(key, some)| holds(self.mysql.get(key), some))
            && other.mariadb.iter().all(|(key, some)| holds(self.mariadb.get(key), some))
    }

    /// The highest number of this domain and server of MariaDB, or of all servers.
    pub(crate) fn highest(&self, domain: u32, server: Option<u32>) -> Option<u64> {
        let of = self.mariadb.iter().filter(|((its, _), _)| *its == domain);
        let of = of.filter(|((_, its), _)| server.is_none_or(|server| server == *its));
        of.flat_map(|(_, numbers)| numbers).map(|&(_, to)| to).max()
    }

    /// As MySQL takes it in a request; `None` if there are transactions of MariaDB in it. Source: MySQL `sql/rpl_gtid_set.cc`,
    /// `Gtid_set::encode()`.
    pub(crate) fn mysql_bytes(&self) -> Option<Vec<u8>> {
        if !self.mariadb.is_empty() {
            return None;
        }
        let has_tags = self.mysql.keys().any(|(_, tag)| !tag.is_empty());
        let count = self.mysql.len() as u64;
        // Tags came with 8.3; a set without any is written as before.
        let head = if has_tags { (1 << 56) | (count << 8) | 1 } else { count };
        let mut bytes = head.to_le_bytes().to_vec();
        for ((source, tag), numbers) in &self.mysql {
            bytes.extend_from_slice(source);
            if has_tags {
                bytes.push((tag.len() as u8) << 1);
                bytes.extend_from_slice(tag.as_bytes());
            }
            let ranges = merged(numbers);
            bytes.extend_from_slice(&(ranges.len() as u64).to_le_bytes());
            for (from, to) in ranges {
                bytes.extend_from_slice(&from.to_le_bytes());
                bytes.extend_from_slice(&to.saturating_add(1).to_le_bytes());
            }
        }
        Some(bytes)
    }

    /// Reads what [`Self::mysql_bytes`] writes, and the body of a `Previous_gtids` event. Source: MySQL `sql/rpl_gtid_set.cc`,
    /// `Gtid_set::add_gtid_encoding()`.
    pub(crate) fn parse_mysql(bytes: &[u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(bytes);
        let head = at.u64()?;
        let has_tags = head >> 56 == 1;
        let count = if has_tags { (head >> 8) & ((1 << 48) - 1) } else { head };
        let mut set = Self::default();
        for _ in 0..count {
            let mut source = [0; 16];
            source.copy_from_slice(at.take(16)?);
            let tag = match has_tags {
                true => {
                    let length = usize::try_from(at.varied()?).map_err(|_| Short)?;
                    String::from_utf8_lossy(at.take(length)?).into_owned()
                }
                false => String::new(),
            };
            let ranges = at.u64()?;
            for _ in 0..ranges {
                let range = (at.u64()?, at.u64()?.saturating_sub(1));
                set.mysql.entry((source, tag.clone())).or_default().push(range);
            }
        }
        set.mysql.values_mut().for_each(|numbers| *numbers = merged(numbers));
        Ok(set)
    }

    /// Adds a transaction of MySQL.
    pub(crate) fn insert_mysql(&mut self, source: [u8; 16], tag: String, number: u64) {
        add_number(self.mysql.entry((source, tag)).or_default(), number);
    }

    /// As a position of MariaDB, which names one transaction of each domain; `None` if it is none.
    pub(crate) fn mariadb_position(&self) -> Option<String> {
        if !self.mysql.is_empty() {
            return None;
        }
        let mut domains = BTreeSet::new();
        let mut position = Vec::new();
        for ((domain, server), numbers) in &self.mariadb {
            match numbers[..] {
                [(from, to)] if from == to && domains.insert(domain) => {
                    position.push(format!("{domain}-{server}-{to}"));
                }
                _ => return None,
            }
        }
        Some(position.join(","))
    }

    /// Reads the body of a `Gtid_list` event of MariaDB: of each domain and server the last, and of a domain the one that came last
    /// behind the others. Source: MariaDB `sql/rpl_gtid.cc`, `rpl_binlog_state::get_gtid_list()`.
    pub(crate) fn list(body: &[u8]) -> Result<Vec<MariadbGtid>, Short> {
        // The highest bits are flags.
        const COUNT: u32 = (1 << 28) - 1;
        let mut at = Cursor::new(body);
        let count = at.u32()? & COUNT;
        let mut next = || {
            let (domain, server, number) = (at.u32()?, at.u32()?, at.u64()?);
            Ok(MariadbGtid { domain, server, number, flags: 0, group: None })
        };
        (0..count).map(|_| next()).collect()
    }

    fn add_mysql(&mut self, source: [u8; 16], rest: Option<&str>) -> Result<(), String> {
        let mut tag = String::new();
        let mut numbers = 0;
        for part in rest.into_iter().flat_map(|rest| rest.split(':')).map(str::trim) {
            if part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                if part.len() > LONGEST_TAG {
                    return Err(format!(
                        "'{part}' is longer than the {LONGEST_TAG} characters that a tag may have"
                    ));
                }
                tag = part.to_ascii_lowercase();
                continue;
            }
            let range = range_of(part, "-")?;
            self.mysql.entry((source, tag.clone())).or_default().push(range);
            numbers += 1;
        }
        if numbers == 0 { Err("a UUID has no numbers behind it".into()) } else { Ok(()) }
    }

    fn add_mariadb(&mut self, part: &str) -> Result<(), String> {
        let mut fields = part.splitn(3, '-');
        let mut field = || fields.next().unwrap_or_default();
        let (domain, server, numbers) = (field(), field(), field());
        let number = |text: &str| text.parse::<u32>().map_err(|_| format!("'{part}' is no identifier"));
        let range = range_of(numbers, "..")?;
        self.mariadb.entry((number(domain)?, number(server)?)).or_default().push(range);
        Ok(())
    }
}

/// As servers show it.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for ((source, tag), numbers) in &self.mysql {
            write!(f, "{separator}{}", uuid_text(source))?;
            if !tag.is_empty() {
                write!(f, ":{tag}")?;
            }
            for (from, to) in merged(numbers) {
                write!(f, ":{from}")?;
                if to > from {
                    write!(f, "-{to}")?;
                }
            }
            separator = ",";
        }
        for ((domain, server), numbers) in &self.mariadb {
            for (from, to) in merged(numbers) {
                write!(f, "{separator}{domain}-{server}-{from}")?;
                if to > from {
                    write!(f, "..{to}")?;
                }
                separator = ",";
            }
        }
        Ok(())
    }
}

/// In their order, with nothing twice and nothing that could be one.
fn merged(numbers: &[Numbers]) -> Vec<Numbers> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<Numbers> = Vec::new();
    for (from, to) in sorted {
        match merged.last_mut() {
            Some((_, last)) if from <= last.saturating_add(1) => *last = to.max(*last),
            _ => merged.push((from, to)),
        }
    }
    merged
}

fn range_of(text: &str, between: &str) -> Result<Numbers, String> {
    let (from, to) = text.split_once(between).unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| format!("'{text}' is no number"));
    let (from, to) = (number(from)?, number(to)?);
    if from > to || from == 0 { Err(format!("'{text}' holds no numbers")) } else { Ok((from, to)) }
}

/// The bytes of a UUID; `None` if the text is none.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.trim_matches(['{', '}']).bytes().filter(|&byte| byte != b'-').collect();
    if digits.len() != 32 {
        return None;
    }
    let mut uuid = [0; 16];
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(uuid)
}

impl FromStr for GtidSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (source, rest) = match part.split_once(':') {
                Some((source, rest)) => (source.trim(), Some(rest)),
                None => (part, None),
            };
            match uuid(source) {
                Some(source) => set.add_mysql(source, rest)?,
                None => set.add_mariadb(part)?,
            }
        }
        Ok(set)
    }
}

/// Adds one to numbers that are in their order.
fn add_number(numbers: &mut Vec<Numbers>, number: u64) {
    match numbers.last_mut() {
        Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
        Some((_, last)) if *last >= number => {
            numbers.push((number, number));
            *numbers = merged(numbers);
        }
        _ => numbers.push((number, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{MariadbGtid, MysqlGtid};

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    const UUID_1: &str = "00000000-0000-0000-0000-000000000001:1-3";

    fn mysql(tag: &'static str, number: u64) -> Gtid<'static> {
        let source = uuid(UUID).unwrap();
        Gtid::Mysql(MysqlGtid {
            is_anonymous: false,
            source,
            tag: tag.as_bytes(),
            number,
            committed: None,
            length: None,
            clock: None,
        })
    }

    fn mariadb(domain: u32, server: u32, number: u64) -> Gtid<'static> {
        Gtid::Mariadb(MariadbGtid { domain, server, number, flags: 0, group: None })
    }

    #[test]
    fn sets_of_mysql() {
        let set: GtidSet = format!("{UUID}:1-3:7, {}:9:blue:5-6", UUID.to_uppercase()).parse().unwrap();
        let inside = [("", 1), ("", 3), ("", 7), ("", 9), ("blue", 5), ("blue", 6)];
        let outside = [("", 4), ("", 5), ("", 8), ("blue", 7), ("blue", 9), ("red", 5)];
        assert!(inside.iter().all(|&(tag, number)| set.contains(&mysql(tag, number))));
        assert!(!outside.iter().any(|&(tag, number)| set.contains(&mysql(tag, number))));
        assert_eq!(mysql("blue", 5).to_string(), format!("{UUID}:blue:5"));
        let nameless = MysqlGtid {
            is_anonymous: true,
            ..match mysql("", 1) {
                Gtid::Mysql(gtid) => gtid,
                Gtid::Mariadb(_) => unreachable!(),
            }
        };
        assert!(!set.contains(&Gtid::Mysql(nameless)));
    }

    #[test]
    fn sets_of_mariadb() {
        let set: GtidSet = "0-1-5,0-2-7..9, 4-1-1".parse().unwrap();
        let inside = [(0, 1, 5), (0, 2, 7), (0, 2, 9), (4, 1, 1)];
        let outside = [(0, 1, 4), (0, 1, 6), (0, 2, 5), (1, 1, 5), (4, 2, 1)];
        assert!(
            inside.iter().all(|&(domain, server, number)| set.contains(&mariadb(domain, server, number)))
        );
        assert!(
            !outside.iter().any(|&(domain, server, number)| set.contains(&mariadb(domain, server, number)))
        );
    }

    #[test]
    fn sets_as_servers_take_them() {
        let set: GtidSet = format!("{UUID}:5-6:1-3:4:9").parse().unwrap();
        let uuid = uuid(UUID).unwrap();
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let bytes = [&words(&[1])[..], &uuid, &words(&[2, 1, 7, 9, 10])].concat();
        assert_eq!((set.mysql_bytes(), set.mariadb_position()), (Some(bytes), None));
        let set: GtidSet = format!("{UUID}:7:ab:1").parse().unwrap();
        let head = words(&[(1 << 56) | (2 << 8) | 1]);
        let rest = [&uuid[..], &[0], &words(&[1, 7, 8]), &uuid, b"\x04ab", &words(&[1, 1, 2])].concat();
        assert_eq!(set.mysql_bytes(), Some([head, rest].concat()));
        let set: GtidSet = "1-7-12,0-1-5".parse().unwrap();
        assert_eq!((set.mysql_bytes(), set.mariadb_position()), (None, Some("0-1-5,1-7-12".into())));
        for text in ["0-1-5,0-2-7", "0-1-5..6", "0-1-5,0-1-6"] {
            assert_eq!(text.parse::<GtidSet>().unwrap().mariadb_position(), None, "{text}");
        }
        let none = GtidSet::default();
        assert_eq!((none.mysql_bytes(), none.mariadb_position()), (Some(words(&[0])), Some(String::new())));
    }

    #[test]
    fn sets_that_servers_sent() {
        for text in [
            "",
            UUID_1,
            &format!("{UUID}:2-3:7-9"),
            &format!("{UUID}:7:ab:1-5"),
            &format!("{UUID}:4,{UUID_1}"),
        ] {
            let set: GtidSet = text.parse().unwrap();
            let bytes = set.mysql_bytes().unwrap();
            let mut read = GtidSet::parse_mysql(&bytes).unwrap();
            assert_eq!(read, set, "{text}");
            for length in 0..bytes.len() {
                assert_eq!(GtidSet::parse_mysql(&bytes[..length]), Err(Short), "{text}: {length}");
            }
            for number in [20, 22, 21, 1, 19] {
                read.insert_mysql([7; 16], String::new(), number);
            }
            assert_eq!(read.mysql[&([7; 16], String::new())], [(1, 1), (19, 22)], "{text}");
        }
        assert_eq!(GtidSet::parse_mysql(&[0xff; 40]), Err(Short));
    }

    #[test]
    fn numbers_come_in_any_order() {
        let mut set = GtidSet::default();
        for number in [u64::MAX, 1, 2, 7, u64::MAX, 6] {
            set.insert_mysql([7; 16], String::new(), number);
        }
        assert_eq!(set.mysql.into_values().next().unwrap(), [(1, 2), (6, 7), (u64::MAX, u64::MAX)]);
    }

    #[test]
    fn sets_that_logs_begin_with() {
        let set: GtidSet = format!("{UUID}:1-3:7-9").parse().unwrap();
        let tagged: GtidSet = format!("{UUID}:7:blue:5-6").parse().unwrap();
        for set in [&set, &tagged, &GtidSet::default()] {
            let read = GtidSet::parse_mysql(&set.mysql_bytes().unwrap()).unwrap();
            assert_eq!(
                (read.to_string(), read.contains_all(set)),
                (set.to_string(), set.contains_all(&read))
            );
        }
        assert_eq!(set.to_string(), format!("{UUID}:1-3:7-9"));
        assert_eq!(tagged.to_string(), format!("{UUID}:7,{UUID}:blue:5-6"));
        assert!(GtidSet::parse_mysql(&set.mysql_bytes().unwrap()[..40]).is_err());
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let list = GtidSet::list(&words(&[2 | 1 << 28, 0, 2, 7, 0, 0, 1, 9, 0])).unwrap();
        let shown: Vec<_> = list.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["0-2-7", "0-1-9"]);
        assert!(GtidSet::list(&words(&[1, 0, 2])).is_err());
    }

    #[test]
    fn sets_within_others() {
        let set = |text: &str| text.replace('U', UUID).parse::<GtidSet>().unwrap();
        for (all, some, right) in [
            ("U:1-9", "U:1-3:5", true),
            ("U:1-4:5-9", "U:3-6", true),
            ("U:1-4:6-9", "U:3-6", false),
            ("U:1-9", "U:blue:1", false),
            ("U:1", "", true),
            ("", "U:1", false),
            ("0-1-1..9", "0-1-4", true),
            ("0-1-4", "0-2-4", false),
        ] {
            assert_eq!(set(all).contains_all(&set(some)), right, "{all} {some}");
        }
        let mut grown = GtidSet::default();
        (1..5).chain(7..9).for_each(|number| grown.insert(&mysql("", number)));
        grown.insert(&mariadb(0, 2, 7));
        assert_eq!(grown.to_string(), format!("{UUID}:1-4:7-8,0-2-7"));
        let state = set("0-1-5,0-2-9,1-1-70");
        let highest =
            [(0, None), (0, Some(1)), (2, None)].map(|(domain, server)| state.highest(domain, server));
        assert_eq!(highest, [Some(9), Some(5), None]);
    }

    #[test]
    fn what_is_no_set() {
        for text in
            [UUID, "0-1", "0-1-x", "0-1-9..5", "0-1-0", "x", &format!("{UUID}:"), &format!("{UUID}:5-1")]
        {
            assert!(text.parse::<GtidSet>().is_err(), "{text}");
        }
        assert_eq!("".parse::<GtidSet>(), Ok(GtidSet::default()));
    }
}
