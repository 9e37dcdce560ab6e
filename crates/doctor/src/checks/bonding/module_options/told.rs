//! What is said of the module's options, and what each bond needs instead.

use std::collections::{BTreeMap, BTreeSet};

use super::Scene;
use crate::bond::words::is_plain;
use crate::bond::{Bond, Mode};
use crate::check::{Finding, Weight};
use crate::plan::{self, NetworkTool, PlannedBond};

impl Scene<'_> {
    /// What is wrong with options that give all bonds this mode.
    pub(super) fn finding(&self, mode: Mode) -> Finding {
        let (weight, what) = self.what(mode);
        let advice = "take mode and max_bonds out of the module's options, and give each bond its own settings; \
                      `drover doctor bonding plan` writes the files";
        let mut finding = Finding::observed(weight, what, advice).effect(self.explained(mode));
        for line in self.lines {
            finding = finding.seen(format!("{}: {}", line.file, line.line));
        }
        finding = self.names.iter().fold(finding, |finding, name| self.with_bond(finding, name, mode));
        self.without_module(self.with_files(self.with_lines(finding, mode), mode))
    }

    fn what(&self, mode: Mode) -> (Weight, String) {
        let name = mode.name();
        let wants_another = |name: &&String| self.wanted(name).is_some_and(|(wanted, _)| wanted != mode);
        let others: Vec<_> = self.names.iter().filter(wants_another).map(String::as_str).collect();
        let is_caught = |name: &&str| self.running(name).is_some_and(|bond| bond.mode() == Some(mode));
        let caught: Vec<_> = others.iter().copied().filter(is_caught).collect();
        if !caught.is_empty() {
            let caught = caught.join(", ");
            return (Weight::Red, format!("{caught} got the module's mode {name} instead of its own"));
        }
        if others.is_empty() {
            let what =
                format!("the module gives every bond the mode {name}: another needs settings of its own");
            return (Weight::Note, what);
        }
        let others = others.join(", ");
        (
            Weight::Yellow,
            format!("the module gives every bond the mode {name}, and {others} is to have another"),
        )
    }

    fn explained(&self, mode: Mode) -> String {
        let made = match self.made {
            0 => "the module makes no bond when it is loaded, and gives its options to those made later"
                .to_owned(),
            1 => "the module makes bond0 when it is loaded, and gives its options to those made later"
                .to_owned(),
            many => format!("the module makes {many} bonds when it is loaded, bond0 to bond{}", many - 1),
        };
        format!(
            "{made}, every one in mode {} ({}): options of a module are not those of one bond, and max_bonds only counts",
            mode.number(),
            mode.name()
        )
    }

    /// The mode that a bond is to have: its own, or the module's.
    fn mode_of(&self, name: &str, mode: Mode) -> Mode {
        self.wanted(name).map_or(mode, |(wanted, _)| wanted)
    }

    /// What runs, what is wanted, and the setting that the bond needs, for each tool of this host.
    fn with_bond(&self, finding: Finding, name: &str, mode: Mode) -> Finding {
        let running = self.running(name).and_then(Bond::mode).map_or("not there", Mode::name);
        let place = match self.wanted(name) {
            Some((wanted, file)) => format!("{file} asks for {}", wanted.name()),
            None => "no file gives it a mode of its own".to_owned(),
        };
        if self.is_idle(name) {
            return finding.seen(format!("{name}: {running} now, without an interface; no file asks for it"));
        }
        let wanted = self.mode_of(name, mode);
        let mut finding = finding.seen(format!("{name}: {running} now; {place}"));
        for tool in &self.configuration.tools {
            finding = finding.seen(format!("{name} needs, {}", plan::setting(*tool, name, wanted)));
        }
        if self.configuration.has_interfaces {
            let lines = format!("bond-mode {} and bond-miimon 100", wanted.name());
            finding = finding.seen(format!("{name} needs, in /etc/network/interfaces: {lines}"));
        }
        finding
    }

    /// Whether the module has made it and nobody uses it.
    fn is_idle(&self, name: &str) -> bool {
        let is_empty = self.running(name).is_some_and(|bond| bond.slaves.is_empty());
        is_empty && self.wanted(name).is_none() && self.configuration.of_bond(name).next().is_none()
    }

    /// The lines for ifcfg files that leave the options to the module.
    fn with_lines(&self, finding: Finding, mode: Mode) -> Finding {
        let leaves_it = |bond: &&crate::bonding_config::Wanted| {
            bond.tool == Some(NetworkTool::Ifcfg)
                && !bond.options.contains_key("mode")
                && is_plain(&bond.file)
        };
        self.configuration.bonds.iter().filter(leaves_it).fold(finding, |finding, bond| {
            let mut options = self.options_for(&bond.name);
            options.insert("mode", self.mode_of(&bond.name, mode).name());
            let options: Vec<_> = options.iter().map(|(option, value)| format!("{option}={value}")).collect();
            let file = &bond.file;
            finding.shell(
                format!("echo 'BONDING_OPTS=\"{}\"' >> {file}", options.join(" ")),
                Some(format!("sed -i '/^BONDING_OPTS=/d' {file}")),
            )
        })
    }

    /// What the module gives a bond, but for their number.
    fn options_for(&self, name: &str) -> BTreeMap<&str, &str> {
        let lines = self.lines.iter().filter(|line| line.name == "bonding" || line.name == name);
        let options = lines
            .flat_map(|line| &line.options)
            .filter(|(option, value)| *option != "max_bonds" && is_plain(option) && is_plain(value));
        options.map(|(option, value)| (option.as_str(), value.as_str())).collect()
    }

    /// The files for bonds in use that no file sets up: they would lose what the module gives them.
    fn with_files(&self, finding: Finding, mode: Mode) -> Finding {
        let planned = |bond: &Bond| PlannedBond {
            name: bond.name.clone(),
            mode: self.mode_of(&bond.name, mode),
            slaves: bond.slaves.iter().map(|slave| slave.name.clone()).collect(),
            addresses: Vec::new(),
            gateways: Vec::new(),
            mtu: None,
        };
        let is_without =
            |bond: &&Bond| !bond.slaves.is_empty() && self.configuration.of_bond(&bond.name).next().is_none();
        let bonds: Vec<_> = self.bonds.iter().filter(is_without).map(planned).collect();
        if bonds.is_empty() || self.configuration.tools.is_empty() {
            return finding;
        }
        let names: Vec<_> = bonds.iter().map(|bond| bond.name.as_str()).collect();
        let names = names.join(", ");
        let finding = finding.seen(format!(
            "no file sets up {names}: the files below ask for an address by DHCP; put in those of now"
        ));
        let files = self.configuration.tools.iter().flat_map(|tool| plan::files(*tool, &bonds));
        files.fold(finding, |finding, file| {
            let (path, mode, content) = (file.path.display(), file.mode, &file.content);
            // Never in the place of a file that is there.
            let run =
                format!("set -C; umask 077; cat > {path} <<'EOF' && chmod {mode:04o} {path}\n{content}EOF");
            finding.shell(run, Some(format!("rm {path}")))
        })
    }

    /// The commands that take the module's options away; they come last.
    fn without_module(&self, finding: Finding) -> Finding {
        let files: BTreeSet<_> = self.lines.iter().map(|line| line.file.as_str()).collect();
        files.iter().filter(|file| file.starts_with("/etc/") && is_plain(file)).fold(
            finding,
            |finding, file| {
                let off = format!("sed -i.before -E 's/^[[:space:]]*options[[:space:]]+bond/#&/' {file}");
                finding.shell(off, Some(format!("mv {file}.before {file}")))
            },
        )
    }
}
