//! Generated columns.

use drover_db::sql::phrase::Phrase;

use super::columns::{Fate, type_end};
use super::syntax::Syntax;
use super::target::Target;
use super::{Notes, Why};

pub(super) fn is_generated(column: &Phrase) -> bool {
    column.find(&["AS"]).is_some()
}

/// MariaDB's older word for a column that is kept.
pub(super) fn stored(column: &mut Phrase, notes: &mut Notes) {
    rename_kept(column, ["PERSISTENT", "STORED"], notes);
}

/// MariaDB before 10.2 knows no other.
pub(super) fn persistent(column: &mut Phrase, notes: &mut Notes) {
    rename_kept(column, ["STORED", "PERSISTENT"], notes);
}

fn rename_kept(column: &mut Phrase, [from, to]: [&str; 2], notes: &mut Notes) {
    if let Some(found) = column.find(&[from]).filter(|_| is_generated(column)) {
        notes.add(from, to, Why::kept("the same under the target's name"));
        column.replace(found, to.as_bytes());
    }
}

/// MariaDB takes no NOT NULL with a generated column, but a constraint of the table's.
pub(super) fn not_null(column: &mut Phrase, notes: &mut Notes) -> Fate {
    let Some(found) = column.find(&["NOT", "NULL"]).filter(|_| is_generated(column)) else {
        return Fate::Kept;
    };
    column.cut(found);
    let check = format!("CHECK ({} is not null)", column.part(0..1));
    notes.add("NOT NULL", &check, Why::kept("MariaDB takes it with a generated column only as a constraint"));
    Fate::Checked(check)
}

/// Says the collation of a generated column without COLLATE, where the target takes none there. `of_table` is the table's.
pub(super) fn collation(column: &mut Phrase, of_table: Option<&str>, target: &Target, notes: &mut Notes) {
    if target.reads(Syntax::GeneratedCollation) || !is_generated(column) {
        return;
    }
    let Some(found) = column.find(&["COLLATE"]) else { return };
    let value = column.code(found.end);
    let name = column.part(value..value + 1).to_ascii_lowercase();
    let set = name.split('_').next().unwrap_or_default();
    let is_own = |collation: Option<&str>| collation.is_some_and(|it| it.starts_with(&format!("{set}_")));
    let own = target.character_sets.get(set).map(String::as_str);
    let of_set = format!(" CHARACTER SET {set}");
    let of_bytes = format!("{of_set} BINARY");
    let folds =
        |collation: Option<&str>| is_own(collation) && collation.is_some_and(|it| it.ends_with("_ci"));
    let (to, is_same) = match () {
        () if of_table == Some(&name) => (String::new(), true),
        () if own == Some(&name) => (of_set, true),
        () if name == format!("{set}_bin") => (of_bytes, true),
        () if !name.ends_with("_ci") => (of_bytes, false),
        () if folds(of_table) => (String::new(), false),
        () => (of_set, false),
    };
    let why = match is_same {
        true => Why::kept("the same: the target takes no COLLATE with a generated column"),
        false => Why::lost(
            "the target takes no COLLATE with a generated column, which has the collation of the table or of its character set, or \
             compares bytes: other texts are equal than before",
        ),
    };
    notes.add(&format!("COLLATE {name}"), to.trim_start(), why);
    column.cut(found.start..value + 1);
    if let Some(found) = column.find(&["CHARACTER", "SET"]) {
        let end = column.code(found.end) + 1;
        column.cut(found.start..end);
    }
    let end = type_end(column);
    column.replace(end..end, to.as_bytes());
}

/// Takes the CHECK of a generated column out, as a constraint of the table's, where its own value is not known to it: tried on 10.2, which
/// takes no COLLATE there either.
pub(super) fn check(column: &mut Phrase, target: &Target, notes: &mut Notes) -> Option<String> {
    if target.reads(Syntax::GeneratedCollation) || !is_generated(column) {
        return None;
    }
    let found = column.find(&["CHECK"])?;
    let end = column.closed(column.code(found.end));
    let from = format!("{} {}", column.part(0..1), column.part(found.start..end));
    let check = column.cut(found.start..end);
    notes.add(&from, &check, Why::kept("the target takes it with a generated column only as a constraint"));
    Some(check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::Vendor;
    use drover_db::sql::Dialect;

    fn to(of_table: &str, text: &str) -> (String, Vec<bool>) {
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        let unknown_syntax = [Syntax::GeneratedCollation].into();
        let target = Target { unknown_syntax, ..Target::of(Vendor::MariaDb) };
        collation(&mut phrase, Some(of_table), &target, &mut notes);
        let loses = notes.rewrites.iter().map(|rewrite| rewrite.loses).collect();
        (String::from_utf8(phrase.to_text()).unwrap(), loses)
    }

    #[test]
    fn checks_become_the_tables() {
        let text = "`b` longtext GENERATED ALWAYS AS (concat(`j`,'')) VIRTUAL CHECK (json_valid(`b`)) COMMENT 'CHECK'";
        let mut phrase = Phrase::of(text.as_bytes(), Dialect::default());
        let target = Target::of(Vendor::MariaDb);
        assert_eq!(check(&mut phrase, &target, &mut Notes::new("x")), None);
        let older = Target { unknown_syntax: [Syntax::GeneratedCollation].into(), ..target };
        let taken = check(&mut phrase, &older, &mut Notes::new("x"));
        assert_eq!(taken.as_deref(), Some("CHECK (json_valid(`b`))"));
        assert_eq!(phrase.to_text(), text.replace(" CHECK (json_valid(`b`))", "").into_bytes());
    }

    #[test]
    fn collations_without_the_word() {
        let column = |of: &str| format!("`g` varchar(9){of} GENERATED ALWAYS AS (`a`) VIRTUAL");
        for (from, becomes, is_same) in [
            (" COLLATE utf8mb4_bin", " CHARACTER SET utf8mb4 BINARY", true),
            (" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", " CHARACTER SET utf8mb4 BINARY", true),
            (" CHARACTER SET latin1 COLLATE latin1_swedish_ci", " CHARACTER SET latin1", true),
            (" COLLATE utf8mb4_general_ci", " CHARACTER SET utf8mb4", true),
            (" COLLATE utf8mb4_unicode_ci", "", true),
            (" COLLATE utf8mb4_danish_ci", "", false),
            (" COLLATE utf8mb4_nopad_bin", " CHARACTER SET utf8mb4 BINARY", false),
            (" CHARACTER SET latin1 COLLATE latin1_danish_ci", " CHARACTER SET latin1", false),
        ] {
            assert_eq!(to("utf8mb4_unicode_ci", &column(from)), (column(becomes), vec![!is_same]), "{from}");
        }
        let of_bytes = to("utf8mb4_bin", &column(" COLLATE utf8mb4_danish_ci"));
        assert_eq!(of_bytes, (column(" CHARACTER SET utf8mb4"), vec![true]));
        for same in [column(" CHARACTER SET latin1"), "`a` varchar(9) COLLATE utf8mb4_bin".into()] {
            assert_eq!(to("utf8mb4_unicode_ci", &same), (same, vec![]));
        }
    }
}
