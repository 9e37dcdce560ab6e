//! Huge pages that the kernel makes by itself, below an allocator that gives memory back in smaller ones.

use drover_units::show;

use crate::allocator::Allocator;
use crate::check::{Area, Check, Finding, Outcome};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::memory::kibibytes;

pub(crate) const CHECK: Check = Check {
    rule: "memory.thp",
    area: Area::Memory,
    looks_for: "huge pages by default, with an allocator that gives memory back in small ones: the server may take more than it uses",
    needs: "/sys/kernel/mm/transparent_hugepage; /proc/PID/maps and /proc/PID/smaps_rollup (root or the server's user)",
    source: "Documentation/admin-guide/mm/transhuge.rst of the kernel: with always, programs may take more memory, and khugepaged \
             more still by max_ptes_none; jemalloc(3) on opt.thp",
    refuted_by: "the server's resident memory does not shrink when it is started anew with the setting madvise",
    look,
};

/// There wherever /sys is.
const KERNEL: &str = "/sys/kernel/mm";
const FOLDER: &str = "/sys/kernel/mm/transparent_hugepage";

fn look(facts: &Facts) -> Seen<Outcome> {
    let setting = match facts.evidence.text(format!("{FOLDER}/enabled")) {
        // Where /sys is not mounted, as in some containers, nobody knows.
        Err(Unseen::Missing) => {
            facts.evidence.list(KERNEL)?;
            return Ok(Outcome::not_here("this kernel has no transparent huge pages"));
        }
        other => other?,
    };
    let in_use = setting.split(['[', ']']).nth(1).unwrap_or(&setting).to_owned();
    if in_use != "always" {
        return Ok(Outcome::fine(format!("{FOLDER}/enabled: {in_use}")));
    }
    let pid = facts.evidence.pid()?;
    let status = facts.evidence.text(format!("/proc/{pid}/status"))?;
    // prctl(2), PR_SET_THP_DISABLE.
    if status.lines().any(|line| line.split_whitespace().eq(["THP_enabled:", "0"])) {
        return Ok(Outcome::fine("huge pages are switched off for the server's process (THP_enabled: 0)"));
    }
    let allocator = Allocator::of_server(facts)?;
    let amount = amount(facts, pid);
    let seen = match &amount {
        Ok(text) => text.clone(),
        Err(unseen) => format!("how much of the server lies in huge pages is not known: {unseen}"),
    };
    if !["jemalloc", "tcmalloc"].contains(&allocator.name.as_str()) {
        return Ok(Outcome::fine(format!("{in_use}, with {}; {seen}", allocator.name)));
    }
    let mut finding = Finding::rule_only(
        format!("huge pages are made by default, and the server has {}", allocator.name),
        "if the server takes more and more memory, leave huge pages to those that ask for them, and start it anew",
    )
    .seen(format!("{FOLDER}/enabled: {setting}"))
    .seen(allocator.seen)
    .seen(seen);
    if let Ok(most) = facts.evidence.text(format!("{FOLDER}/khugepaged/max_ptes_none")) {
        finding = finding.seen(format!(
            "khugepaged makes a huge page also where as many as {most} small pages of it are not in use (max_ptes_none)"
        ));
    }
    let set = |to: &str| format!("echo {to} > {FOLDER}/enabled");
    Ok(Outcome::found(finding.shell(set("madvise"), Some(set("always")))))
}

/// How much of the server lies in huge pages.
fn amount(facts: &Facts, pid: u32) -> Seen<String> {
    let file = format!("/proc/{pid}/smaps_rollup");
    let text = facts.evidence.text(&file)?;
    let (huge, all) = (kibibytes(&text, "AnonHugePages")?, kibibytes(&text, "Rss")?);
    Ok(format!("{file}: {} of {} lie in huge pages", show::bytes(huge), show::bytes(all)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Weight;
    use crate::testing::{is_fine, is_unknown, on_host, weights, with_process};

    const ALWAYS: (&str, &str) = ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
    const STATUS: (&str, &str) = ("proc/42/status", "Name: mysqld\nTHP_enabled:\t1\n");
    const ROLLUP: (&str, &str) = ("proc/42/smaps_rollup", "Rss:     2048 kB\nAnonHugePages:    1024 kB\n");
    const JEMALLOC: (&str, &str) = ("proc/42/maps", "7f00-7f01 r--p 0 08:01 42 /usr/lib/libjemalloc.so.2");
    const GLIBC: (&str, &str) = ("proc/42/maps", "7f00-7f01 r--p 0 08:01 42 /usr/lib/libc.so.6");

    #[test]
    fn memory_that_does_not_shrink() {
        let outcome = with_process(&CHECK, &[ALWAYS, STATUS, ROLLUP, JEMALLOC]);
        assert_eq!(weights(&outcome), [Weight::Note]);
        assert!(outcome.unwrap().findings[0].seen.iter().any(|seen| seen.contains("1.05 MB of 2.10 MB")));
        assert!(is_fine(&with_process(&CHECK, &[ALWAYS, STATUS, ROLLUP, GLIBC])));
        let off = ("proc/42/status", "THP_enabled:\t0\n");
        assert!(is_fine(&with_process(&CHECK, &[ALWAYS, off, JEMALLOC])));
        let madvise = (ALWAYS.0, "always [madvise] never");
        assert!(is_fine(&on_host(&CHECK, &[madvise])));
        // Where nobody may look at the process, it is not known which allocator that is.
        assert!(is_unknown(&with_process(&CHECK, &[ALWAYS, STATUS])));
        assert!(is_unknown(&on_host(&CHECK, &[ALWAYS])));
        let others = ("sys/kernel/mm/ksm/run", "0");
        assert!(on_host(&CHECK, &[others]).unwrap().not_here.is_some());
        assert!(is_unknown(&on_host(&CHECK, &[])));
    }
}
