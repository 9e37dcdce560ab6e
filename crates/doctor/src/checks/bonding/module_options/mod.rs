//! Options of the driver's module, which are those of every bond that it makes.

mod told;

use std::collections::BTreeSet;

use crate::bond::{Bond, Mode};
use crate::bonding_config::Configuration;
use crate::bonding_config::modprobe::{self, ModuleOptions};
use crate::check::{Area, Check, Outcome};
use crate::evidence::Seen;
use crate::facts::Facts;

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
    let Some(line) = lines.first() else {
        outcome.not_here = Some("the module bonding has no options".into());
        return Ok(outcome);
    };
    let scene = Scene::of(facts, &lines)?;
    let Some(mode) = scene.mode else {
        outcome.fine.push(format!("{}: {} gives bonds no mode", line.file, line.line));
        return Ok(outcome);
    };
    outcome.unknown.extend(scene.configuration.unseen.clone());
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
}
