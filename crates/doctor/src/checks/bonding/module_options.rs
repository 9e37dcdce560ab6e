//! Options of the driver's module, which are those of every bond that it makes.

use std::collections::BTreeSet;

use crate::bond::{Bond, Mode};
use crate::bonding_config::Configuration;
use crate::bonding_config::modprobe::{self, ModuleOptions};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::plan::{self, PlannedBond};

pub(crate) const CHECK: Check = Check {
    rule: "bonding.module_options",
    area: Area::Bonding,
    looks_for: "options of the module bonding (mode=… max_bonds=…) where bonds differ, or should",
    needs: "/etc/modprobe.d, /etc/modprobe.conf, /proc/cmdline; the files that set bonds up",
    source: "Documentation/networking/bonding.rst on max_bonds and on configuring multiple bonds: all bonds that the module makes when it is \
             loaded have the same options",
    refuted_by: "all bonds are meant to have these options, and there will be none with others",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let (lines, unseen) = modprobe::read(&facts.evidence)?;
    let mut outcome = Outcome { unknown: unseen, ..Outcome::default() };
    let scene = Scene::of(facts, &lines)?;
    outcome.unknown.extend(scene.configuration.unseen.clone());
    let Some(mode) = scene.mode else {
        match lines.first() {
            Some(line) => outcome.fine.push(format!("{}: {} gives bonds no mode", line.file, line.line)),
            None if outcome.unknown.is_empty() => {
                outcome.not_here = Some("the module bonding has no options".into())
            }
            None => {}
        }
        return Ok(outcome);
    };
    if scene.made < 2 && scene.names.len() < 2 {
        outcome.fine.push(format!("one bond, which has the module's mode {}", mode.name()));
    } else {
        outcome.findings.push(scene.finding(mode));
    }
    Ok(outcome)
}

/// All that bears on it.
struct Scene<'a> {
    lines: &'a [ModuleOptions],
    bonds: Vec<Bond>,
    configuration: Configuration,
    /// Bonds that run or are asked for.
    names: BTreeSet<String>,
    /// The mode that the module gives all bonds.
    mode: Option<Mode>,
    /// How many bonds the module makes.
    made: u64,
}

impl<'a> Scene<'a> {
    fn of(facts: &Facts, lines: &'a [ModuleOptions]) -> Seen<Self> {
        let bonds = Bond::all(&facts.evidence)?;
        let configuration = Configuration::of(&facts.evidence);
        let mut names: BTreeSet<_> = bonds.iter().map(|bond| bond.name.clone()).collect();
        names.extend(configuration.bonds.iter().map(|bond| bond.name.clone()));
        names.extend(lines.iter().filter(|line| line.name != "bonding").map(|line| line.name.clone()));
        let option = |name: &str| {
            let of_module = lines.iter().rev().filter(|line| line.name == "bonding");
            // Of several aliases only the one by which the module is loaded counts, mostly the first.
            of_module.chain(lines).find_map(|line| line.options.get(name))
        };
        let mode = option("mode").and_then(|mode| Mode::parse(mode));
        let made = option("max_bonds").and_then(|count| count.parse().ok()).unwrap_or(1);
        Ok(Self { lines, bonds, configuration, names, mode, made })
    }

