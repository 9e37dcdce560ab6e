//! File systems of the server that are nearly full.

use std::collections::BTreeMap;
use std::path::PathBuf;

use drover_host::Space;
use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::places::{self, Place};

pub(crate) const CHECK: Check = Check {
    rule: "host.disk",
    area: Area::Host,
    looks_for: "file systems of the server's directories that are nearly full",
    needs: "the server's variables, and that it is reached by its socket; statvfs(3) on its directories; /proc/self/mountinfo",
    source: "MySQL manual, How MySQL Handles a Full Disk; statvfs(3)",
    refuted_by: "nothing grows there: what lies on it has its final size",
    look,
};

/// What lies on a mount, and how full it is.
type Mounts = BTreeMap<PathBuf, (Vec<&'static str>, Space)>;

fn look(facts: &Facts) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    for (point, (uses, space)) in mounts(facts, &mut outcome.unknown)? {
        let seen = format!(
            "{} ({}): {} of {} are free",
            point.display(),
            uses.join(", "),
            show::bytes(space.free),
            show::bytes(space.bytes)
        );
        match places::lack(space) {
            Some(weight) => outcome.findings.push(finding(&point, &uses, weight).seen(seen)),
            None => outcome.fine.push(seen),
        }
    }
    Ok(outcome)
}

/// All that can be seen; why others cannot is added to `unknown`.
fn mounts(facts: &Facts, unknown: &mut Vec<String>) -> Seen<Mounts> {
    let text = facts.evidence.text("/proc/self/mountinfo")?;
    let mut mounts = Mounts::new();
    for Place { of, folder } in places::places(facts)? {
        match facts.evidence.space(&folder) {
            Ok(space) => {
                let real = facts.evidence.real(&folder).unwrap_or_else(|_| folder.clone());
                let point = places::mount_of(&text, &real).ok_or(Unseen::Missing)?;
                let uses = &mut mounts.entry(point).or_insert((Vec::new(), space)).0;
                if !uses.contains(&of) {
                    uses.push(of);
                }
            }
            Err(unseen) => unknown.push(format!("{} ({of}): {unseen}", folder.display())),
        }
    }
    Ok(mounts)
}

fn finding(point: &std::path::Path, uses: &[&str], weight: Weight) -> Finding {
    Finding::observed(
        weight,
        format!("{} is nearly full, where the server has its {}", point.display(), uses.join(", ")),
        "make room before it is full, but never remove the server's files by hand: binary logs by PURGE BINARY LOGS, tables by DROP",
    )
    .about(point.display().to_string())
    .effect("when it is full statements fail or wait, and the server may end")
}
