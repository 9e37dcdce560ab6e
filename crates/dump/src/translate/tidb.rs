//! What TiDB writes into comments of its own (`/*T![feature] … */`), which every other server passes over: it is said what is lost by it.

use drover_db::sql::{Dialect, tokens};

use super::{Notes, Why, one_line};

/// Features by the name in the comment or a word in it, with what is lost elsewhere. Those that are not listed say how rows are stored.
const LOST: [(&str, &str); 4] = [
    (
        "AUTO_RANDOM(",
        "only TiDB draws ids at random: a new row must be given its id, or the column be made AUTO_INCREMENT",
    ),
    ("PLACEMENT POLICY", "only TiDB places tables by policies"),
    ("TTL=", "only TiDB removes rows by their age: they stay"),
    ("GLOBAL", "only TiDB has indexes over all partitions"),
];

/// What it takes for text in latin1 is text in UTF-8. Source: its manual, "Character Set and Collation".
const MISNAMED: [(&str, &str); 2] = [("latin1", "utf8mb4"), ("latin1_bin", "utf8mb4_bin")];

/// The statement without these comments, and with the character set that its text is in.
pub(super) fn without_own(text: &[u8], notes: &mut Notes) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for token in tokens(text, Dialect::default()) {
        let right = MISNAMED.iter().find(|(wrong, _)| token.is_word(wrong));
        if let Some((wrong, right)) = right {
            notes.add(wrong, right, Why::kept("TiDB keeps text of latin1 in UTF-8"));
            kept.extend_from_slice(right.as_bytes());
        } else if !token.text.starts_with(b"/*T!") {
            kept.extend_from_slice(token.text);
        } else {
            note_lost(token.text, notes);
        }
    }
    kept
}

fn note_lost(comment: &[u8], notes: &mut Notes) {
    let comment = one_line(&String::from_utf8_lossy(comment));
    if let Some((_, reason)) = LOST.iter().find(|(word, _)| comment.contains(word)) {
        notes.add(&comment, "", Why::lost(reason));
    }
}

/// The statement that creates a schema, for another server: with the collation that a character set has in TiDB where none is named.
pub(super) fn schema(create: &[u8], notes: &mut Notes) -> Vec<u8> {
    const SET: &str = "DEFAULT CHARACTER SET ";
    let text = String::from_utf8_lossy(&without_own(create, notes)).into_owned();
    let Some((before, after)) = text.split_once(SET) else { return text.into_bytes() };
    let set = after.split_whitespace().next().unwrap_or_default();
    let rest = &after[set.len()..];
    let right = MISNAMED.iter().find(|(wrong, _)| *wrong == set).map_or(set, |(_, right)| right);
    let rest = rest.replace("latin1_bin", "utf8mb4_bin");
    let collation = match right {
        "utf8mb4" | "utf8" | "ascii" if !rest.contains("COLLATE") => format!(" COLLATE {right}_bin"),
        _ => String::new(),
    };
    format!("{before}{SET}{right}{collation}{rest}").into_bytes()
}

/// Takes `WITH … CHECK OPTION` off a view.
pub(super) fn without_check_option(statement: &mut Vec<u8>, notes: &mut Notes) {
    for option in [" WITH CASCADED CHECK OPTION", " WITH LOCAL CHECK OPTION"] {
        if let Some(rest) = statement.strip_suffix(option.as_bytes()) {
            notes.add(option.trim_start(), "", Why::lost("views of TiDB take no rows"));
            statement.truncate(rest.len());
        }
    }
}

/// The script of a sequence. MariaDB's makes a table of one row, which says what the sequence is and where it goes on; TiDB takes neither.
pub(super) fn sequence(script: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let Some(sequence) = script.iter().find_map(|statement| Sequence::of_row(statement)) else {
        return script.to_vec();
    };
    [Some(sequence.create()), sequence.set_value()].into_iter().flatten().map(String::into_bytes).collect()
}

/// What the row of a sequence of MariaDB says.
struct Sequence<'a> {
    name: &'a str,
    next: i64,
    minimum: i64,
    maximum: i64,
    start: i64,
    increment: i64,
    cache: i64,
    cycles: bool,
}

impl<'a> Sequence<'a> {
    /// `INSERT INTO name VALUES (next, minimum, maximum, start, increment, cache, cycles, round)`.
    fn of_row(statement: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(statement).ok()?;
        let (name, values) = text.strip_prefix("INSERT INTO ")?.rsplit_once(" VALUES (")?;
        let values: Vec<i64> =
            values.strip_suffix(')')?.split(", ").map_while(|value| value.parse().ok()).collect();
        let [next, minimum, maximum, start, increment, cache, cycles, _] = values[..] else { return None };
        Some(Self { name, next, minimum, maximum, start, increment, cache, cycles: cycles != 0 })
    }

