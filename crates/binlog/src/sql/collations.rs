//! Collations in what is written for any server: each is told those that it has, by their numbers, in comments that others pass over. A session
//! of one server is told the nearest that it has by its name.

use std::collections::BTreeSet;

use drover_db::Vendor;
use drover_db::collations::{nearest, numbers};

/// A collation to be set on the servers that read the comment; on all, if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    /// What opens the comment, behind `/*`.
    pub(super) comment: &'static str,
    pub(super) number: u16,
}

/// The servers that read a comment, and the numbers of the collations that they have beside those of the steps before.
struct Step {
    comment: &'static str,
    has: fn(u16) -> bool,
}

/// Those of every server, and those of MySQL from 5.6 on, which MariaDB has, too. Source of the numbers here and below:
/// `information_schema.COLLATIONS` of MySQL 5.5, 5.6, 5.7, 8.0.12, 8.0.33 and 9.7 and of MariaDB 10.1, 10.2, 10.5, 10.11, 11.4 and 11.8.
const SHARED: [Step; 2] = [
    Step {
        comment: "",
        has: |number| {
            // Behind german2 in the numbers of each character set are croatian, unicode_520 and vietnamese.
            let later = [56, 62, 76];
            matches!(number, 1..=99 | 101..=120 | 128..=147 | 159..=179 | 192..=211 | 223..=243)
                && !later.contains(&number)
        },
    },
    Step { comment: "!50605", has: |number| number < 248 && number != 76 },
];
const OF_MYSQL: [Step; 4] = [
    Step { comment: "!50700", has: |number| matches!(number, 248..=250) },
    Step { comment: "!80000", has: |number| matches!(number, 76 | 255..=307) },
    Step { comment: "!80017", has: |number| number == 309 },
    Step { comment: "!80030", has: |number| matches!(number, 308..=323) },
];
const OF_MARIADB: [Step; 4] = [
    Step { comment: "M!100002", has: |number| matches!(number, 576..=578 | 608..=610 | 640..=738) },
    Step { comment: "M!100200", has: |number| matches!(number, 1024..2048) },
    Step { comment: "M!101000", has: |number| number >= 2048 },
    // 11.4.5 has MySQL's too, and not all of 11.7 may.
    Step {
        comment: "M!110800",
        has: |number| matches!(number, 579 | 611 | 255..=271 | 273..=275 | 277..=294 | 296..=298 | 300 | 305 | 309),
    },
];

/// What to tell servers that are to set this collation, in the order in which they read it; each takes the last. `None` if no server is known to
/// have one like it.
pub(super) fn on_all_servers(name: &str) -> Vec<Told> {
    let mut found = Vec::new();
    let shared = take(name, Vendor::MySql, &[], &SHARED, None, &mut found);
    take(name, Vendor::MySql, &SHARED, &OF_MYSQL, shared, &mut found);
    take(name, Vendor::MariaDb, &SHARED, &OF_MARIADB, shared, &mut found);
    found
}

/// Goes through the steps behind those `before`, at whose end a server has `last`.
fn take(
    name: &str,
    vendor: Vendor,
    before: &[Step],
    steps: &[Step],
    mut last: Option<u16>,
    found: &mut Vec<Told>,
) -> Option<u16> {
    for (at, step) in steps.iter().enumerate() {
        let has = |name: &str| {
            let mut known = before.iter().chain(&steps[..=at]);
            numbers::number(name, vendor).is_some_and(|number| known.any(|step| (step.has)(number)))
        };
        let Some(number) = named(name, has).and_then(|name| numbers::number(&name, vendor)) else { continue };
        if last != Some(number) {
            last = Some(number);
            found.push(Told { comment: step.comment, number });
        }
    }
    last
}

/// The name of this collation or of the nearest on the server that has these.
pub(super) fn on_server(name: &str, known: &BTreeSet<String>) -> Option<String> {
    named(name, |name| known.contains(name))
}

fn named(name: &str, has: impl Fn(&str) -> bool) -> Option<String> {
    if has(name) { Some(name.to_owned()) } else { nearest(name, has).map(|nearest| nearest.name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str) -> Vec<(&'static str, u16)> {
        on_all_servers(name).into_iter().map(|told| (told.comment, told.number)).collect()
    }

    #[test]
    fn each_server_is_told_the_nearest_that_it_has() {
        assert_eq!(told("latin1_swedish_ci"), [("", 8)]);
        assert_eq!(told("utf8mb4_general_ci"), [("", 45)]);
        // utf8mb4_unicode_ci, utf8mb4_unicode_520_ci
        assert_eq!(told("utf8mb4_unicode_520_ci"), [("", 224), ("!50605", 246)]);
        let nopad = [("M!100200", 1270), ("M!101000", 2308), ("M!110800", 255)];
        let of_unicode_9 = [&[("", 224), ("!50605", 246), ("!80000", 255)][..], &nopad].concat();
        assert_eq!(told("utf8mb4_0900_ai_ci"), of_unicode_9);
        // utf8mb4_swedish_ci, utf8mb4_uca1400_swedish_nopad_ai_ci
        assert_eq!(
            told("utf8mb4_sv_0900_ai_ci"),
            [("", 232), ("!80000", 264), ("M!101000", 2372), ("M!110800", 264)]
        );
        assert_eq!(told("utf8mb4_uca1400_swedish_as_cs"), [("", 46), ("!80000", 287), ("M!101000", 2371)]);
        assert_eq!(
            told("utf8mb4_uca1400_ai_ci"),
            [("", 224), ("!50605", 246), ("!80000", 255), ("M!101000", 2304)]
        );
        assert_eq!(
            told("utf8mb4_0900_bin"),
            [("", 46), ("!80017", 309), ("M!100200", 1070), ("M!110800", 309)]
        );
        assert_eq!(told("latin1_swedish_nopad_ci"), [("", 8), ("M!100200", 1032)]);
        assert_eq!(told("utf8mb3_tolower_ci"), [("", 33), ("!80000", 76)]);
        assert_eq!(told("utf8mb4_croatian_ci"), [("", 224), ("!50605", 245), ("M!100002", 608)]);
        assert_eq!(told("gb18030_bin"), [("!50700", 249)]);
        assert_eq!(told("klingon_ci"), []);
    }

    #[test]
    fn one_server_is_told_a_name() {
        let of_5_5 = ["utf8_general_ci", "utf8mb4_unicode_ci"].map(str::to_owned).into();
        assert_eq!(on_server("utf8mb3_general_ci", &of_5_5).as_deref(), Some("utf8_general_ci"));
        assert_eq!(on_server("utf8mb4_0900_ai_ci", &of_5_5).as_deref(), Some("utf8mb4_unicode_ci"));
        assert_eq!(on_server("gb18030_bin", &of_5_5), None);
    }
}
