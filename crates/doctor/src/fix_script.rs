//! A script that does what the findings propose, and undoes it: one at a time, and only those that are named.

use std::fmt::Write as _;

use crate::check::{Finding, Remedy, Tool, Weight};
use crate::report::{Checked, Report};

/// The script's text. Run without arguments it lists what it can do.
pub(crate) fn script(report: &Report) -> String {
    let findings = report.findings();
    let all: Vec<_> = findings
        .iter()
        .flat_map(|(checked, finding)| {
            finding.remedies.iter().map(move |remedy| (*checked, *finding, remedy))
        })
        .collect();
    let mut out = head(report);
    let list: String = all.iter().enumerate().map(|(index, each)| listed(index + 1, each)).collect();
    let _ = writeln!(
        out,
        "\"list \")\n{}  ;;",
        fed("cat", if list.is_empty() { "nothing to do\n" } else { &list })
    );
    for (index, (_, _, remedy)) in all.iter().enumerate() {
        let number = index + 1;
        let done = one_line(&remedy.run);
        let _ = writeln!(
            out,
            "\"do {number}\")\n{}{}  ;;",
            carried_out(remedy.with, &remedy.run),
            fed("cat >>\"$DONE\"", &done)
        );
        let undo = match &remedy.undo {
            Some(undo) => format!(
                "{}{}{}",
                fed("was_done", &done),
                carried_out(remedy.with, undo),
                fed("forget", &done)
            ),
            None => "  echo 'nothing undoes this' >&2\n  exit 1\n".to_owned(),
        };
        let _ = writeln!(out, "\"undo {number}\")\n{undo}  ;;");
    }
    out.push_str("*)\n  echo \"usage: sh $0 [do NUMBER | undo NUMBER]\" >&2\n  exit 2\n  ;;\nesac\n");
    out
}

/// Functions of the script that read one line, which says what was done.
const HELPERS: &str = "was_done() {
  IFS= read -r line
  touch \"$DONE\"
  grep -Fxq -e \"$line\" \"$DONE\" && return
  echo 'this script has not done it, or has undone it already: nothing to undo' >&2
  exit 1
}
forget() {
  IFS= read -r line
  grep -Fxv -e \"$line\" \"$DONE\" >\"$DONE.new\" || :
  mv \"$DONE.new\" \"$DONE\"
}
";

fn head(report: &Report) -> String {
    let of = [report.host.as_deref(), report.server.as_deref()];
    let of = one_line(&of.into_iter().flatten().collect::<Vec<_>>().join(", "));
    format!(
        "#!/bin/sh\n# What drover {} proposes for {of}, as seen {}.\n#   sh FILE            lists it; does nothing\n\
         #   sh FILE do 1       does the first, sh FILE undo 1 undoes it\n\
         # Statements go to the client in CLIENT, with its options: CLIENT=\"mariadb --socket=…\" sh FILE do 1\n\
         # What was done is noted in FILE.done; nothing else is undone.\n\
         set -eu\n: \"${{CLIENT:=mysql}}\"\nDONE=$0.done\n{HELPERS}case \"${{1:-list}} ${{2:-}}\" in\n",
        one_line(&report.drover),
        one_line(&report.looked_at)
    )
}

fn listed(number: usize, (checked, finding, remedy): &(&Checked, &Finding, &Remedy)) -> String {
    let weight = match finding.weight {
        Weight::Red => "RED",
        Weight::Yellow => "yellow",
        Weight::Note => "note",
    };
    let subject = finding.subject.as_ref().map(|subject| format!("{subject}: ")).unwrap_or_default();
    let what = one_line(&format!("{subject}{}", finding.what));
    let with = match remedy.with {
        Tool::Shell => "shell",
        Tool::Sql => "SQL",
    };
    let undo = if remedy.undo.is_some() { "" } else { " (nothing undoes it)" };
    let run = one_line(&remedy.run);
    format!("{number:>3}  {weight:<6} {what} ({})\n     {with}: {run}{undo}\n", checked.rule)
}