    fn create(&self) -> String {
        let Self { name, minimum, maximum, start, increment, cache, cycles, .. } = self;
        let cache = if *cache > 0 { format!("CACHE {cache}") } else { "NOCACHE".into() };
        let cycle = if *cycles { "CYCLE" } else { "NOCYCLE" };
        format!(
            "CREATE SEQUENCE {name} START WITH {start} MINVALUE {minimum} MAXVALUE {maximum} INCREMENT BY {increment} {cache} {cycle}"
        )
    }

    /// The number before the next one is the last that was given, also where the sequence counts down. One that has given none is as
    /// it was made.
    fn set_value(&self) -> Option<String> {
        let step = if self.increment < 0 { 1 } else { -1 };
        let last = self.next.saturating_add(step);
        (self.next != self.start).then(|| format!("SELECT SETVAL({}, {last})", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_latin1_is_in_utf8() {
        let mut notes = Notes::new("table `a`.`b`");
        let text = b"CREATE TABLE `latin1` (`a` char(1) CHARACTER SET latin1 DEFAULT 'latin1') DEFAULT CHARSET=latin1 COLLATE=latin1_bin";
        assert_eq!(
            String::from_utf8(without_own(text, &mut notes)).unwrap(),
            "CREATE TABLE `latin1` (`a` char(1) CHARACTER SET utf8mb4 DEFAULT 'latin1') DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
        );
        assert!(notes.rewrites.iter().all(|rewrite| !rewrite.loses));
    }

    #[test]
    fn a_schema_keeps_its_collation() {
        let mut notes = Notes::new("schema `a`");
        let mut to = |text: &str| String::from_utf8(schema(text.as_bytes(), &mut notes)).unwrap();
        let create = "CREATE DATABASE `a` /*!40100 DEFAULT CHARACTER SET";
        assert_eq!(
            to(&format!("{create} utf8mb4 */ /*T![placement] PLACEMENT POLICY=`p` */")),
            format!("{create} utf8mb4 COLLATE utf8mb4_bin */ ")
        );
        let named = format!("{create} utf8mb4 COLLATE utf8mb4_general_ci */");
        assert_eq!(to(&named), named);
        assert_eq!(to(&format!("{create} latin1 */")), format!("{create} utf8mb4 COLLATE utf8mb4_bin */"));
        assert_eq!(to(&format!("{create} binary */")), format!("{create} binary */"));
        let lost: Vec<_> = notes.rewrites.iter().filter(|rewrite| rewrite.loses).collect();
        assert_eq!(lost.len(), 1, "{lost:?}");
    }

    #[test]
    fn a_sequence_goes_on_where_it_was() {
        let of = |script: [&str; 2]| {
            let script = sequence(&script.map(|statement| statement.as_bytes().to_vec()));
            script.into_iter().map(|statement| String::from_utf8(statement).unwrap()).collect::<Vec<_>>()
        };
        let table = "CREATE TABLE `q` (`next_not_cached_value` bigint(21) NOT NULL) ENGINE=InnoDB SEQUENCE=1";
        let up = "INSERT INTO `q` VALUES (1001, 1, 9223372036854775806, 1, 1, 1000, 0, 0)";
        let made = "CREATE SEQUENCE `q` START WITH 1 MINVALUE 1 MAXVALUE 9223372036854775806 INCREMENT BY 1 CACHE 1000 NOCYCLE";
        assert_eq!(of([table, up]), [made, "SELECT SETVAL(`q`, 1000)"]);
        assert_eq!(of([table, &up.replace("(1001, ", "(1, ")]), [made]);
        let down = "INSERT INTO `q` VALUES (-5, -100, -1, -1, -2, 0, 1, 0)";
        let made =
            "CREATE SEQUENCE `q` START WITH -1 MINVALUE -100 MAXVALUE -1 INCREMENT BY -2 NOCACHE CYCLE";
        assert_eq!(of([table, down]), [made, "SELECT SETVAL(`q`, -4)"]);
        let own = ["CREATE SEQUENCE `q` start with 1 minvalue 1", "SELECT SETVAL(`q`, 4)"];
        assert_eq!(of(own), own);
    }

    #[test]
    fn own_comments_are_left_out_and_told() {
        let mut notes = Notes::new("table `a`.`b`");
        let text = "CREATE TABLE `b` (`id` bigint NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */, `t` text COMMENT '/*T! x */', \
                    PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */) /*T![ttl] TTL=`t` + INTERVAL 3 MONTH */ /*T![ttl] TTL_ENABLE='ON' */";
        let kept = String::from_utf8(without_own(text.as_bytes(), &mut notes)).unwrap();
        assert_eq!(
            one_line(&kept),
            "CREATE TABLE `b` (`id` bigint NOT NULL , `t` text COMMENT '/*T! x */', PRIMARY KEY (`id`) )"
        );
        let lost: Vec<_> = notes.rewrites.iter().map(|rewrite| rewrite.from.as_str()).collect();
        assert_eq!(lost, ["/*T![auto_rand] AUTO_RANDOM(5) */", "/*T![ttl] TTL=`t` + INTERVAL 3 MONTH */"]);
    }
}
