//! A clock that nobody holds to the time, or that is slow to read.

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "host.clock",
    area: Area::Host,
    looks_for: "a clock that is not synchronized, or is read slowly",
    needs: "adjtimex(2); /sys/devices/system/clocksource/clocksource0",
    source: "adjtimex(2) on STA_UNSYNC and maxerror; the kernel's arch/x86/include/asm/vdso/clocksource.h: the clocks of \
             tsc, pvclock and Hyper-V only are read without a system call",
    refuted_by: "the machine is a guest whose clock the host holds to the time: then it is right, though its kernel does not know",
    look,
};

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
/// Clock sources that take a system call to be read; all but `jiffies` are devices besides.
const SLOW: [&str; 4] = ["hpet", "acpi_pm", "jiffies", "pit"];
/// Microseconds that a clock may be wrong by before anybody cares: Seconds_Behind_Source has whole seconds.
const WRONG: u64 = 500_000;

fn look(facts: &Facts) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    match facts.evidence.clock() {
        Ok(clock) if !clock.is_synchronized => outcome.findings.push(unsynchronized()),
        Ok(clock) if clock.max_error_us > WRONG => outcome.findings.push(uncertain(clock.max_error_us)),
        Ok(clock) => {
            outcome.fine.push(format!("synchronized, wrong by {} ms at most", clock.max_error_us / 1000))
        }
        Err(unseen) => outcome.unknown.push(format!("whether the clock is synchronized: {unseen}")),
    }
    match facts.evidence.text(format!("{FOLDER}/current_clocksource")) {
        Ok(source) if SLOW.contains(&source.as_str()) => outcome.findings.push(slow(facts, &source)),
        Ok(source) => outcome.fine.push(format!("the clock source is {source}")),
        Err(unseen) => outcome.unknown.push(format!("the clock source: {unseen}")),
    }
    Ok(outcome)
}

/// Of little weight, as a guest's kernel does not know whether its host is synchronized.
fn unsynchronized() -> Finding {
    Finding::observed(
        Weight::Note,
        "nothing on this machine holds its clock to the time",
        "run chrony or systemd-timesyncd; on a guest see that its host does",
    )
    .about("time")
    .seen("adjtimex(2): STA_UNSYNC is set")
    .effect("times in logs, NOW() and the lag of replicas are as wrong as the clock is")
}

fn uncertain(max_error_us: u64) -> Finding {
    Finding::observed(
        Weight::Note,
        "the clock may be wrong by more than half a second",
        "see whether chrony or systemd-timesyncd still reaches its sources",
    )
    .about("time")
    .seen(format!("adjtimex(2): maxerror is {:.1} s", max_error_us as f64 / 1e6))
}

fn slow(facts: &Facts, source: &str) -> Finding {
    let offered = facts.evidence.text(format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let finding = Finding::observed(
        Weight::Note,
        format!("the clock is read from {source}, which is slow"),
        "the kernel's log tells why tsc was not taken; another one may be wrong on this machine: see that it keeps the time",
    )
    .about("source")
    .seen(format!("{FOLDER}/current_clocksource: {source}; there are {offered}"))
    .effect("servers read the clock several times for each statement, each by a system call and a read of the device");
    let better = offered
        .split_whitespace()
        .find(|name| ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page"].contains(name));
    match better {
        Some(name) => {
            let set = |name: &str| format!("echo {name} > {FOLDER}/current_clocksource");
            finding.shell(set(name), Some(set(source)))
        }
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use drover_host::Clock;

    use super::super::testing::over_time;
    use super::*;
    use crate::Unseen;
    use crate::evidence::Kept;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    fn with(kept: &mut Kept, is_synchronized: bool, max_error_us: u64, source: &str) {
        kept.clock = Some(Ok(Clock { is_synchronized, max_error_us }));
        kept.files.insert(format!("{FOLDER}/current_clocksource").into(), Ok(source.to_owned()));
        kept.files
            .insert(format!("{FOLDER}/available_clocksource").into(), Ok("tsc hpet acpi_pm".to_owned()));
    }

    #[test]
    fn clocks() {
        let free = over_time(&CHECK, "", "", |kept| with(kept, false, 16_000_000, "hpet"));
        assert_eq!(weights(&free), [Weight::Note, Weight::Note]);
        assert_eq!(free.unwrap().findings[1].remedies.len(), 1);
        assert_eq!(
            weights(&over_time(&CHECK, "", "", |kept| with(kept, true, 900_000, "tsc"))),
            [Weight::Note]
        );
        assert!(is_fine(&over_time(&CHECK, "", "", |kept| with(kept, true, 9000, "tsc"))));
        assert!(is_unknown(&on_host(
            &CHECK,
            &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")]
        )));
        let denied = |kept: &mut Kept| kept.clock = Some(Err(Unseen::Denied("no".to_owned())));
        assert!(is_unknown(&over_time(&CHECK, "", "", denied)));
    }
}
