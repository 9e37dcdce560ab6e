//! All folders of `tests/cases`, copied on their own vendor and to the other one.

use drover_sandbox::{Flavour, Server};

use crate::across::{both, cases::expected_file};
use crate::cases::{Case, assert_all, quoted};
use crate::compare;
use crate::drover::{copy, run};
use crate::servers::{on_both, start_unsynced};

on_both!(every_case);

/// A server of this test's own: the schemas of the cases are used by other tests too.
fn server(flavour: Flavour) -> Server {
    start_unsynced(flavour, &["--max-connections=400", "--local-infile=ON"])
}

fn every_case(flavour: Flavour) {
    let [source, target] = [(); 2].map(|()| server(flavour));
    assert_all(&Case::all(flavour), |case| {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut copy = copy(&source, &target, "--events on", &dir.path().join("state"));
        copy.args(case.options("args")).args(case.options("restore-args"));
        copy.args(case.schemas.iter().map(|schema| quoted(schema)));
        case.moves(&source, &target, &mut [copy])
    });
}

#[test]
fn every_case_across() {
    let Some(servers) = both() else { return };
    // The two directions of a case use the same schemas: one after the other.
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        let cases: Vec<_> =
            Case::all(flavour).into_iter().filter(|case| case.expect_failure.is_none()).collect();
        assert_all(&cases, |case| go_over(case, &servers));
    }
}

fn go_over(case: &Case, [mariadb, mysql]: &[Server; 2]) -> Result<(), String> {
    let (source, target) = if case.flavour == Flavour::MariaDb { (mariadb, mysql) } else { (mysql, mariadb) };
    let result = case.build(source).and_then(|()| compare_over(case, source, target));
    case.drop_from(source)?;
    case.drop_from(target)?;
    result
}

/// What a restore says of a case, a copy says too: the rows that cannot go over, and the columns that are computed otherwise.
fn compare_over(case: &Case, source: &Server, target: &Server) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut copy = copy(source, target, "--skip-refused --threads 1", &dir.path().join("state"));
    copy.args(case.options("args")).args(case.schemas.iter().map(|schema| quoted(schema)));
    let copied = run(&mut copy);
    let way = if case.flavour == Flavour::MariaDb { "mariadb-mysql" } else { "mysql-mariadb" };
    let expected = std::fs::read_to_string(expected_file(case, way)).unwrap_or_default();
    let fails = expected.lines().any(|line| line.starts_with("error: "));
    if fails != (copied.code == Some(2)) || copied.code.is_none() {
        return Err(format!("it was {} to fail: {copied}", if fails { "expected" } else { "not expected" }));
    }
    if fails {
        return Ok(());
    }
    let computed = |line: &str| line.contains("the server computes other values");
    if copied.stdout.lines().any(|line| line.starts_with("differs ") && !computed(line)) {
        return Err(copied.to_string());
    }
    let differences: Vec<_> =
        case.schemas.iter().flat_map(|schema| compare::across(source, target, schema)).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}
