//! All folders of `tests/cases`, dumped as SQL and restored twice: by hand, with `restore.sh` and the vendor's own client, and by
//! drover. Both must hold the same as the source, as the client sees it and as `drover verify` proves it.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drover_sandbox::{Flavour, Server};

use crate::cases::{Case, quoted};
use crate::client::{feed, try_sql};
use crate::compare;
use crate::drover::{Output, dump, restore, run, verify};
use crate::servers::{on_both, start_unsynced};

on_both!(every_case);

const AT_ONCE: usize = 3;

/// What the plain client cannot restore, a word of what it says, and the option that helps:
/// - an INSERT checks text, and a value that is invalid in its character set does not pass;
/// - a table that an older server let be made with too long a row, or with a foreign key to columns that are no unique key,
///   needs settings for which MySQL wants a privilege.
const BY_HAND: &[(Flavour, &str, &str, Option<&str>)] = &[
    (Flavour::MariaDb, "invalid-bytes-in-utf8", "Incorrect string value", None),
    (Flavour::MySql, "table-options", "Row size too large", Some(OLD_TABLES)),
    (Flavour::MySql, "foreign-keys", "Missing unique key for constraint 'loose'", Some(OLD_TABLES)),
];

/// As docs/formats.md has it.
const OLD_TABLES: &str = "--init-command=SET innodb_strict_mode = OFF, restrict_fk_on_non_standard_key = OFF";

fn every_case(flavour: Flavour) {
    let servers = ["--default-time-zone=+05:30", "--default-time-zone=-08:00"]
        .map(|zone| start_unsynced(flavour, &[zone]));
    let cases: Vec<_> = Case::all(flavour).into_iter().filter(|case| case.expect_failure.is_none()).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Err(why) = there_and_back(case, &servers) {
                        failures.lock().unwrap().push(format!("── {} on {flavour}\n{why}", case.name));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}

fn there_and_back(case: &Case, [source, target]: &[Server; 2]) -> Result<(), String> {
    case.build(source)?;
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut dump = dump(source, "--format sql", dir.path());
    dump.args(case.schemas.iter().map(|schema| quoted(schema))).args(case.options("args"));
    let dumped = run(&mut dump);
    let is_told = dumped.stderr.contains("are not valid text");
    ended(dumped)?;

    let is_it =
        |(flavour, name, ..): &&(Flavour, &str, &str, _)| *flavour == case.flavour && *name == case.name;
    let by_hand = |options: &[&str]| {
        by_hand(target, dir.path(), options).and_then(|()| same(case, source, target, dir.path()))
    };
    match (by_hand(&[]), BY_HAND.iter().find(is_it)) {
        (Ok(()), None) if is_told => {
            return Err("it warns of invalid text, and all of it was restored".into());
        }
        (Ok(()), None) => {}
        (Err(why), Some((_, _, expected, remedy))) if why.contains(expected) => {
            drop_schemas(case, target)?;
            remedy
                .map_or(Ok(()), |option| by_hand(&[option]))
                .map_err(|why| format!("with the option: {why}"))?;
        }
        (Err(why), _) => return Err(format!("by hand: {why}")),
        (Ok(()), Some((_, _, expected, _))) => {
            return Err(format!("by hand: it was to fail with {expected:?}"));
        }
    }
    drop_schemas(case, target)?;
    ended(run(restore(target, dir.path(), "").args(case.options("restore-args"))))?;
    same(case, source, target, dir.path())?;
    [source, target].iter().try_for_each(|server| drop_schemas(case, server))
}

/// Runs `restore.sh` with the vendor's client.
pub(super) fn by_hand(server: &Server, dir: &Path, options: &[&str]) -> Result<(), String> {
    let client = server.client("mysql");
    let mut shell = Command::new("sh");
    shell.arg(dir.join("restore.sh")).arg(client.get_program()).args(client.get_args()).args(options);
    shell.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = feed(&mut shell, b"");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn same(case: &Case, source: &Server, target: &Server, dir: &Path) -> Result<(), String> {
    ended(run(&mut verify(target, dir, "")))?;
    for schema in &case.schemas {
        let [expected, found] = [source, target].map(|server| compare::everything(server, schema));
        let differences = compare::differences(&expected, &found);
        if !differences.is_empty() {
            return Err(format!("{schema}: {}", differences.join("\n   ")));
        }
    }
    Ok(())
}

fn ended(output: Output) -> Result<(), String> {
    if output.code == Some(0) { Ok(()) } else { Err(output.to_string()) }
}

fn drop_schemas(case: &Case, server: &Server) -> Result<(), String> {
    let drop = |schema: &String| format!("DROP DATABASE IF EXISTS {};\n", quoted(schema));
    let drops: String = case.schemas.iter().map(drop).collect();
    try_sql(server, &format!("SET foreign_key_checks = 0;\n{drops}")).map(|_| ())
}
