//! Which collation a character set had that a statement of a log names alone.

use std::fmt::Write as _;

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
/// Where MariaDB's numbers of the collations of Unicode 14 begin, and of which character set they are.
const UCA1400: [(u16, &str); 5] =
    [(2048, "utf8mb3"), (2304, "utf8mb4"), (2560, "ucs2"), (2816, "utf16"), (3072, "utf32")];
/// What else is a default somewhere.
const OTHERS: [(u16, &str); 9] = [
    (46, "bin"),
    (83, "bin"),
    (192, "unicode_ci"),
    (224, "unicode_ci"),
    (214, "unicode_520_ci"),
    (246, "unicode_520_ci"),
    (255, "0900_ai_ci"),
    (305, "0900_as_ci"),
    (278, "0900_as_cs"),
];

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

    /// The collation of this character set, if it is known.
    pub(crate) fn of_set(self, set: &str) -> Option<String> {
        let rest = match self.number(set) {
            None => "general_ci".to_owned(),
            Some(number) => suffix(number)?,
        };
        Some(format!("{set}_{rest}"))
    }

    /// The number of the collation of this character set, unless it is the one that all servers had once.
    fn number(self, set: &str) -> Option<u16> {
        match self {
            Self::MySql(number) => (set == "utf8mb4" && number != UTF8MB4_GENERAL_CI).then_some(number),
            Self::MariaDb(pairs) => numbers(pairs)
                .find(|&(of, _)| charset::name(of.into()) == Some(set))
                .map(|(_, number)| number)
                .filter(|&number| suffix(number).as_deref() != Some("general_ci")),
        }
    }

    /// As `default_collation_for_utf8mb4` takes it, which knows two.
    pub(super) fn on_mysql(self) -> Vec<u8> {
        let number = self.number("utf8mb4").map_or(UTF8MB4_GENERAL_CI, |_| UTF8MB4_0900_AI_CI);
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

/// What a collation is called behind the name of its character set. Source: `information_schema.COLLATIONS` of MariaDB 11.8 and MySQL 9.7;
/// in the numbers of Unicode 14, bits tell of spaces at the end, accents and case.
fn suffix(number: u16) -> Option<String> {
    const GENERAL: [u16; 5] = [33, 35, 45, 54, 60];
    if GENERAL.contains(&number) {
        return Some("general_ci".into());
    }
    if let Some((first, _)) = UCA1400.iter().find(|(first, _)| (*first..first + 8).contains(&number)) {
        let bits = number - first;
        let word =
            |bit: u16, set: &'static str, clear: &'static str| if bits & bit != 0 { set } else { clear };
        return Some(format!(
            "uca1400_{}{}{}",
            word(4, "nopad_", ""),
            word(2, "as_", "ai_"),
            word(1, "cs", "ci")
        ));
    }
    OTHERS.iter().find(|(other, _)| *other == number).map(|(_, rest)| (*rest).to_owned())
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
    }
}
