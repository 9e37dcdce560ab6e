//! Files that all processes of the host may have open.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "host.files",
    area: Area::Host,
    looks_for: "nearly as many open files on the host as the kernel allows",
    needs: "/proc/sys/fs/file-nr",
    source: "Documentation/admin-guide/sysctl/fs.rst on file-max and file-nr",
    refuted_by: "only processes with CAP_SYS_ADMIN open more: the limit is not theirs",
    look,
};

/// Shares of the limit.
const NEARLY: f64 = 0.8;
const ALL: f64 = 0.95;

fn look(facts: &Facts) -> Seen<Outcome> {
    let text = facts.evidence.text("/proc/sys/fs/file-nr")?;
    // Those in use, those that are kept for use (0 since Linux 2.6), and the limit.
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [used, _, most] = numbers[..] else {
        return Ok(Outcome::unknown(format!("/proc/sys/fs/file-nr holds {text:?}")));
    };
    let seen =
        format!("{} files are open of {} (/proc/sys/fs/file-nr)", show::count(used), show::count(most));
    let share = used as f64 / most.max(1) as f64;
    if share < NEARLY {
        return Ok(Outcome::fine(seen));
    }
    let set = |number: u64| format!("sysctl -w fs.file-max={number}");
    Ok(Outcome::found(
        Finding::observed(
            if share < ALL { Weight::Yellow } else { Weight::Red },
            "nearly all files are open that the kernel allows",
            "see which process holds them; allow more, here and in /etc/sysctl.d",
        )
        .seen(seen)
        .effect("at the limit no process can open a file or a connection")
        .shell(set(most.saturating_mul(2)), Some(set(most))),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    #[test]
    fn files_of_all_processes() {
        let of = |text| on_host(&CHECK, &[("proc/sys/fs/file-nr", text)]);
        assert_eq!(weights(&of("85000\t0\t100000\n")), [Weight::Yellow]);
        assert_eq!(weights(&of("99000\t0\t100000\n")), [Weight::Red]);
        assert!(is_fine(&of("920\t0\t9223372036854775807\n")));
        assert!(is_unknown(&of("many")));
        assert!(is_unknown(&on_host(&CHECK, &[])));
    }
}
