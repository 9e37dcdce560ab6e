//! All folders of `tests/cases` in both directions. What is rewritten, lost or refused is what `restore --check` prints, and
//! stands in the folder's `across.FROM-TO.expected`; everything else has to be the same. With MariaDB 11.8, which is called
//! `mariadb-11` there, it is the same as with 10.11 where there is no such file. `DROVER_TEST_BLESS=1` writes the files anew: look
//! at what changed before you keep it.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drover_sandbox::{Flavour, Server};

use super::{both, both_with_mariadb_11};
use crate::cases::{Case, quoted};
use crate::client::try_sql;
use crate::compare;
use crate::drover::{Output, dump, restore, run};

const AT_ONCE: usize = 3;
const MARIADB_11: &str = "mariadb-11";

#[test]
fn every_case() {
    let Some(servers) = both() else { return };
    go_over_all(&servers, "mariadb");
}

#[test]
fn every_case_with_mariadb_11() {
    let Some(servers) = both_with_mariadb_11() else { return };
    go_over_all(&servers, MARIADB_11);
}

/// Restores every case of each of the two servers into the other; `mariadb` is what the first is called in names of files.
fn go_over_all(servers: &[Server; 2], mariadb: &str) {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let mut cases = Case::all(Flavour::MariaDb);
    cases.extend(Case::all(Flavour::MySql));
    cases.retain(|case| case.expect_failure.is_none());
    // The two directions of a case use the same schemas: one after the other.
    let mut names: Vec<_> = cases.iter().map(|case| case.name.clone()).collect();
    names.sort();
    names.dedup();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::SeqCst)) {
                    for case in cases.iter().filter(|case| case.name == *name) {
                        if let Err(why) = go_over(case, servers, mariadb) {
                            failures.lock().unwrap().push(format!("── {name} from {}\n{why}", case.flavour));
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}

fn go_over(case: &Case, servers: &[Server; 2], mariadb: &str) -> Result<(), String> {
    let [first, mysql] = servers;
    let (source, target, way) = match case.flavour {
        Flavour::MariaDb => (first, mysql, format!("{mariadb}-mysql")),
        Flavour::MySql => (mysql, first, format!("mysql-{mariadb}")),
    };
    let result = case.build(source).and_then(|()| compare_over(case, source, target, &way));
    let drop = |schema: &String| format!("DROP DATABASE IF EXISTS {};\n", quoted(schema));
    let drops: String = case.schemas.iter().map(drop).collect();
    for server in servers {
        try_sql(server, &format!("SET foreign_key_checks = 0;\n{drops}"))?;
    }
    result
}

fn compare_over(case: &Case, source: &Server, target: &Server, way: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let out = dir.path().join("dump");
    let mut dump = dump(source, "", &out);
    dump.args(case.schemas.iter().map(|schema| quoted(schema))).args(case.options("args"));
    ended(run(&mut dump), &[0])?;
    let checked = ended(run(&mut restore(target, &out, "--check")), &[0, 1])?;
    super::assert_no_scratch(target);
    // One worker, so that it is always the same file which fails first.
    let restored = ended(run(&mut restore(target, &out, "--skip-refused --threads 1")), &[0, 1, 2])?;
    let errors = restored.stderr.lines().skip_while(|line| !line.starts_with("error: "));
    let computed =
        |line: &&str| line.starts_with("differs ") && line.contains("the server computes other values");
    let errors = errors.chain(restored.stdout.lines().filter(computed));
    let errors: Vec<_> = errors.map(|line| line.replace(&*out.to_string_lossy(), "DUMP")).collect();
    as_expected(case, way, &checked, &errors)?;
    if restored.code == Some(2) {
        return Ok(());
    }
    if restored.stdout.lines().any(|line| line.starts_with("differs ") && !computed(&line)) {
        return Err(restored.to_string());
    }
    let differences: Vec<_> =
        case.schemas.iter().flat_map(|schema| compare::across(source, target, schema)).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}

fn ended(output: Output, codes: &[i32]) -> Result<Output, String> {
    if output.code.is_some_and(|code| codes.contains(&code)) { Ok(output) } else { Err(output.to_string()) }
}

/// Compares what the check printed below its first line, which has a time in it, and the error that ended the restore.
fn as_expected(case: &Case, way: &str, checked: &Output, errors: &[String]) -> Result<(), String> {
    let lines = checked.stdout.lines().skip(1).chain(errors.iter().map(String::as_str));
    let found: String = lines.map(|line| format!("{line}\n")).collect();
    let found = if way.contains(MARIADB_11) { without_default_collations(&found) } else { found };
    let path = expected_file(case, way);
    let usual = expected_file(case, &way.replace(MARIADB_11, "mariadb"));
    let is_usual = path == usual;
    if std::env::var("DROVER_TEST_BLESS").is_ok() {
        let _was_not_there = fs::remove_file(&path);
        let unless = if is_usual { String::new() } else { fs::read_to_string(&usual).unwrap_or_default() };
        let unless = without_default_collations(&unless);
        if found != unless {
            fs::write(&path, &found).map_err(|error| error.to_string())?;
        }
        return Ok(());
    }
    let path = if path.exists() { path } else { usual };
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let expected = if is_usual { expected } else { without_default_collations(&expected) };
    if expected == found {
        return Ok(());
    }
    let only = |a: &str, b: &str| -> String {
        a.lines()
            .filter(|line| !b.lines().any(|other| other == *line))
            .map(|line| format!("\n   {line}"))
            .collect()
    };
    Err(format!(
        "{}: only expected:{}\nonly found:{}",
        path.display(),
        only(&expected, &found),
        only(&found, &expected)
    ))
}

/// Nearly every case has something in the servers' default collation. MariaDB 11's is another than that of 10.11, and it knows
/// MySQL's by name.
fn without_default_collations(lines: &str) -> String {
    let defaults = ["utf8mb4_uca1400_ai_ci becomes ", "utf8mb4_0900_ai_ci becomes "];
    let is_other = |line: &&str| !defaults.iter().any(|default| line.contains(default));
    lines.lines().filter(is_other).map(|line| format!("{line}\n")).collect()
}

/// What `way`, such as `mariadb-mysql`, comes to.
pub(crate) fn expected_file(case: &Case, way: &str) -> PathBuf {
    case.dir.join(format!("across.{way}.expected"))
}
