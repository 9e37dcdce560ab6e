//! What tests of checks share: a host made of a few files.

use drover_db::grants::Held;

use crate::check::{Check, Outcome, Weight};
use crate::evidence::{Answer, Evidence, Kept};
use crate::facts::Facts;
use crate::{Seen, Unseen};

/// What a check says of files that hold these texts; others are not there.
pub(crate) fn on_host(check: &Check, files: &[(&str, &str)]) -> Seen<Outcome> {
    on_host_of(check, files, None)
}

/// The number of the server's process in [`with_process`].
pub(crate) const PID: u32 = 42;

/// The same where the server is the process [`PID`].
pub(crate) fn with_process(check: &Check, files: &[(&str, &str)]) -> Seen<Outcome> {
    on_host_of(check, files, Some(PID))
}

fn on_host_of(check: &Check, files: &[(&str, &str)], pid: Option<u32>) -> Seen<Outcome> {
    let dir = host(files);
    let evidence = Evidence::of(Some(dir.path()), Err("no server".into()), pid, String::new()).unwrap();
    (check.look)(&Facts::gather(evidence, std::time::Duration::ZERO))
}

/// A server that has these variables, and answers these statements with a row of these columns.
pub(crate) fn on_server(variables: &[(&str, &str)], answers: &[(&str, &[(&str, &str)])]) -> Facts {
    let row = |(name, value): &(&str, &str)| vec![Some((*name).to_owned()), Some((*value).to_owned())];
    let variables = Answer {
        columns: ["Variable_name", "Value"].map(str::to_owned).into(),
        rows: variables.iter().map(row).collect(),
    };
    let answer = |row: &[(&str, &str)]| Answer {
        columns: row.iter().map(|(column, _)| (*column).to_owned()).collect(),
        rows: vec![row.iter().map(|(_, value)| Some((*value).to_owned())).collect()],
    };
    let told = answers.iter().map(|(sql, row)| ((*sql).to_owned(), Ok(answer(row))));
    let answers = [("SHOW GLOBAL VARIABLES".to_owned(), Ok(variables))].into_iter().chain(told).collect();
    let kept = Kept { answers, privileges: Some(Ok(Held::default())), ..Kept::default() };
    Facts::gather(Evidence::kept(kept), std::time::Duration::ZERO)
}

/// A directory with these files.
pub(crate) fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

/// The weights of what was found.
pub(crate) fn weights(outcome: &Seen<Outcome>) -> Vec<Weight> {
    outcome.as_ref().unwrap().findings.iter().map(|finding| finding.weight).collect()
}

/// Whether all was seen and is in order.
pub(crate) fn is_fine(outcome: &Seen<Outcome>) -> bool {
    outcome.as_ref().is_ok_and(|outcome| outcome.findings.is_empty() && outcome.unknown.is_empty())
}

/// Whether it could not be told.
pub(crate) fn is_unknown(outcome: &Seen<Outcome>) -> bool {
    match outcome {
        Ok(outcome) => outcome.findings.is_empty() && !outcome.unknown.is_empty(),
        Err(unseen) => !matches!(unseen, Unseen::Failed(_)),
    }
}
