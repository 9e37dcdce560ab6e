//! An allocator that is asked for where nobody listens.

use std::path::PathBuf;

use crate::allocator::{Allocator, name_of};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::{option_files, unit};

pub(crate) const CHECK: Check = Check {
    rule: "memory.allocator",
    area: Area::Memory,
    looks_for: "an allocator that is asked for in a file, and is not the one that the server has loaded",
    needs: "/proc/PID/maps (root or the server's user) or version_malloc_library; option files; units of systemd and their drop-ins",
    source: "MySQL manual, mysqld_safe, and MariaDB documentation, systemd: under systemd that script is not used, and what \
             [mysqld_safe] sets has no effect; ld.so(8) on LD_PRELOAD",
    refuted_by: "the server has the allocator linked into it, which its libraries do not show",
    look,
};

/// Groups of option files that the script reads which starts servers without systemd.
const OF_THE_SCRIPT: [&str; 5] =
    ["mysqld_safe", "safe_mysqld", "mariadb_safe", "mariadbd-safe", "mysqld-safe"];

/// An allocator that a file asks for.
struct Wanted {
    file: PathBuf,
    line: String,
    library: String,
    /// Whether only mysqld_safe reads it.
    of_script: bool,
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let pid = facts.evidence.pid()?;
    let loaded = Allocator::of_server(facts)?;
    let unit = unit::of_process(&facts.evidence, pid)?;
    let parent = parent(facts, pid)?;
    let wanted = wanted(facts, pid, unit.as_deref())?;
    let mut outcome = Outcome::default();
    for one in &wanted {
        if name_of(&one.library) == loaded.name {
            outcome.fine.push(format!("{}: {}, which is loaded", one.file.display(), one.line));
        } else {
            outcome.findings.push(finding(facts, one, &loaded, unit.as_deref(), &parent));
        }
    }
    if wanted.is_empty() {
        outcome
            .fine
            .push(format!("{} is loaded ({}), and no file asks for another", loaded.name, loaded.seen));
    }
    Ok(outcome)
}

/// The name of the process that has started the server.
fn parent(facts: &Facts, pid: u32) -> Seen<String> {
    let status = facts.evidence.text(format!("/proc/{pid}/status"))?;
    let parent =
        status.lines().find_map(|line| line.strip_prefix("PPid:")).map(str::trim).unwrap_or_default();
    // The first process of a container has none.
    Ok(facts.evidence.text(format!("/proc/{parent}/comm")).unwrap_or_else(|_| "none".to_owned()))
}

fn wanted(facts: &Facts, pid: u32, unit: Option<&str>) -> Seen<Vec<Wanted>> {
    let command_line = facts.evidence.text(format!("/proc/{pid}/cmdline"))?;
    let settings = option_files::settings(&facts.evidence, &command_line)?;
    let mut of_script = settings
        .into_iter()
        .filter(|one| one.name == "malloc-lib" && OF_THE_SCRIPT.contains(&one.group.as_str()));
    // The last one wins; an empty one asks for none.
    let of_script = of_script.next_back().filter(|one| !one.value.is_empty()).map(|one| Wanted {
        line: format!("malloc-lib={} in [{}]", one.value, one.group),
        file: one.file,
        library: one.value,
        of_script: true,
    });
    let mut all: Vec<_> = of_script.into_iter().collect();
    let set = unit.map_or(Ok(Vec::new()), |unit| unit::variable(&facts.evidence, unit, "LD_PRELOAD"))?;
    let of_unit = set.into_iter().flat_map(|(file, value)| {
        let libraries: Vec<_> = value.split([':', ' ']).map(str::to_owned).collect();
        libraries.into_iter().filter(|library| library.contains("alloc")).map(move |library| Wanted {
            file: file.clone(),
            line: format!("LD_PRELOAD={library}"),
            library,
            of_script: false,
        })
    });
    all.extend(of_unit);
    Ok(all)
}

fn finding(facts: &Facts, wanted: &Wanted, loaded: &Allocator, unit: Option<&str>, parent: &str) -> Finding {
    let is_script = parent.contains("safe");
    let advice = match (wanted.of_script, is_script) {
        (true, false) => {
            "mysqld_safe alone reads that, and it did not start this server: have the unit set LD_PRELOAD, and start the server anew"
        }
        (true, true) => {
            "start the server anew; if it stays so, the library could not be loaded: its error log says why"
        }
        (false, _) => {
            "systemctl daemon-reload, and start the server anew; if it stays so, the library could not be loaded: the journal says why"
        }
    };
    let what = format!("{} does nothing: the server has {}", wanted.line, loaded.name);
    let mut finding = Finding::observed(Weight::Yellow, what, advice)
        .about(wanted.file.display().to_string())
        .seen(loaded.seen.clone())
        .seen(format!(
            "the server was started by {parent}{}",
            unit.map_or_else(String::new, |unit| format!(", unit {unit}.service"))
        ));
    if let (true, Some(unit), Some(library)) =
        (wanted.of_script && !is_script, unit, library(facts, &wanted.library))
    {
        let folder = format!("/etc/systemd/system/{unit}.service.d");
        let again = format!("systemctl daemon-reload && systemctl restart {unit}");
        finding = finding.shell(
            format!(
                "mkdir -p {folder} && printf '[Service]\\nEnvironment=\"LD_PRELOAD={library}\"\\n' > {folder}/drover-allocator.conf && {again}"
            ),
            Some(format!("rm {folder}/drover-allocator.conf && {again}")),
        );
    }
    finding
}

