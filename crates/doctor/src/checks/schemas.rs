//! What several checks share that look at what is in schemas. Not a check.

use drover_db::grants::{Held, Scope};

use crate::facts::Facts;

/// Schemas that are the server's own, as a list of SQL.
pub(super) const OWN: &str = "('mysql', 'information_schema', 'performance_schema', 'sys', 'ndbinfo')";

/// What to say of things that may be there and are not seen, as the account does not have all of these privileges on all schemas:
/// information_schema has what an account has a privilege on, and nothing else. `None` if all is seen.
pub(super) fn hidden(facts: &Facts, needed: &[&str]) -> Option<String> {
    match facts.evidence.held() {
        Ok(held) => {
            let lacks = lacks(&held, needed);
            (!lacks.is_empty())
                .then(|| format!("what this account may not see: it has no {}", lacks.join(", no ")))
        }
        Err(unseen) => Some(format!("what this account may not see: {unseen}")),
    }
}

/// What it lacks, as in a GRANT. Schemas that partial revokes take out are named one by one, but for the server's own.
fn lacks(held: &Held, needed: &[&str]) -> Vec<String> {
    let missing: Vec<_> = needed.iter().copied().filter(|name| held.on_all(name).is_none()).collect();
    let on_all = (!missing.is_empty()).then(|| format!("{} ON {}", missing.join(", "), Scope::Global));
    let taken = needed.iter().flat_map(|name| {
        let schemas = held.on_all(name).unwrap_or_default().into_iter();
        let others = schemas.filter(|schema| !OWN.contains(&format!("'{schema}'")));
        others.map(move |schema| format!("{name} ON {}", Scope::Schema(schema.to_owned())))
    });
    on_all.into_iter().chain(taken).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking() {
        let lacking = |lines: &[&str], needed: &[&str]| {
            lacks(&Held::told(lines.iter().map(|line| line.as_bytes()), true), needed)
        };
        let all = "GRANT SELECT, EVENT ON *.* TO `u`@`%`";
        assert_eq!(lacking(&[all], &["SELECT", "EVENT"]), [""; 0]);
        assert_eq!(
            lacking(&["GRANT SELECT ON `a`.* TO `u`@`%`"], &["SELECT", "EVENT"]),
            ["SELECT, EVENT ON *.*"]
        );
        let secret = "REVOKE SELECT ON `se``cret`.* FROM `u`@`%`";
        assert_eq!(
            lacking(&[all, secret], &["SELECT", "EVENT", "TRIGGER"]),
            ["TRIGGER ON *.*", "SELECT ON `se``cret`.*"]
        );
        assert_eq!(lacking(&[all, "REVOKE SELECT ON `mysql`.* FROM `u`@`%`"], &["SELECT"]), [""; 0]);
    }
}
