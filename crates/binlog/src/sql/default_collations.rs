//! Which collation a character set had that a statement of a log names alone.

use std::fmt::Write as _;

use drover_db::Vendor;
use drover_db::collations::{self, defaults::SETS};

use crate::event::{Query, Setting};
use crate::log::{Format, Short};

use super::charset;

/// What a statement's session took for character sets that are named without a collation.
///
/// MySQL tells of utf8mb4 from 8.0 on, and what tells nothing is older: `Query_log_event::do_apply_event()`. MariaDB tells from 11.3 on of
/// those character sets that have another one than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultCollations<'a> {
    /// The number of that of utf8mb4; others have the one that they always had.
    MySql(u16),
    /// Numbers of character sets' collations and of those to take, two bytes each.
    MariaDb(&'a [u8]),
}

const UTF8MB4_GENERAL_CI: u16 = 45;
const UTF8MB4_0900_AI_CI: u16 = 255;
impl<'a> DefaultCollations<'a> {
    /// Those of the session of this statement.
    ///
    /// # Errors
    /// If its settings are cut off.
    pub(crate) fn of(query: &Query<'a>, format: &Format) -> Result<Self, Short> {
        for setting in query.settings() {
            match setting? {
                Setting::Utf8mb4Collation(number) => return Ok(Self::MySql(number)),
                Setting::CharsetCollations(pairs) => return Ok(Self::MariaDb(pairs)),
                _ => {}
            }
        }
        match format.is_mariadb() {
            true => Ok(Self::MariaDb(&[])),
            false => Ok(Self::MySql(UTF8MB4_GENERAL_CI)),
        }
    }

    /// The character sets that may have another collation than on other servers.
    pub(crate) fn sets(self) -> Vec<&'static str> {
        let mut sets = SETS.to_vec();
        if let Self::MariaDb(pairs) = self {
            sets.extend(numbers(pairs).filter_map(|(of, _)| charset::name(of.into())));
        }
        sets
    }

    /// The collation of this character set, if it is known.
    pub(crate) fn of_set(self, set: &str) -> Option<String> {
        match self.number(set) {
            Some((number, vendor)) => collations::numbers::name(number, vendor),
            None => SETS.contains(&set).then(|| format!("{set}_general_ci")),
        }
    }

    /// The number of the collation of this character set, unless it is the one that all servers had once.
    fn number(self, set: &str) -> Option<(u16, Vendor)> {
        match self {
            Self::MySql(number) => (set == "utf8mb4").then_some((number, Vendor::MySql)),
            Self::MariaDb(pairs) => numbers(pairs)
                .find(|&(of, _)| charset::name(of.into()) == Some(set))
                .map(|(_, number)| (number, Vendor::MariaDb)),
        }
    }

    /// As `default_collation_for_utf8mb4` takes it, which knows two.
    pub(super) fn on_mysql(self) -> Vec<u8> {
        let is_older = self.number("utf8mb4").is_none_or(|(number, _)| number == UTF8MB4_GENERAL_CI);
        let number = if is_older { UTF8MB4_GENERAL_CI } else { UTF8MB4_0900_AI_CI };
        number.to_string().into_bytes()
    }

    /// As `character_set_collations` takes it.
    pub(super) fn on_mariadb(self) -> Vec<u8> {
        match self {
            Self::MySql(UTF8MB4_GENERAL_CI) => b"''".to_vec(),
            // The nearest to MySQL's.
            Self::MySql(_) => b"'utf8mb4=utf8mb4_uca1400_nopad_ai_ci'".to_vec(),
            Self::MariaDb([]) => b"''".to_vec(),
            // It takes names, and a log has numbers.
            Self::MariaDb(pairs) => {
                let mut value = "(SELECT GROUP_CONCAT(CHARACTER_SET_NAME, '=', FULL_COLLATION_NAME) FROM \
                     information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE ID IN ("
                    .to_owned();
                for (at, (_, number)) in numbers(pairs).enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    let _ = write!(value, "{comma}{number}"); // writing to a String cannot fail
                }
                value.push_str("))");
                value.into_bytes()
            }
        }
    }
}

fn numbers(pairs: &[u8]) -> impl Iterator<Item = (u16, u16)> {
    pairs
        .chunks_exact(4)
        .map(|pair| (u16::from_le_bytes([pair[0], pair[1]]), u16::from_le_bytes([pair[2], pair[3]])))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a server of this version that tells these settings.
    fn of<'a>(version: &str, told: &'a [u8]) -> DefaultCollations<'a> {
        let query = Query { thread: 1, seconds: 0, error: 0, status: told, schema: b"", text: b"" };
        DefaultCollations::of(&query, &Format::of_tests(version)).unwrap()
    }

    fn text(value: Vec<u8>) -> String {
        String::from_utf8(value).unwrap()
    }

    #[test]
    fn what_tells_nothing_is_older() {
        for version in ["5.7.22", "10.11.6-MariaDB", "11.8.2-MariaDB"] {
            let defaults = of(version, &[]);
            assert_eq!(text(defaults.on_mysql()), "45", "{version}");
            assert_eq!(text(defaults.on_mariadb()), "''", "{version}");
            assert_eq!(defaults.of_set("utf8mb4").as_deref(), Some("utf8mb4_general_ci"), "{version}");
        }
    }

    #[test]
    fn each_vendor_has_the_nearest() {
        let mysql = of("9.7.0", &[18, 255, 0]);
        assert_eq!(text(mysql.on_mysql()), "255");
        assert_eq!(text(mysql.on_mariadb()), "'utf8mb4=utf8mb4_uca1400_nopad_ai_ci'");
        assert_eq!(mysql.of_set("utf8mb4").as_deref(), Some("utf8mb4_0900_ai_ci"));
        assert_eq!(mysql.of_set("utf8mb3").as_deref(), Some("utf8mb3_general_ci"));
        // utf8mb3=utf8mb3_uca1400_ai_ci, utf8mb4=utf8mb4_uca1400_as_cs
        let mariadb = of("11.8.2-MariaDB", &[131, 2, 33, 0, 0, 8, 45, 0, 3, 9]);
        assert_eq!(text(mariadb.on_mysql()), "255");
        assert!(text(mariadb.on_mariadb()).ends_with("WHERE ID IN (2048, 2307))"));
        assert_eq!(mariadb.of_set("utf8mb3").as_deref(), Some("utf8mb3_uca1400_ai_ci"));
        assert_eq!(mariadb.of_set("utf8mb4").as_deref(), Some("utf8mb4_uca1400_as_cs"));
        assert_eq!(mariadb.of_set("utf16").as_deref(), Some("utf16_general_ci"));
        assert_eq!(mariadb.of_set("latin1"), None);
        // utf8mb4=utf8mb4_swedish_ci, latin1=latin1_german1_ci
        let chosen = of("11.8.2-MariaDB", &[131, 2, 45, 0, 232, 0, 8, 0, 5, 0]);
        assert_eq!(chosen.of_set("utf8mb4").as_deref(), Some("utf8mb4_swedish_ci"));
        assert_eq!(chosen.of_set("latin1").as_deref(), Some("latin1_german1_ci"));
        assert!(chosen.sets().ends_with(&["utf8mb4", "latin1"]));
    }
}
