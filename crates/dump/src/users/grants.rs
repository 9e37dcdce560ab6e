//! Putting together what the lines of SHOW GRANTS say of one thing.

use std::collections::BTreeMap;

use drover_db::grants::{Grant, Privilege, Scope};

/// The columns of each privilege, by its name and whether it is on the whole table.
type Privileges = BTreeMap<(String, bool), Vec<String>>;

/// One grant for each thing, sorted, without those that give nothing.
pub(crate) fn together(grants: impl IntoIterator<Item = Grant>) -> Vec<Grant> {
    let mut all: BTreeMap<(Scope, bool, bool), Privileges> = BTreeMap::new();
    for grant in grants {
        let privileges = all.entry((grant.on, grant.revoked, grant.grant_option)).or_default();
        for privilege in grant.privileges {
            // One on the whole table stays beside the same on columns.
            let is_whole = privilege.columns.is_empty();
            privileges.entry((privilege.name, is_whole)).or_default().extend(privilege.columns);
        }
    }
    let grant = |((on, revoked, grant_option), mut privileges): ((Scope, bool, bool), Privileges)| {
        if privileges.len() > 1 {
            privileges.retain(|(name, _), _| name != "USAGE");
        }
        let privilege = |((name, _), mut columns): ((String, bool), Vec<String>)| {
            columns.sort();
            columns.dedup();
            Privilege { name, columns }
        };
        Grant { on, revoked, grant_option, privileges: privileges.into_iter().map(privilege).collect() }
    };
    let nothing = |grant: &Grant| {
        let mut names = grant.privileges.iter().map(|privilege| &privilege.name);
        !grant.grant_option && names.all(|name| name == "USAGE")
    };
    all.into_iter().map(grant).filter(|grant| !nothing(grant)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::grants::parse;

    #[test]
    fn a_privilege_on_a_table_stays_beside_the_same_on_its_columns() {
        let grants = together([read("GRANT SELECT, INSERT, INSERT (a, b) ON s.t TO a@b")]);
        let inserts: Vec<_> = grants[0]
            .privileges
            .iter()
            .filter(|one| one.name == "INSERT")
            .map(|one| one.columns.len())
            .collect();
        assert_eq!(inserts, [2, 0]);
    }

    fn read(line: &str) -> Grant {
        parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}")).1
    }

    #[test]
    fn what_is_on_one_thing_becomes_one_grant() {
        let lines = [
            "GRANT USAGE ON *.* TO a@b",
            "GRANT SELECT (x) ON s.t TO a@b",
            "GRANT SELECT (b), INSERT ON s.t TO a@b",
        ];
        let grants = together(lines.map(read));
        assert_eq!(grants.len(), 1);
        assert_eq!(grants[0].privileges[1].columns, ["b", "x"]);
        assert_eq!(together([read("GRANT USAGE ON *.* TO a@b WITH GRANT OPTION")]).len(), 1);
    }
}
