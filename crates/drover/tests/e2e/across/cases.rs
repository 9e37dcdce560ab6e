//! All folders of `tests/cases` in both directions. What is rewritten, lost or refused is what `restore --check` prints, and
//! stands in the folder's `across.FROM-TO.expected`; everything else has to be the same. `DROVER_TEST_BLESS=1` writes the
//! files anew: look at what changed before you keep it.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drover_sandbox::{Flavour, Server};

use super::both;
use crate::cases::{Case, quoted};
use crate::client::try_sql;
use crate::compare;
use crate::drover::{Output, dump, restore, run};

const AT_ONCE: usize = 3;

#[test]
fn every_case() {
    let Some(servers) = both() else { return };
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
                        if let Err(why) = go_over(case, &servers) {
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

fn go_over(case: &Case, servers: &[Server; 2]) -> Result<(), String> {
    let [mariadb, mysql] = servers;
    let (source, target) = if case.flavour == Flavour::MariaDb { (mariadb, mysql) } else { (mysql, mariadb) };
    let result = case.build(source).and_then(|()| compare_over(case, source, target));
    let drop = |schema: &String| format!("DROP DATABASE IF EXISTS {};\n", quoted(schema));
    let drops: String = case.schemas.iter().map(drop).collect();
    for server in servers {
        try_sql(server, &format!("SET foreign_key_checks = 0;\n{drops}"))?;
    }
    result
}

fn compare_over(case: &Case, source: &Server, target: &Server) -> Result<(), String> {
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
    as_expected(case, &checked, &errors)?;
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
fn as_expected(case: &Case, checked: &Output, errors: &[String]) -> Result<(), String> {
    let lines = checked.stdout.lines().skip(1).chain(errors.iter().map(String::as_str));
    let found: String = lines.map(|line| format!("{line}\n")).collect();
    let path = expected_file(case);
    if std::env::var("DROVER_TEST_BLESS").is_ok() {
        let _was_not_there = fs::remove_file(&path);
        if !found.is_empty() {
            fs::write(&path, &found).map_err(|error| error.to_string())?;
        }
        return Ok(());
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
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

pub(crate) fn expected_file(case: &Case) -> PathBuf {
    let to = if case.flavour == Flavour::MariaDb { Flavour::MySql } else { Flavour::MariaDb };
    case.dir.join(format!("across.{}-{to}.expected", case.flavour))
}
