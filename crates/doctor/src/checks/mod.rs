//! All checks, one file each, in a folder for each area.

mod binlog;
mod bonding;
mod host;
mod memory;
mod scheduler;
mod schemas;
mod server;
mod upgrade;

use crate::check::Check;

/// All of them, in the order of areas.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    let areas = [
        scheduler::CHECKS,
        memory::CHECKS,
        bonding::CHECKS,
        binlog::CHECKS,
        upgrade::CHECKS,
        server::CHECKS,
        host::CHECKS,
    ];
    areas.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;

    #[test]
    fn the_documentation_names_each_rule() {
        let text = include_str!("../../../../docs/doctor.md");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        let told: BTreeSet<_> = rows.collect();
        let rules: BTreeSet<_> = all().map(|check| check.rule).collect();
        assert_eq!(told, rules);
        assert!(
            all().all(|check| ![check.looks_for, check.needs, check.source, check.refuted_by].contains(&""))
        );
    }
}