/// Where a library lies that may be given by its name alone; none if it is not there.
fn library(facts: &Facts, wanted: &str) -> Option<String> {
    const FOLDERS: [&str; 5] = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        "/usr/local/lib",
    ];
    if wanted.starts_with('/') {
        return facts.evidence.real(wanted).ok().map(|_| wanted.to_owned());
    }
    let begin = format!("lib{wanted}");
    FOLDERS.iter().find_map(|folder| {
        let names = facts.evidence.list(folder).ok()?;
        let fits = |name: &&String| name.starts_with(&begin) && name.contains(".so.");
        names.iter().filter(fits).min_by_key(|name| name.len()).map(|name| format!("{folder}/{name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_fine, is_unknown, on_host, weights, with_process};

    const MAPS: &str = "7f00-7f01 r--p 0 08:01 42 /usr/lib/libc.so.6";
    const WITH_JEMALLOC: &str =
        "7f00-7f01 r--p 0 08:01 42 /usr/lib/libc.so.6\n7f02-7f03 r--p 0 08:01 43 /usr/lib64/libjemalloc.so.2";
    const OPTIONS: (&str, &str) = ("etc/my.cnf", "[mysqld_safe]\nmalloc-lib=jemalloc\n");

    fn of(maps: &str, parent: &str, more: &[(&str, &str)]) -> Seen<Outcome> {
        let files = [
            ("proc/42/maps", maps),
            ("proc/42/status", "Name: mysqld\nPPid:\t1\n"),
            ("proc/1/comm", parent),
            ("proc/42/cgroup", "0::/system.slice/mysqld.service"),
            ("proc/42/cmdline", "/usr/sbin/mysqld\0"),
            ("usr/lib64/libjemalloc.so.2", ""),
        ];
        with_process(&CHECK, &[&files, more].concat())
    }

    #[test]
    fn an_option_that_nobody_reads() {
        let outcome = of(MAPS, "systemd", &[OPTIONS]);
        assert_eq!(weights(&outcome), [Weight::Yellow]);
        let finding = &outcome.unwrap().findings[0];
        let remedy = &finding.remedies[0];
        assert!(
            remedy.run.contains("/etc/systemd/system/mysqld.service.d/drover-allocator.conf"),
            "{remedy:?}"
        );
        assert!(remedy.run.contains("LD_PRELOAD=/usr/lib64/libjemalloc.so.2") && remedy.undo.is_some());
        assert!(finding.seen.iter().any(|seen| seen.contains("started by systemd")), "{finding:?}");
        // Under the script it is read, and another one is loaded all the same.
        let outcome = of(MAPS, "mysqld_safe", &[OPTIONS]).unwrap();
        assert!(outcome.findings[0].advice.contains("error log"));
    }

    #[test]
    fn a_drop_in_that_did_not_come_to_bear() {
        let drop_in = (
            "etc/systemd/system/mariadb.service.d/a.conf",
            "[Service]\nEnvironment=\"LD_PRELOAD=/usr/lib64/libjemalloc.so.2\"\n",
        );
        assert_eq!(weights(&of(MAPS, "systemd", &[drop_in])), [Weight::Yellow]);
        assert!(is_fine(&of(WITH_JEMALLOC, "systemd", &[drop_in])));
        let of_a_file = [
            ("usr/lib/systemd/system/mysqld.service", "[Service]\nEnvironmentFile=-/etc/sysconfig/mysql\n"),
            ("etc/sysconfig/mysql", "LD_PRELOAD=/usr/lib64/libjemalloc.so.2\n"),
        ];
        assert_eq!(weights(&of(MAPS, "systemd", &of_a_file)), [Weight::Yellow]);
    }

    #[test]
    fn nothing_asked_for_or_not_to_be_seen() {
        assert!(is_fine(&of(MAPS, "systemd", &[])));
        assert!(is_fine(&of(WITH_JEMALLOC, "mysqld_safe", &[OPTIONS])));
        let own = [OPTIONS, ("proc/42/cmdline", "/usr/sbin/mysqld\0--no-defaults\0")];
        assert!(is_fine(&of(MAPS, "bash", &own)));
        assert!(is_unknown(&on_host(&CHECK, &[OPTIONS])));
        assert!(is_unknown(&with_process(&CHECK, &[OPTIONS])));
    }
}
