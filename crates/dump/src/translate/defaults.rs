//! Character sets that are named without a collation, as [`drover_db::collations::defaults`] gives them theirs, in definitions that
//! dumps hold.

use drover_db::Server;
use drover_db::collations::defaults::{self, Conversion, SETS};
pub(crate) use drover_db::collations::defaults::{full_name, of_server};
use drover_db::sql::Dialect;
use drover_db::sql::phrase::Phrase;

use super::target::Target;
use super::{Notes, Why, words};

/// A definition of a table or schema in which each of these character sets has its collation: such a script means the same on all servers.
pub(crate) fn in_full(create: &[u8], server: &Server) -> Vec<u8> {
    let mut phrase = Phrase::of(&words::open_comments(create, server), Dialect::default());
    let before = phrase.clone();
    let names = |set: &str| SETS.contains(&set).then(String::new);
    defaults::name_them(&mut phrase, |set| of_server(server, set), names, false);
    // What needs nothing stays as the server printed it.
    if phrase == before { create.to_vec() } else { phrase.to_text() }
}

/// Names the old server's default collation where only a character set is named. The text of a program is its own: what it
/// converts is told, and not changed, since expressions give results their names.
pub(super) fn name_them(
    phrase: &mut Phrase,
    old: &Server,
    target: &Target,
    is_program: bool,
    notes: &mut Notes,
) {
    let is = |set: &str| target.default_collations.get(set).cloned();
    for Conversion { text, from, to } in
        defaults::name_them(phrase, |set| of_server(old, set), is, is_program)
    {
        let reason = format!("it is the target's default; the program may say COLLATE {from} behind it");
        notes.add(&format!("{text} in {from}"), &format!("{text} in {to}"), Why::lost(&reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::Vendor;

    fn server(vendor: Vendor, version: &str) -> Server {
        Server { vendor, version: version.into(), comment: String::new() }
    }

    fn to(text: &str, old: &Server, vendor: Vendor, is_program: bool) -> (String, usize) {
        let target = Target::of(vendor);
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        name_them(&mut phrase, old, &target, is_program, &mut notes);
        (String::from_utf8(phrase.to_text()).unwrap(), notes.rewrites.len())
    }

    fn of_5_7(text: &str) -> String {
        to(text, &server(Vendor::MySql, "5.7.44"), Vendor::MySql, false).0
    }

    #[test]
    fn a_character_set_alone_means_the_old_servers_default() {
        assert_eq!(
            of_5_7(") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='CHARSET=utf8mb4'"),
            ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='CHARSET=utf8mb4'"
        );
        assert_eq!(
            of_5_7("`v` varchar(9) CHARACTER SET utf8mb4 DEFAULT NULL"),
            "`v` varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL"
        );
        for same in [
            ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci",
            ") DEFAULT CHARSET=latin1",
            ") DEFAULT CHARSET=utf8",
            "`v` varchar(9) COLLATE utf8mb4_bin",
            "SET CHARACTER SET utf8mb4",
            "SELECT 1 INTO OUTFILE 'f' CHARACTER SET utf8mb4",
            "f(a VARCHAR(3) CHARACTER SET utf8mb4 BINARY)",
            "`v` varchar(9) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin",
        ] {
            assert_eq!(of_5_7(same), same);
        }
    }

    #[test]
    fn scripts_that_are_run_by_hand_say_it_all() {
        let full = |text: &str| {
            String::from_utf8(in_full(text.as_bytes(), &server(Vendor::MySql, "5.7.44"))).unwrap()
        };
        assert_eq!(
            full("CREATE DATABASE `s` /*!40100 DEFAULT CHARACTER SET utf8mb4 */"),
            "CREATE DATABASE `s` DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
        );
        let table = "CREATE TABLE `t` (\n  `a` int /*!50606 STORAGE DISK */\n) DEFAULT CHARSET=latin1";
        assert_eq!(full(table), table);
        let table = table.replace("latin1", "utf8mb4");
        let twice = full(&full(&table));
        assert!(twice.ends_with(") DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"), "{twice}");
    }

    #[test]
    fn other_vendors_have_other_defaults() {
        let (old, new) = (server(Vendor::MariaDb, "10.1.48-MariaDB"), server(Vendor::MySql, "9.7.4"));
        let text = ") DEFAULT CHARSET=utf8mb4";
        assert_eq!(to(text, &old, Vendor::MariaDb, false).0, format!("{text} COLLATE=utf8mb4_general_ci"));
        assert_eq!(to(text, &new, Vendor::MariaDb, false).0, format!("{text} COLLATE=utf8mb4_0900_ai_ci"));
        assert_eq!(to(text, &new, Vendor::MySql, false).0, text);
        let text = ") DEFAULT CHARSET=utf8mb3";
        assert_eq!(to(text, &new, Vendor::MariaDb, false).0, format!("{text} COLLATE=utf8mb3_general_ci"));
    }

    #[test]
    fn conversions_keep_their_collation_or_are_told() {
        let old = server(Vendor::MySql, "5.7.44");
        assert_eq!(
            of_5_7(
                "select convert(`t`.`a` using utf8mb4) AS `a`,cast(`b` as char(3) charset utf8mb4) AS `b`"
            ),
            "select (convert(`t`.`a` using utf8mb4) collate utf8mb4_general_ci) AS `a`,\
             (cast(`b` as char(3) charset utf8mb4) collate utf8mb4_general_ci) AS `b`"
        );
        let text =
            "CREATE PROCEDURE p(a VARCHAR(3) CHARSET utf8mb4) BEGIN SELECT CONVERT(a USING utf8mb4); END";
        let with = text.replace("CHARSET utf8mb4", "CHARSET utf8mb4 COLLATE utf8mb4_general_ci");
        assert_eq!(to(text, &old, Vendor::MySql, true), (with, 1));
        assert_eq!(
            of_5_7("select 1 from a join b using (utf8mb4)"),
            "select 1 from a join b using (utf8mb4)"
        );
    }
}
