//! A scheduler that is asked for where nobody listens any more.

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "scheduler.elevator",
    area: Area::Scheduler,
    looks_for: "elevator= on the kernel's command line, which kernels with blk-mq alone ignore",
    needs: "/proc/cmdline, /proc/sys/kernel/osrelease",
    source: "the kernel's block/elevator.c, which says so itself: the parameter does not have any effect anymore; the single-queue \
             block layer that heeded it is gone since 5.0",
    refuted_by: "the kernel is older than 5.0 and uses single-queue block devices: there the option counts",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let command_line = facts.evidence.text("/proc/cmdline")?;
    let asked = command_line.split_whitespace().find_map(|word| word.strip_prefix("elevator="));
    let Some(asked) = asked else { return Ok(Outcome::fine("no elevator= on the kernel's command line")) };
    let release = facts.evidence.text("/proc/sys/kernel/osrelease")?;
    let major = release.split('.').next().and_then(|major| major.parse::<u32>().ok());
    let Some(major) = major else {
        return Ok(Outcome::unknown(format!("which kernel {release} is")));
    };
    if major < 5 {
        return Ok(Outcome::fine(format!("elevator={asked}, which kernel {release} may still heed")));
    }
    let finding = Finding::observed(
        Weight::Yellow,
        format!("elevator={asked} does nothing on kernel {release}"),
        "take it from the boot loader\'s settings, and set schedulers by a rule of udev",
    );
    Ok(Outcome::found(finding.seen(format!("/proc/cmdline: elevator={asked}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    #[test]
    fn an_option_that_does_nothing() {
        let of = |line, release| {
            on_host(&CHECK, &[("proc/cmdline", line), ("proc/sys/kernel/osrelease", release)])
        };
        assert_eq!(
            weights(&of("root=/dev/sda1 elevator=deadline quiet", "6.1.0-18-amd64")),
            [Weight::Yellow]
        );
        assert!(is_fine(&of("root=/dev/sda1 quiet", "6.1.0-18-amd64")));
        assert!(is_fine(&of("elevator=cfq", "2.6.32-754.el6.x86_64")));
        assert!(is_unknown(&of("elevator=cfq", "unheard of")));
        assert!(is_unknown(&on_host(&CHECK, &[])));
    }
}
