//! The folders of `tests/cases`, each dumped and restored: see the README there. All folders make one test per vendor,
//! which runs them side by side and reports every failure; `DROVER_TEST_CASES` may name those to run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, try_sql};
use crate::compare;
use crate::drover::{Output, dump, restore, run};
use crate::servers::{is_wanted, on_both, source, start_mariadb_11, start_unsynced, target};

const AT_ONCE: usize = 3;

on_both!(every_case, every_case_without_files);

fn every_case(flavour: Flavour) {
    let [source, target] = [source(flavour), target(flavour)];
    assert_all(&Case::all(flavour), |case| case.run(source, target));
}

/// A server as MySQL's vendor ships it takes no files from its clients: rows come as statements.
fn every_case_without_files(flavour: Flavour) {
    let options = ["--max-connections=400", "--local-infile=OFF"];
    let (source, target) = (start_unsynced(flavour, &options), start_unsynced(flavour, &options));
    assert_all(&Case::all(flavour), |case| case.run(&source, &target));
}

/// An upgrade of MariaDB. What 11.8 prints otherwise stands in the folder's `mariadb-11.expected`, with what 10.11 printed;
/// everything else has to be the same. `DROVER_TEST_BLESS=1` writes these files anew.
#[test]
fn every_case_to_mariadb_11() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let options = ["--max-connections=400", "--local-infile=ON"];
    // Both are private: the shared servers have the same cases at work.
    let (source, target) = (start_unsynced(Flavour::MariaDb, &options), start_mariadb_11(&options));
    assert_all(&Case::all(Flavour::MariaDb), |case| upgraded(case, &source, &target));
}

fn upgraded(case: &Case, source: &Server, target: &Server) -> Result<(), String> {
    let found = case.run(source, target).err().unwrap_or_default();
    let path = case.dir.join("mariadb-11.expected");
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    if std::env::var("DROVER_TEST_BLESS").is_ok() {
        return match found.is_empty() {
            true => fs::remove_file(&path),
            false => fs::write(&path, &found),
        }
        .map_err(|error| error.to_string());
    }
    Err(format!("{found}\ninstead of what stands in {}:\n{expected}", path.display()))
}

/// Runs cases side by side; panics with all failures.
pub(crate) fn assert_all(cases: &[Case], run: impl Fn(&Case) -> Result<(), String> + Sync) {
    assert!(!cases.is_empty(), "where are the cases?");
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Err(why) = run(case) {
                        failures.lock().unwrap().push(format!("── {} on {}\n{why}", case.name, case.flavour));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {} cases failed\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

pub(crate) struct Case {
    pub(crate) flavour: Flavour,
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pub(crate) schemas: Vec<String>,
    /// A text that the error must hold, if the case is to end in one.
    pub(crate) expect_failure: Option<String>,
}

impl Case {
    pub(crate) fn all(flavour: Flavour) -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
        let dirs = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let mut cases: Vec<_> =
            dirs.filter(|dir| dir.is_dir()).filter_map(|dir| Self::read(flavour, dir)).collect();
        if let Ok(wanted) = std::env::var("DROVER_TEST_CASES") {
            cases.retain(|case| wanted.split(',').any(|name| name == case.name));
        }
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        cases
    }

    /// `None` if it is for the other vendor only, or has nothing to set up yet.
    fn read(flavour: Flavour, dir: PathBuf) -> Option<Self> {
        let name = dir.file_name()?.to_string_lossy().into_owned();
        let text = |file: &str| fs::read_to_string(dir.join(file)).ok();
        if text("only").is_some_and(|only| only.trim() != flavour.as_str()) || !dir.join("setup.sql").exists()
        {
            return None;
        }
        let own = || vec![format!("c_{}", name.replace('-', "_"))];
        let schemas = text("schemas").map_or_else(own, |text| text.lines().map(str::to_owned).collect());
        let expect_failure = text("expect_failure").map(|text| text.trim().to_owned());
        Some(Self { flavour, name, schemas, expect_failure, dir })
    }

    fn run(&self, source: &Server, target: &Server) -> Result<(), String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let out = dir.path().join("dump");
        let mut dump = dump(source, "", &out);
        dump.args(self.schemas.iter().map(|schema| quoted(schema))).args(self.options("args"));
        let mut restore = restore(target, &out, "");
        restore.args(self.options("restore-args"));
        self.moves(source, target, &mut [dump, restore])
    }

    /// Builds the case, runs what is to bring it from one server to the other, and compares.
    pub(crate) fn moves(
        &self,
        source: &Server,
        target: &Server,
        commands: &mut [Command],
    ) -> Result<(), String> {
        self.build(source)?;
        self.drop_from(target)?;
        let mut outputs = Vec::new();
        for command in commands {
            outputs.push(run(command));
            if outputs.last().is_some_and(|output| output.code != Some(0)) {
                break;
            }
        }
        match &self.expect_failure {
            Some(text) => failed_with(&outputs, text),
            None => succeeded(&outputs).and_then(|()| self.compare(source, target)),
        }
    }

    pub(crate) fn drop_from(&self, server: &Server) -> Result<(), String> {
        let drop = |schema: &String| format!("DROP DATABASE IF EXISTS {};\n", quoted(schema));
        let drops: String = self.schemas.iter().map(drop).collect();
        try_sql(server, &format!("SET foreign_key_checks = 0;\n{drops}")).map(drop_rows)
    }

    /// Feeds the case's scripts to a server.
    pub(crate) fn build(&self, server: &Server) -> Result<(), String> {
        let own = format!("setup.{}.sql", self.flavour);
        for file in ["setup.sql", &own] {
            let Ok(script) = fs::read(self.dir.join(file)) else { continue };
            run_script(server, None, &script).map_err(|error| format!("{file}: {error}"))?;
        }
        Ok(())
    }

    pub(crate) fn options(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join(file)).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn compare(&self, source: &Server, target: &Server) -> Result<(), String> {
        let mut differences = Vec::new();
        for schema in &self.schemas {
            let [expected, found] = [source, target].map(|server| compare::everything(server, schema));
            let described = compare::differences(&expected, &found).into_iter();
            differences.extend(described.map(|text| format!("   {schema}: {text}")));
        }
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    }
}

fn drop_rows(_: crate::client::Rows) {}

pub(crate) fn quoted(schema: &str) -> String {
    format!("`{}`", schema.replace('`', "``"))
}

fn succeeded(outputs: &[Output]) -> Result<(), String> {
    let bad = |output: &&Output| output.code != Some(0) || output.stdout.contains("differs");
    outputs.iter().find(bad).map_or(Ok(()), |output| Err(output.to_string()))
}

fn failed_with(outputs: &[Output], text: &str) -> Result<(), String> {
    let last = outputs.last().map(ToString::to_string).unwrap_or_default();
    let ok = outputs.last().is_some_and(|output| output.code == Some(2) && output.stderr.contains(text));
    if ok { Ok(()) } else { Err(format!("expected a failure with {text:?}, got: {last}")) }
}
