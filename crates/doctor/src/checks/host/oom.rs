//! Processes that the kernel killed for their memory.

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "host.oom",
    area: Area::Host,
    looks_for: "processes that the kernel killed as there was no memory left",
    needs: "oom_kill of /proc/vmstat (Linux 4.13), /proc/uptime",
    source: "the kernel's mm/oom_kill.c, which counts there what it kills; proc(5) on oom_score_adj",
    refuted_by: "all of them were in a control group with a limit of its own, as a container that was too small",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let text = facts.evidence.text("/proc/vmstat")?;
    let killed = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok());
    let killed = killed.ok_or(Unseen::Missing)?;
    let mut outcome = Outcome::default();
    let growth = facts.vmstat_growth("oom_kill");
    let seen = format!("/proc/vmstat: oom_kill is {killed}{}", since(facts));
    let advice = "`dmesg` or the journal tell which, as \"Killed process\"; give the server less memory, or the host more; \
                  OOMScoreAdjust of its unit says how likely it is the next";
    match &growth {
        Ok((rate, seconds)) if *rate > 0.0 => outcome.findings.push(
            Finding::observed(
                Weight::Red,
                "the kernel kills processes now, as there is no memory left",
                advice,
            )
            .seen(seen)
            .effect(format!("{:.0} in {seconds:.1} s", rate * seconds)),
        ),
        _ if killed > 0 => outcome.findings.push(
            Finding::observed(
                Weight::Yellow,
                "the kernel has killed processes, as there was no memory left",
                advice,
            )
            .seen(seen),
        ),
        Ok(_) => outcome.fine.push(seen),
        Err(unseen) => outcome.unknown.push(format!("whether it kills now: {unseen}")),
    }
    Ok(outcome)
}

/// For how long the kernel has counted.
fn since(facts: &Facts) -> String {
    let uptime = facts.evidence.text("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split_whitespace().next().and_then(|seconds| seconds.parse::<f64>().ok());
    seconds.map_or_else(String::new, |seconds| {
        format!(", since the host started {:.1} days ago", seconds / 86_400.0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::over_time;
    use super::*;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    #[test]
    fn processes_that_were_killed() {
        let of = |before, after| over_time(&CHECK, before, after, |_| {});
        assert_eq!(weights(&of("oom_kill 1", "oom_kill 2")), [Weight::Red]);
        assert_eq!(weights(&of("oom_kill 2", "oom_kill 2")), [Weight::Yellow]);
        assert!(is_fine(&of("oom_kill 0", "oom_kill 0")));
        assert_eq!(weights(&on_host(&CHECK, &[("proc/vmstat", "oom_kill 1")])), [Weight::Yellow]);
        assert!(is_unknown(&on_host(&CHECK, &[("proc/vmstat", "oom_kill 0")])));
        // Before Linux 4.13.
        assert!(is_unknown(&on_host(&CHECK, &[("proc/vmstat", "pswpin 0")])));
    }
}
