//! What is said of the bonds of whole hosts, healthy and broken ones, of kernels from 2.6.18 to 6.8: a folder each below `hosts`.
//!
//! Each is a copy of the files that bear on bonds, with `expected.json`: for each rule its state, or the weights of its findings; and
//! words that its findings must hold. To add a host, add a folder.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use drover_doctor::args::{ExamineArgs, PlaceArgs};
use drover_doctor::{Area, Checked, Report, State};
use serde::Deserialize;

/// What a host's folder says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    about: String,
    rules: BTreeMap<String, Said>,
    #[serde(default)]
    says: BTreeMap<String, String>,
}

/// What a check must come to.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Said {
    Found(Vec<drover_doctor::Weight>),
    Else(State),
}

impl Said {
    fn of(checked: &Checked) -> Self {
        match checked.state {
            State::Found => Self::Found(checked.findings.iter().map(|finding| finding.weight).collect()),
            other => Self::Else(other),
        }
    }
}

fn examine(root: &Path) -> Report {
    let place = PlaceArgs {
        root: Some(root.to_owned()),
        no_server: true,
        results: Vec::new(),
        interval: std::time::Duration::ZERO,
        server: Default::default(),
    };
    let areas = vec![Area::Bonding];
    let ignore_file = Some(root.join("none.json"));
    drover_doctor::run(
        &ExamineArgs {
            areas,
            place,
            target: None,
            html: None,
            fix_script: None,
            ignore: None,
            because: None,
            ignore_file,
        },
        None,
    )
    .unwrap()
}

#[test]
fn hosts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts");
    let mut hosts: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    hosts.sort();
    assert!(hosts.len() >= 12);
    let mut wrong = Vec::new();
    for host in &hosts {
        let text = fs::read_to_string(host.join("expected.json")).unwrap();
        let expected: Expected = serde_json::from_str(&text).unwrap();
        let report = examine(host);
        let name = format!("{} ({})", host.file_name().unwrap().display(), expected.about);
        let said: BTreeMap<_, _> =
            report.checks.iter().map(|checked| (checked.rule.clone(), Said::of(checked))).collect();
        for (rule, said) in &said {
            if expected.rules.get(rule) != Some(said) {
                let checked = report.checks.iter().find(|checked| checked.rule == *rule);
                wrong.push(format!("{name}: {rule}: {said:?} {checked:#?}"));
            }
        }
        assert!(
            expected.rules.keys().all(|rule| said.contains_key(rule)),
            "{name}: a rule that is not there"
        );
        for (rule, words) in &expected.says {
            let checked = report.checks.iter().find(|checked| checked.rule == *rule).unwrap();
            let text = serde_json::to_string(&checked.findings).unwrap();
            if !text.contains(words) {
                wrong.push(format!("{name}: {rule}: no {words:?} in {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