    /// The mode that a bond's own settings ask for, or the line of its alias, and where.
    fn wanted<'b>(&'b self, name: &'b str) -> Option<(Mode, &'b str)> {
        let own =
            self.configuration.of_bond(name).find_map(|wanted| Some((wanted.mode()?, wanted.file.as_str())));
        let alias = || {
            let line = self.lines.iter().find(|line| line.name == name)?;
            Some((Mode::parse(line.options.get("mode")?)?, line.file.as_str()))
        };
        own.or_else(alias)
    }

    fn running(&self, name: &str) -> Option<&Bond> {
        self.bonds.iter().find(|bond| bond.name == name)
    }

    fn finding(&self, mode: Mode) -> Finding {
        let wants_another = |name: &&String| self.wanted(name).is_some_and(|(wanted, _)| wanted != mode);
        let others: Vec<_> = self.names.iter().filter(wants_another).collect();
        let is_caught = |name: &&&String| self.running(name).is_some_and(|bond| bond.mode() == Some(mode));
        let caught: Vec<_> = others.iter().filter(is_caught).collect();
        let listed =
            |names: &[&&String]| names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        let (weight, what) = match (caught.is_empty(), others.is_empty()) {
            (false, _) => {
                let what =
                    format!("{} got the module's mode {} instead of its own", listed(&caught), mode.name());
                (Weight::Red, what)
            }
            (true, false) => {
                let others: Vec<_> = others.iter().collect();
                let what = format!(
                    "the module gives every bond the mode {}, {} included, which is to have another",
                    mode.name(),
                    listed(&others)
                );
                (Weight::Yellow, what)
            }
            (true, true) => (
                Weight::Note,
                format!(
                    "the module gives every bond the mode {}: a bond with another needs settings of its own",
                    mode.name()
                ),
            ),
        };
        let advice = "take mode and max_bonds out of the module's options, and give each bond its own settings: `drover doctor bonding plan` writes the files";
        let mut finding = Finding::observed(weight, what, advice);
        for line in self.lines {
            finding = finding.seen(format!("{}: {}", line.file, line.line));
        }
        finding = finding.effect(self.explained(mode));
        finding = self.names.iter().fold(finding, |finding, name| self.with_bond(finding, name, mode));
        self.with_remedies(finding, mode)
    }

    fn explained(&self, mode: Mode) -> String {
        let made = match self.made {
            0 => "the module makes no bond when it is loaded, and its options are the defaults of those made later".to_owned(),
            1 => "the module makes bond0 when it is loaded".to_owned(),
            many => format!("the module makes {many} bonds when it is loaded, bond0 to bond{}", many - 1),
        };
        let (number, name) = (mode.number(), mode.name());
        format!(
            "{made}, every one of them in mode {number} ({name}): options of a module are not those of a bond, and max_bonds only counts"
        )
    }

    /// What runs, what is wanted, and the setting that the bond needs, for each tool of this host.
    fn with_bond(&self, finding: Finding, name: &str, mode: Mode) -> Finding {
        let running = self.running(name).and_then(Bond::mode).map_or("not there", Mode::name);
        let (wanted, place) = match self.wanted(name) {
            Some((wanted, file)) => (wanted, format!("{file} asks for {}", wanted.name())),
            None => (mode, "no file gives it a mode of its own".to_owned()),
        };
        let mut finding = finding.seen(format!("{name}: {running} now; {place}"));
        for tool in &self.configuration.tools {
            finding = finding.seen(format!("{name} needs, {}", plan::setting(*tool, name, wanted)));
        }
        if self.configuration.has_interfaces {
            finding = finding.seen(format!(
                "{name} needs, in /etc/network/interfaces: bond-mode {} and bond-miimon 100",
                wanted.name()
            ));
        }
        finding
    }

    fn with_remedies(&self, finding: Finding, mode: Mode) -> Finding {
        let files: BTreeSet<_> = self
            .lines
            .iter()
            .map(|line| line.file.as_str())
            .filter(|file| file.starts_with("/etc/"))
            .collect();
        let finding = files.iter().fold(finding, |finding, file| {
            let off = format!("sed -i.before-doctor -E 's/^[[:space:]]*options[[:space:]]+bond/#&/' {file}");
            finding.shell(off, Some(format!("mv {file}.before-doctor {file}")))
        });
        // What no file sets up has had its options from the module alone, and would lose them.
        let without: Vec<PlannedBond> = self
            .names
            .iter()
            .filter(|name| self.configuration.of_bond(name).next().is_none())
            .filter_map(|name| {
                let slaves: Vec<_> =
                    self.running(name)?.slaves.iter().map(|slave| slave.name.clone()).collect();
                let mode = self.wanted(name).map_or(mode, |(wanted, _)| wanted);
                let bond = PlannedBond {
                    name: name.clone(),
                    mode,
                    slaves,
                    addresses: vec![],
                    gateways: vec![],
                    mtu: None,
                };
                (!bond.slaves.is_empty()).then_some(bond)
            })
            .collect();
        let extended = self.configuration.bonds.iter().filter(|bond| !bond.options.contains_key("mode"));
        let finding = extended.fold(finding, |finding, bond| match bond.tool {
            Some(plan::NetworkTool::Ifcfg) => {
                let mode = self.wanted(&bond.name).map_or(mode, |(wanted, _)| wanted);
                let line = format!("BONDING_OPTS=\"mode={} miimon=100\"", mode.name());
                finding.shell(
                    format!("echo '{line}' >> {}", bond.file),
                    Some(format!("sed -i '/^BONDING_OPTS=/d' {}", bond.file)),
                )
            }
            _ => finding,
        });
        if without.is_empty() {
            return finding;
        }
        let files = self.configuration.tools.iter().flat_map(|tool| plan::files(*tool, &without));
        files.fold(finding, |finding, file| {
            let path = file.path.display();
            // Never in the place of a file that is there.
            let run = format!(
                "set -C; umask 077; cat > {path} <<'EOF' && chmod {:04o} {path}\n{}EOF",
                file.mode, file.content
            );
            finding.shell(run, Some(format!("rm {path}")))
        })
    }
}
