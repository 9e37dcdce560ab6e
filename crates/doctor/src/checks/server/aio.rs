//! Whether InnoDB's requests to the disk are asynchronous in the way that was asked for.

use drover_db::Vendor;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.aio",
    area: Area::Server,
    looks_for: "InnoDB without native asynchronous I/O, by a setting or because it could not have it",
    needs: "innodb_use_native_aio and where its value is from (information_schema.SYSTEM_VARIABLES on MariaDB, \
            performance_schema.variables_info on MySQL); /proc/PID/maps (the server's user, or root)",
    source: "MariaDB's MDEV-36234: innodb_linux_aio=auto takes io_uring, and libaio where there is none; MDEV-26674 on \
             kernels; MySQL manual, Using Asynchronous I/O on Linux; Documentation/admin-guide/sysctl/kernel.rst on \
             io_uring_disabled, fs.rst on aio-max-nr",
    refuted_by: "`drover bench disk` and `drover bench tpcc` are as fast without as with it",
    look,
};

const NAME: &str = "innodb_use_native_aio";
/// Mappings of the rings that the kernel shares with a process.
const IO_URING: &str = "anon_inode:[io_uring]";
const LIBAIO: &str = "/[aio]";
/// The library of a server that was built for io_uring.
const LIBURING: &str = "/liburing";

fn look(facts: &Facts) -> Seen<Outcome> {
    let origin = origin(facts);
    if !facts.is_on(NAME)? {
        return off(facts, origin);
    }
    let pid = facts.evidence.pid()?;
    let maps = facts.evidence.text(format!("/proc/{pid}/maps"))?;
    let asked = facts.variable("innodb_linux_aio").ok();
    Ok(match used(&maps) {
        Some(used) => match (used, asked.as_deref()) {
            (LIBAIO, Some("auto" | "io_uring")) if maps.contains(LIBURING) => Outcome::found(fallback(facts)),
            _ => Outcome::fine(format!("{NAME} is ON, and the server has mapped {used}")),
        },
        None => Outcome::found(
            Finding::observed(
                Weight::Yellow,
                "InnoDB says that it uses native asynchronous I/O, but does not",
                "the server's error log tells why, in its first lines",
            )
            .seen(format!("{NAME} is ON; /proc/{pid}/maps has neither {IO_URING} nor {LIBAIO}"))
            .effect("each request takes a thread of the server, which waits for it"),
        ),
    })
}

fn used(maps: &str) -> Option<&'static str> {
    [IO_URING, LIBAIO].into_iter().find(|ring| maps.contains(ring))
}

/// What a variable's value is from: the program itself, or a file or the command line.
enum Origin {
    Program,
    Person,
}

fn origin(facts: &Facts) -> Seen<Origin> {
    let query = match facts.vendor()? {
        Vendor::MariaDb => {
            "SELECT GLOBAL_VALUE_ORIGIN AS origin FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = \
             'INNODB_USE_NATIVE_AIO'"
        }
        Vendor::MySql => {
            "SELECT VARIABLE_SOURCE AS origin FROM performance_schema.variables_info WHERE VARIABLE_NAME = \
             'innodb_use_native_aio'"
        }
    };
    match facts.ask(query)?.first("origin") {
        Some("COMPILE-TIME" | "COMPILED" | "AUTO") => Ok(Origin::Program),
        Some(_) => Ok(Origin::Person),
        None => Err(Unseen::Missing),
    }
}

fn off(facts: &Facts, origin: Seen<Origin>) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    let finding = match origin {
        Ok(Origin::Program) => Finding::observed(
            Weight::Yellow,
            "InnoDB could not have native asynchronous I/O",
            "the server's error log tells why, in its first lines; old kernels (5.11 to 5.15.2) have an io_uring that MariaDB avoids",
        ),
        _ => Finding::observed(
            Weight::Note,
            "InnoDB is told to do without native asynchronous I/O",
            "measure it before it is changed, if nobody knows any more why it was set",
        )
        .measure("drover bench tpcc run --data DIRECTORY, once with each setting"),
    };
    if let Err(unseen) = origin {
        outcome.unknown.push(format!("where the value is from: {unseen}"));
    }
    let finding = finding
        .seen(format!("{NAME} is OFF"))
        .effect("each request takes a thread of the server, which waits for it");
    outcome.findings.push(limits(facts, finding));
    Ok(outcome)
}

/// MariaDB without io_uring takes what was there before.
fn fallback(facts: &Facts) -> Finding {
    let finding = Finding::observed(
        Weight::Note,
        "InnoDB could not have io_uring, and uses libaio",
        "the server's error log tells why, in its first lines; in containers io_uring is often forbidden",
    );
    limits(
        facts,
        finding.seen(format!("/proc/PID/maps has {LIBAIO}, and innodb_linux_aio would take {IO_URING}")),
    )
}

/// What of the kernel may be why.
fn limits(facts: &Facts, mut finding: Finding) -> Finding {
    if facts.evidence.pid().is_err() {
        return finding;
    }
    for path in ["/proc/sys/kernel/io_uring_disabled", "/proc/sys/fs/aio-nr", "/proc/sys/fs/aio-max-nr"] {
        if let Ok(value) = facts.evidence.text(path) {
            finding = finding.seen(format!("{path}: {value}"));
        }
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_of_a_process() {
        assert_eq!(used("7f00-7f01 rw-s 00000000 00:0e 1042 anon_inode:[io_uring]"), Some(IO_URING));
        assert_eq!(used("7f00-7f01 rw-s 00000000 00:0d 3 /[aio] (deleted)"), Some(LIBAIO));
        assert_eq!(used("7f00-7f01 r-xp 00000000 08:01 3 /usr/sbin/mariadbd"), None);
    }
}