/// Names come from strangers: a line of theirs must not become one of the script's.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn carried_out(with: Tool, text: &str) -> String {
    match with {
        Tool::Shell => fed("sh -eu", text),
        // Without quotes, as it holds options too.
        Tool::Sql => fed("$CLIENT", &format!("{};\n", text.trim_end().trim_end_matches(';'))),
    }
}

/// A command that reads a text as it stands: the word that ends the text is no line of it.
fn fed(command: &str, text: &str) -> String {
    let mut end = "END".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    let line = if text.ends_with('\n') { "" } else { "\n" };
    format!("  {command} <<'{end}'\n{text}{line}{end}\n")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::check::{Check, Outcome};

    const CHECK: Check = Check {
        rule: "a.b",
        area: crate::Area::Server,
        looks_for: "",
        needs: "",
        source: "",
        refuted_by: "",
        look: |_| Ok(Outcome::default()),
    };

    struct Script(tempfile::TempDir);

    fn written(finding: Finding) -> Script {
        let report = Report {
            drover: String::new(),
            looked_at: String::new(),
            host: Some("a\nhost".into()),
            server: None,
            seconds: 0.0,
            checks: vec![Checked::of(&CHECK, Outcome::found(finding), &[])],
        };
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("fix.sh"), script(&report)).unwrap();
        Script(dir)
    }

    impl Script {
        fn run(&self, arguments: &[&str]) -> (bool, String) {
            self.run_with("cat", arguments)
        }

        fn run_with(&self, client: &str, arguments: &[&str]) -> (bool, String) {
            let mut command = Command::new("sh");
            command.arg(self.0.path().join("fix.sh")).args(arguments).env("CLIENT", client);
            let output = command.output().unwrap();
            let both = [output.stdout, output.stderr].concat();
            (output.status.success(), String::from_utf8(both).unwrap())
        }
    }

    #[test]
    fn one_at_a_time() {
        let finding = Finding::observed(Weight::Yellow, "what\nexit 7", "")
            .shell("echo \"$(printf done)\"", Some("echo undone".into()))
            .sql("DROP TABLE `a\nEND\nexit 8`", None);
        let script = written(finding);
        let (ok, list) = script.run(&[]);
        assert!(
            ok && list.contains("  1  yellow what exit 7 (a.b)") && list.contains("(nothing undoes it)"),
            "{list}"
        );
        assert_eq!(script.run(&["do", "1"]), (true, "done\n".into()));
        assert_eq!(script.run(&["undo", "1"]), (true, "undone\n".into()));
        assert_eq!(script.run(&["do", "2"]), (true, "DROP TABLE `a\nEND\nexit 8`;\n".into()));
        assert_eq!(script.run(&["undo", "2"]), (false, "nothing undoes this\n".into()));
        assert!(!script.run(&["do", "3"]).0);
    }

    /// What was not done, was undone, or has failed is not undone: it may be somebody else's.
    #[test]
    fn only_what_was_done_is_undone() {
        let undo = "ALTER TABLE t DROP COLUMN `\\n`";
        let finding = Finding::observed(Weight::Yellow, "what", "")
            .sql("ALTER TABLE t ADD COLUMN `\\n` INT", Some(undo.into()));
        let script = written(finding);
        let refused = "this script has not done it, or has undone it already: nothing to undo\n";
        assert_eq!(script.run(&["undo", "1"]), (false, refused.into()));
        assert!(!script.run_with("false", &["do", "1"]).0);
        assert_eq!(script.run(&["undo", "1"]), (false, refused.into()));
        assert!(script.run(&["do", "1"]).0);
        assert!(!script.run_with("false", &["undo", "1"]).0);
        assert_eq!(script.run(&["undo", "1"]), (true, format!("{undo};\n")));
        assert_eq!(script.run(&["undo", "1"]), (false, refused.into()));
    }
}
