//! Putting together what the lines of SHOW GRANTS say of one thing.

use std::collections::BTreeMap;

use drover_db::grants::{Grant, Privilege, Scope};

/// One grant for each thing, sorted, without those that give nothing.
pub(crate) fn together(grants: impl IntoIterator<Item = Grant>) -> Vec<Grant> {
    let mut all: BTreeMap<(Scope, bool, bool), BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for grant in grants {
        let privileges = all.entry((grant.on, grant.revoked, grant.grant_option)).or_default();
        for privilege in grant.privileges {
            privileges.entry(privilege.name).or_default().extend(privilege.columns);
        }
    }
    let grant = |((on, revoked, grant_option), mut privileges): ((Scope, bool, bool), BTreeMap<_, _>)| {
        if privileges.len() > 1 {
            privileges.remove("USAGE");
        }
        let privilege = |(name, mut columns): (String, Vec<String>)| {
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
