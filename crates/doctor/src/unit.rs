//! The unit of systemd that a server's process belongs to, and the environment that its files set.
//!
//! Sources: systemd.unit(5) on drop-ins, systemd.exec(5) on Environment= and EnvironmentFile=.

use std::path::PathBuf;

use crate::evidence::{Evidence, Seen, Unseen};
use crate::secret::quoted;

/// Names of one service: each is an alias of the others in some package, and drop-ins of all of them count.
const ALIASES: [&str; 3] = ["mariadb", "mysql", "mysqld"];
/// Where units and their drop-ins lie, the ones that win first.
const FOLDERS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// The name of the service that a process belongs to, without its ending; none if systemd does not run it.
pub(crate) fn of_process(evidence: &Evidence, pid: u32) -> Seen<Option<String>> {
    let groups = evidence.text(format!("/proc/{pid}/cgroup"))?;
    let unit =
        |line: &str| line.rsplit('/').find_map(|part| part.strip_suffix(".service").map(str::to_owned));
    Ok(groups.lines().filter(|line| line.starts_with("0::") || line.contains("name=systemd")).find_map(unit))
}

/// The files that set a service, its drop-ins first.
fn files(evidence: &Evidence, unit: &str) -> Seen<Vec<PathBuf>> {
    // Of mysqld@one, the template is mysqld@.
    let name = unit.split_once('@').map_or_else(|| unit.to_owned(), |(name, _)| format!("{name}@"));
    let names = if ALIASES.contains(&unit) {
        ALIASES.map(str::to_owned).to_vec()
    } else {
        vec![unit.to_owned(), name]
    };
    let (mut drop_ins, mut units) = (Vec::new(), Vec::new());
    for folder in FOLDERS {
        for name in &names {
            units.push(PathBuf::from(format!("{folder}/{name}.service")));
            let folder = PathBuf::from(format!("{folder}/{name}.service.d"));
            match evidence.list(&folder) {
                Ok(files) => drop_ins.extend(
                    files.iter().filter(|file| file.ends_with(".conf")).map(|file| folder.join(file)),
                ),
                Err(Unseen::Missing) => {}
                Err(unseen) => return Err(unseen),
            }
        }
    }
    drop_ins.extend(units);
    Ok(drop_ins)
}

/// What a variable of the service's environment is set to, and where, as far as files tell.
pub(crate) fn variable(evidence: &Evidence, unit: &str, name: &str) -> Seen<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for file in files(evidence, unit)? {
        let text = match evidence.setting(&file, |text| Ok(of_unit(text, name))) {
            Err(Unseen::Missing) => continue,
            other => other?,
        };
        for line in text.lines().map(str::trim) {
            if let Some(value) = line.strip_prefix("Environment=").and_then(|line| assigned(line, name)) {
                found.push((file.clone(), value));
            } else if let Some(other) = line.strip_prefix("EnvironmentFile=") {
                let other = PathBuf::from(other.trim_start_matches('-').trim());
                let text =
                    evidence.setting(&other, |text| Ok(of_environment(text, name))).unwrap_or_default();
                found.extend(text.lines().find_map(|line| assigned(line, name)).map(|value| (other, value)));
            }
        }
    }
    Ok(found)
}

/// The lines of a unit that set a variable of this name or say where others are set.
fn of_unit(text: &str, name: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("EnvironmentFile=") {
            return Some(format!("{line}\n"));
        }
        let value = line.strip_prefix("Environment=").and_then(|line| assigned(line, name))?;
        Some(format!("Environment={}\n", quoted(&format!("{name}={value}"))))
    };
    text.lines().map(str::trim).filter_map(line).collect()
}

/// The same of a file that has nothing but variables.
fn of_environment(text: &str, name: &str) -> String {
    let values = text.lines().filter_map(|line| assigned(line, name));
    values.map(|value| format!("{name}={}\n", quoted(&value))).collect()
}

/// The value of `NAME=VALUE` among words that may be quoted.
fn assigned(line: &str, name: &str) -> Option<String> {
    if line.starts_with(['#', ';']) {
        return None;
    }
    let at = line.find(&format!("{name}="))?;
    let before = line[..at].chars().next_back();
    let value = line[at..].split_once('=')?.1;
    let quotes = |c: char| ['"', '\''].contains(&c);
    let quote = before.filter(|c| quotes(*c)).or_else(|| value.chars().next().filter(|c| quotes(*c)));
    let end = |c: char| quote.map_or_else(|| c.is_whitespace(), |quote| c == quote);
    let is_word = before.is_none_or(|c| c.is_whitespace() || quotes(c));
    is_word.then(|| {
        value.trim_start_matches(quotes).split(end).next().unwrap_or_default().trim_matches(quotes).to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_units() {
        let of = |line: &str| assigned(line, "LD_PRELOAD");
        assert_eq!(of("\"LD_PRELOAD=/a b.so\" X=1").as_deref(), Some("/a b.so"));
        assert_eq!(of("X=1 LD_PRELOAD=/a.so").as_deref(), Some("/a.so"));
        assert_eq!(of("LD_PRELOAD=\"/a.so\"").as_deref(), Some("/a.so"));
        assert_eq!(of("OLD_PRELOAD=/a.so"), None);
        assert_eq!(of("# LD_PRELOAD=/a.so"), None);
    }

    #[test]
    fn of_units_only_what_is_asked_for() {
        let unit = "# LD_PRELOAD=hunter2\n[Service]\nEnvironment=PASSWORD=hunter2 \"LD_PRELOAD=/a b.so\"\nEnvironmentFile=-/etc/x\n\
                    ExecStart=/x --password=hunter2";
        let kept = of_unit(unit, "LD_PRELOAD");
        assert_eq!(kept, "Environment=\"LD_PRELOAD=/a b.so\"\nEnvironmentFile=-/etc/x\n");
        assert_eq!(of_unit(&kept, "LD_PRELOAD"), kept);
        let kept = of_environment("PASSWORD=hunter2\nLD_PRELOAD='/a b.so' # hunter2\n", "LD_PRELOAD");
        assert_eq!(kept, "LD_PRELOAD=\"/a b.so\"\n");
        assert_eq!(of_environment(&kept, "LD_PRELOAD"), kept);
    }
}
