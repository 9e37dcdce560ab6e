//! On what a measurement was made: what has to be the same for two of them to be compared.

use std::fs;
use std::path::Path;

use drover_db::Connection;
use drover_host::Storage;
use drover_units::show;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The machine, and what of it was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The kernel's name and release.
    pub kernel: String,
    /// What the processors call themselves.
    pub cpu: String,
    /// How many of them this process may use.
    pub cores: u64,
    /// The machine's memory.
    pub memory_bytes: u64,
    /// When the kernel uses huge pages by itself: `always`, `madvise` or `never`.
    pub transparent_huge_pages: String,
    /// The hypervisor that says so, if any.
    pub hypervisor: bool,
    /// The C library that was measured with.
    pub libc: String,
    /// Where the files lay.
    pub storage: Vec<Storage>,
    /// The server that was measured.
    pub server: Option<ServerFacts>,
}

/// A server and those of its settings that measurements depend on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Its version.
    pub version: String,
    /// How it calls itself.
    pub comment: String,
    /// Whether it is this machine's: then it shares the processors with what measures.
    pub is_local: Option<bool>,
    /// Name and value of each setting.
    pub settings: Vec<(String, String)>,
}

/// Those that decide what a transaction, a connection or a page costs. Which of them a server has is found out.
const SETTINGS: [&str; 33] = [
    "autocommit",
    "binlog_format",
    "binlog_row_image",
    "character_set_server",
    "default_authentication_plugin",
    "authentication_policy",
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_file_size",
    "innodb_log_writer_threads",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_snapshot_isolation",
    "innodb_use_native_aio",
    "join_buffer_size",
    "log_bin",
    "max_connections",
    "performance_schema",
    "query_cache_type",
    "read_buffer_size",
    "sort_buffer_size",
    "sql_mode",
    "sync_binlog",
    "thread_cache_size",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
];

impl Environment {
    /// Of this machine, as it is now.
    pub fn of_machine() -> Self {
        let system = rustix::system::uname();
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        Self {
            kernel: format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
            cpu: field(&cpus, "model name")
                .unwrap_or_else(|| system.machine().to_string_lossy().into_owned()),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
            memory_bytes: field(&memory, "MemTotal").and_then(|text| kibibytes(&text)).unwrap_or(0),
            transparent_huge_pages: in_brackets(&huge).to_owned(),
            hypervisor: cpus.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor")),
            libc: libc_version(),
            storage: Vec::new(),
            server: None,
        }
    }

