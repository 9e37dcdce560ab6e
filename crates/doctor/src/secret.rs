//! What nobody should read in a report or a bundle, though a file or a variable holds it.
//!
//! Of files of settings each reader keeps what it reads (see `Evidence::setting`), so nothing has to be known here of what may be secret
//! in them.

use std::path::Path;

/// What stands in its place.
pub(crate) const HIDDEN: &str = "(hidden)";

/// Parts of the names of variables and columns that are secret.
const NAMES: [&str; 9] =
    ["passw", "passphrase", "pwd", "secret", "token", "credential", "sst_auth", "private", "filekey"];
/// Variables whose text may hold anything, passwords among it.
const TEXTS: [&str; 3] = ["init_connect", "init_slave", "wsrep_provider_options"];

/// Whether a variable or a column of this name is secret. What the name of a password's plugin or policy is called tells no password,
/// but nobody misses it.
pub(crate) fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part)) || TEXTS.contains(&name.as_str())
}

/// A value in quotes, as files of settings have it: one that ends at a quote holds no such quote.
pub(crate) fn quoted(value: &str) -> String {
    let quote = if value.contains('"') { '\'' } else { '"' };
    format!("{quote}{value}{quote}")
}

/// What the kernel tells in a file below /proc or /sys: of a command line and an environment what is looked at, as anything else there
/// may be a secret. `None` for a file of somebody else's.
pub(crate) fn of_kernel(file: &Path, text: String) -> Option<String> {
    if file == Path::new(BOOT) {
        let words =
            text.split_whitespace().filter(|word| OF_BOOT.iter().any(|known| word.starts_with(known)));
        return Some(words.collect::<Vec<_>>().join(" "));
    }
    let is_kernels = file.starts_with("/proc") || file.starts_with("/sys");
    is_kernels.then(|| of_process(file, &text).unwrap_or(text))
}

/// The kernel's own command line.
const BOOT: &str = "/proc/cmdline";
/// What is kept of it: words that begin so.
const OF_BOOT: [&str; 2] = ["elevator=", "bonding."];

/// What may be kept of a process's environment and command line: names that begin so.
const OF_PROCESSES: [&str; 8] = [
    "LD_PRELOAD=",
    "GLIBC_TUNABLES=",
    "MALLOC_",
    "MIMALLOC_",
    "TCMALLOC_",
    "JE_MALLOC_",
    "--defaults-",
    "--no-defaults",
];

/// Of a file of a process, /proc/PID/environ or /proc/PID/cmdline, what is looked at; anything else there may be a secret.
fn of_process(file: &Path, text: &str) -> Option<String> {
    let mut parts = file.strip_prefix("/proc").ok()?.iter();
    parts.next()?.to_str()?.parse::<u32>().ok()?;
    if !["environ", "cmdline"].iter().any(|name| file.ends_with(name)) {
        return None;
    }
    let words = text.split('\0').filter(|word| OF_PROCESSES.iter().any(|known| word.starts_with(known)));
    Some(words.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in
            ["wsrep_sst_auth", "report_password", "authentication_ldap_simple_bind_root_pwd", "init_connect"]
        {
            assert!(is_named(name), "{name}");
        }
        assert!(!is_named("datadir") && !is_named("init_connects"));
    }

    #[test]
    fn of_the_kernels_command_line_only_what_is_looked_at() {
        let line = "root=/dev/sda1 rd.luks.key=/k systemd.set_credential=a:hunter2 elevator=deadline bonding.mode=4 quiet";
        let kept = of_kernel(Path::new("/proc/cmdline"), line.into());
        assert_eq!(kept.unwrap(), "elevator=deadline bonding.mode=4");
        assert_eq!(of_kernel(Path::new("/sys/a"), "b".into()).unwrap(), "b");
        assert_eq!(of_kernel(Path::new("/etc/shadow"), "root:hash".into()), None);
    }

    #[test]
    fn of_a_process_only_what_is_looked_at() {
        let environment = "PATH=/bin\0MYSQL_PWD=a\0LD_PRELOAD=/usr/lib/libjemalloc.so.2\0";
        let of = |path: &str, text: &str| of_process(Path::new(path), text);
        assert_eq!(of("/proc/7/environ", environment).unwrap(), "LD_PRELOAD=/usr/lib/libjemalloc.so.2");
        assert_eq!(of("/proc/7/cmdline", "mysqld\0--no-defaults\0--user=x").unwrap(), "--no-defaults");
        assert_eq!(of("/proc/7/status", "Name: mysqld"), None);
    }
}
