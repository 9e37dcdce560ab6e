//! What `drover bench` and `drover binlog cost` have measured, and whether it holds here.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::evidence::Evidence;
use crate::facts::Facts;
use crate::{Error, Result};

/// What was measured on the machine that is looked at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    /// The file that told it.
    pub(crate) file: String,
    /// When, in UTC, by RFC 3339.
    pub(crate) started_at: String,
    /// What `--json` printed.
    pub(crate) json: Value,
}

/// Adds what these files tell; of a directory, what its files with the ending `.json` tell that are results.
///
/// # Errors
/// If one cannot be read, or is named and holds no result.
pub(crate) fn add(evidence: &Evidence, paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        if path.is_dir() {
            for file in json_files(path)? {
                if let Some(result) = read(&file)? {
                    evidence.add_result(file.display().to_string(), result);
                }
            }
        } else {
            let result = read(path)?.ok_or_else(|| {
                let what = format!(
                    "{}: neither a result of `drover bench` nor of `drover binlog cost`",
                    path.display()
                );
                Error::with_hint(what, "both print one with --json")
            })?;
            evidence.add_result(path.display().to_string(), result);
        }
    }
    Ok(())
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::file(folder))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    Ok(files)
}

/// What a file tells, if it is a result.
fn read(file: &Path) -> Result<Option<Value>> {
    let text = fs::read_to_string(file).map_err(Error::file(file))?;
    let told: Option<Value> = serde_json::from_str(&text).ok();
    Ok(told.filter(|told| is_bench(told) || is_cost(told)))
}

fn is_bench(told: &Value) -> bool {
    told["bench"].is_string() && told["environment"].is_object()
}

fn is_cost(told: &Value) -> bool {
    told["cures"].is_array() && told["minutes"].is_object()
}

impl Facts {
    /// What a bench has measured on this machine, the latest first; and of each result of another machine, why it does not count.
    pub(crate) fn measured(&self, bench: &str) -> (Vec<Measured>, Vec<String>) {
        let (mut here, mut elsewhere) = (Vec::new(), Vec::new());
        for (file, json) in self.evidence.results() {
            if json["bench"] != bench {
                continue;
            }
            match self.is_of_this_machine(&json["environment"]) {
                Ok(()) => {
                    let started_at = json["started_at"].as_str().unwrap_or_default().to_owned();
                    here.push(Measured { file, started_at, json });
                }
                Err(why) => elsewhere.push(format!("{file} was measured on another machine: {why}")),
            }
        }
        here.sort_by(|a, b| b.started_at.cmp(&a.started_at));
        (here, elsewhere)
    }

    /// What `drover binlog cost` said.
    pub(crate) fn costs(&self) -> Vec<(String, Value)> {
        self.evidence.results().into_iter().filter(|(_, told)| is_cost(told)).collect()
    }

    /// Whether a result has this machine's processors, kernel and memory.
    fn is_of_this_machine(&self, environment: &Value) -> std::result::Result<(), String> {
        let text = |path: &str| self.evidence.text(path).map_err(|unseen| format!("{path}: {unseen}"));
        let same = |what: &str, there: &str, here: &str| match there == here {
            true => Ok(()),
            false => Err(format!("{what} {there}, here {here}")),
        };
        let told = |name: &str| environment[name].as_str().unwrap_or_default().to_owned();
        let cpus = text("/proc/cpuinfo")?;
        if let Some(cpu) = field(&cpus, "model name") {
            same("processor", &told("cpu"), &cpu)?;
        }
        let release = text("/proc/sys/kernel/osrelease")?;
        same("kernel", &told("kernel"), &format!("Linux {release}"))?;
        let memory = field(&text("/proc/meminfo")?, "MemTotal").unwrap_or_default();
        let kibibytes = memory.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
        let (there, here) = (environment["memory_bytes"].as_u64(), kibibytes.map(|number| number * 1024));
        same("memory in bytes", &format!("{there:?}"), &format!("{here:?}"))
    }
}

/// `NAME   : VALUE`, the first of that name.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        (known.trim() == name).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_result_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.json");
        fs::write(&file, "{}").unwrap();
        let evidence = Evidence::of(None, Err(String::new()), None, String::new()).unwrap();
        let error = add(&evidence, &[file]).unwrap_err().to_string();
        assert!(error.contains("a.json"), "{error}");
        // Of a directory, results are taken and others are not.
        fs::write(dir.path().join("b.json"), r#"{"bench": "malloc", "environment": {}}"#).unwrap();
        add(&evidence, &[dir.path().to_owned()]).unwrap();
        assert_eq!(evidence.results().len(), 1);
    }
}