    /// With what lies at these paths.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn with_paths<'a>(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        self.storage = paths.into_iter().map(Storage::of).collect::<drover_host::Result<_>>()?;
        Ok(self)
    }

    /// With the server that a connection leads to.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub fn with_server(mut self, connection: &mut Connection, is_local: Option<bool>) -> Result<Self> {
        self.server = Some(ServerFacts::of(connection, is_local)?);
        Ok(self)
    }

    /// What is not the same in another one: name, here, there.
    pub fn differences(&self, other: &Self) -> Vec<(String, String, String)> {
        let (here, there) = (self.facts(), other.facts());
        let value = |facts: &[(String, String)], name: &str| {
            facts
                .iter()
                .find(|(known, _)| known == name)
                .map_or_else(|| "none".to_owned(), |(_, value)| value.clone())
        };
        let mut names: Vec<&String> = here.iter().map(|(name, _)| name).collect();
        names.extend(
            there.iter().map(|(name, _)| name).filter(|name| !here.iter().any(|(known, _)| known == *name)),
        );
        names
            .into_iter()
            .map(|name| (name.clone(), value(&here, name), value(&there, name)))
            .filter(|(_, here, there)| here != there)
            .collect()
    }

    /// All of it, as names and values for people.
    pub fn facts(&self) -> Vec<(String, String)> {
        let machine = if self.hypervisor { "virtual" } else { "of its own" };
        let mut facts: Vec<(String, String)> = [
            ("Kernel", self.kernel.clone()),
            ("Processors", format!("{} × {}", self.cores, self.cpu)),
            ("Machine", machine.to_owned()),
            ("Memory", show::bytes(self.memory_bytes)),
            ("Transparent huge pages", self.transparent_huge_pages.clone()),
            ("C library", self.libc.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (number, storage) in self.storage.iter().enumerate() {
            let of = if self.storage.len() == 1 { String::new() } else { format!(" {}", number + 1) };
            facts.push((format!("Path{of}"), storage.path.display().to_string()));
            facts.push((
                format!("File system{of}"),
                format!("{} ({})", storage.file_system, storage.mount_options),
            ));
            facts.push((format!("Devices{of}"), devices(storage)));
        }
        if let Some(server) = &self.server {
            let place = match server.is_local {
                Some(true) => ", on this machine",
                Some(false) => ", on another machine",
                None => "",
            };
            facts.push(("Server".to_owned(), format!("{} {}{place}", server.comment, server.version)));
            facts.extend(server.settings.iter().cloned());
        }
        facts
    }
}

impl ServerFacts {
    fn of(connection: &mut Connection, is_local: Option<bool>) -> Result<Self> {
        let doing = "reading the server's settings";
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let rows = connection
            .query(format!(
                "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names}, 'version', 'version_comment')"
            ))
            .map_err(Error::server(doing))?;
        let mut settings: Vec<_> = rows.rows.iter().map(|row| (row.string(0), row.string(1))).collect();
        let mut take = |name: &str| {
            let place = settings.iter().position(|(known, _)| known == name);
            place.map(|place| settings.remove(place).1).unwrap_or_default()
        };
        let (version, comment) = (take("version"), take("version_comment"));
        Ok(Self { version, comment, is_local, settings })
    }
}

fn devices(storage: &Storage) -> String {
    if storage.devices.is_empty() {
        return "none".to_owned();
    }
    let described = storage.devices.iter().map(|device| {
        let turning = if device.is_rotational { ", rotational" } else { "" };
        let scheduler = device.scheduler.as_deref().unwrap_or("none");
        format!("{} ({}{turning}, scheduler {scheduler})", device.name, show::bytes(device.bytes))
    });
    described.collect::<Vec<_>>().join(" on ")
}

/// The value of `name : value` or `name:  value`, at its first place.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `24576 kB`
fn kibibytes(text: &str) -> Option<u64> {
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// `always [madvise] never`
fn in_brackets(line: &str) -> &str {
    line.split_whitespace().find(|word| word.starts_with('[')).unwrap_or("unknown").trim_matches(['[', ']'])
}

#[cfg(target_env = "gnu")]
#[allow(
    unsafe_code,
    reason = "glibc tells its version by a function only, which takes nothing and returns a constant"
)]
fn libc_version() -> String {
    // SAFETY: the text is static, and ends with a zero byte (gnu_get_libc_version(3)).
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

#[cfg(not(target_env = "gnu"))]
fn libc_version() -> String {
    "not glibc".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let here = Environment::of_machine();
        assert!(
            here.kernel.starts_with("Linux") && here.cores > 0 && here.memory_bytes > 1 << 20,
            "{here:?}"
        );
        assert!(here.differences(&here).is_empty());
    }

    #[test]
    fn what_differs_is_named() {
        let settings = |value: &str| vec![("sync_binlog".to_owned(), value.to_owned())];
        let with = |settings| Environment {
            server: Some(ServerFacts { settings, ..ServerFacts::default() }),
            ..Environment::default()
        };
        let told = |name: &str, a: &str, b: &str| (name.to_owned(), a.to_owned(), b.to_owned());
        assert_eq!(with(settings("0")).differences(&with(settings("1"))), [told("sync_binlog", "0", "1")]);
        assert_eq!(with(settings("0")).differences(&with(Vec::new())), [told("sync_binlog", "0", "none")]);
        assert_eq!(with(Vec::new()).differences(&with(settings("1"))), [told("sync_binlog", "none", "1")]);
    }

    #[test]
    fn lines_of_the_kernel() {
        assert_eq!(in_brackets("always [madvise] never"), "madvise");
        assert_eq!(
            field("MemTotal:       16 kB\n", "MemTotal").and_then(|text| kibibytes(&text)),
            Some(16384)
        );
    }
}
