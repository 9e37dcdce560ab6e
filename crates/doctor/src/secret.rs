//! What nobody should read in a report or a bundle, though a setting holds it.

use std::path::Path;

/// What stands in its place.
pub(crate) const HIDDEN: &str = "(hidden)";

/// Parts of the names of what is secret: of variables, and of keys in files of settings.
const NAMES: [&str; 9] =
    ["passw", "passphrase", "psk", "secret", "token", "sst_auth", "sst-auth", "private", "wep-key"];

/// Whether something of this name is secret. What the name of a password's plugin or policy is called tells no password, but nobody
/// misses it.
pub(crate) fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// A file of settings, `NAME=VALUE` or `NAME: VALUE` in each line, without the values of what is secret.
pub(crate) fn hide(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(['=', ':']) {
        // What stands before the sign is kept with its white space, which counts in YAML.
        Some((name, value)) if is_named(name) && !value.trim().is_empty() => {
            format!("{name}{}{HIDDEN}", &line[name.len()..=name.len()])
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

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
pub(crate) fn of_process(file: &Path, text: &str) -> Option<String> {
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
    fn passwords_in_files() {
        let text = "[client]\nuser = root\npassword = \"a b\"\n  psk: x\nkey-mgmt=wpa-psk\nport=1";
        let hidden = "[client]\nuser = root\npassword =(hidden)\n  psk:(hidden)\nkey-mgmt=wpa-psk\nport=1";
        assert_eq!(hide(text), hidden);
        assert!(is_named("wsrep_sst_auth") && is_named("report_password") && !is_named("datadir"));
    }

    #[test]
    fn of_a_process_only_what_is_looked_at() {
        let environment = "PATH=/bin\0MYSQL_PWD=a\0LD_PRELOAD=/usr/lib/libjemalloc.so.2\0";
        let of = |path: &str, text: &str| of_process(Path::new(path), text);
        assert_eq!(of("/proc/7/environ", environment).unwrap(), "LD_PRELOAD=/usr/lib/libjemalloc.so.2");
        assert_eq!(of("/proc/7/cmdline", "mysqld\0--no-defaults\0--user=x").unwrap(), "--no-defaults");
        assert_eq!(of("/proc/cmdline", "root=/dev/sda1"), None);
        assert_eq!(of("/proc/7/status", "Name: mysqld"), None);
    }
}
