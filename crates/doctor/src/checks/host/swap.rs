//! Memory that is moved to disk and back while the server works.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "host.swap",
    area: Area::Host,
    looks_for: "memory that is moved to disk and back",
    needs: "/proc/vmstat; /proc/PID/status and /proc/swaps for what of the server lies there",
    source: "vmstat(8) on si and so, which /proc/vmstat counts as pswpin and pswpout; proc(5) on VmSwap in /proc/PID/status, \
             which is not exact",
    refuted_by: "no page is brought back while the server is at work: what lies there is not needed",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let (read, seconds) = facts.vmstat_growth("pswpin")?;
    let (written, _) = facts.vmstat_growth("pswpout")?;
    let most = facts.evidence.text("/proc/swaps").map_or(u64::MAX, |swaps| in_use(&swaps));
    let of_server = match most {
        0 => Ok(0),
        most => facts.evidence.pid().and_then(|pid| swapped(facts, pid, most)),
    };
    let mut seen = vec![format!("{read:.0} pages a second read, {written:.0} written, over {seconds:.1} s")];
    match &of_server {
        _ if most == 0 => seen.push("nothing lies in swap".to_owned()),
        Ok(bytes) => seen.push(format!("{} of the server lie in swap", show::bytes(*bytes))),
        Err(_) => {}
    }
    let unknown =
        of_server.as_ref().err().map(|unseen| format!("whether parts of a server lie in swap: {unseen}"));
    if read < 1.0 && of_server.unwrap_or(0) == 0 {
        let unknown = unknown.into_iter().collect();
        return Ok(Outcome { unknown, ..Outcome::fine(seen.join("; ")) });
    }
    let weight = if read >= 1.0 { Weight::Red } else { Weight::Note };
    let what = if read >= 1.0 { "memory is read back from swap" } else { "part of the server lies in swap" };
    let advice = "give the server less memory, or the host more; a process that reads back its memory waits for the disk each time";
    let mut finding = Finding::observed(weight, what, advice);
    finding.seen = seen;
    if read >= 1.0 {
        finding = finding.effect(format!("{} a second from the disk", show::bytes((read * PAGE) as u64)));
    }
    Ok(Outcome::found(finding))
}

/// Of x86-64; where pages are larger the effect is more than told.
const PAGE: f64 = 4096.0;

/// Bytes of a process that lie in swap. The kernel counts them by thread, and some pages late (mm/memory.c of Linux 6.1), so that some
/// are told when there are none any more: it is never more than `most`, the KiB that are in use of all swap.
fn swapped(facts: &Facts, pid: u32, most: u64) -> Seen<u64> {
    let status = facts.evidence.text(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSwap:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kibibytes.unwrap_or(0).min(most) * 1024)
}

/// What is in use of all swap, in KiB: the last column but one, `Used`.
fn in_use(swaps: &str) -> u64 {
    let used = |line: &str| line.split_whitespace().rev().nth(1)?.parse::<u64>().ok();
    swaps.lines().skip(1).filter_map(used).sum()
}

#[cfg(test)]
mod tests {
    use super::super::testing::over_time;
    use super::*;
    use crate::evidence::Kept;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    /// A server that is told to have 12 kB in swap, and the lines of /proc/swaps.
    fn swapped_out(kept: &mut Kept, swaps: Option<&str>) {
        kept.pid = Some(17);
        kept.files.insert("/proc/17/status".into(), Ok("VmRSS:\t900 kB\nVmSwap:\t 12 kB".to_owned()));
        if let Some(lines) = swaps {
            let text = format!("Filename\tType\tSize\tUsed\tPriority\n{lines}");
            kept.files.insert("/proc/swaps".into(), Ok(text));
        }
    }

    #[test]
    fn memory_that_comes_back_from_disk() {
        let busy = over_time(&CHECK, "pswpin 1000\npswpout 5", "pswpin 6000\npswpout 5", |_| {});
        assert_eq!(weights(&busy), [Weight::Red]);
        let effect = busy.unwrap().findings[0].effect.clone();
        assert_eq!(effect.as_deref(), Some("4.10 MB a second from the disk"));
        let calm = "pswpin 1000\npswpout 5";
        assert_eq!(weights(&over_time(&CHECK, calm, calm, |kept| swapped_out(kept, None))), [Weight::Note]);
        let used = over_time(&CHECK, calm, calm, |kept| {
            swapped_out(kept, Some("/dev/vdb partition 524284 40960 -2"))
        });
        assert_eq!(weights(&used), [Weight::Note]);
        // The swap is gone, or was emptied: what VmSwap has left was counted late.
        assert!(is_fine(&over_time(&CHECK, calm, calm, |kept| swapped_out(kept, Some("")))));
        assert!(is_fine(&over_time(&CHECK, calm, calm, |kept| {
            swapped_out(kept, Some("/dev/vdb partition 524284 0 -2"));
        })));
        // Nobody knows the server's process, or what lies in swap.
        assert!(!is_fine(&over_time(&CHECK, calm, calm, |_| {})));
        assert!(is_fine(&over_time(&CHECK, calm, calm, |kept| {
            swapped_out(kept, Some(""));
            kept.pid = None;
        })));
        // A copy of a host does not change; a kernel without swap has no such numbers.
        assert!(is_unknown(&on_host(&CHECK, &[("proc/vmstat", calm)])));
        assert!(is_unknown(&over_time(&CHECK, "nr_free_pages 1", "nr_free_pages 1", |_| {})));
    }
}
