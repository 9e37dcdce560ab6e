//! Delays of a bond that are not what they were set to.

use crate::bond::Bond;
use crate::bonding_config::{Configuration, modprobe};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.delays",
    area: Area::Bonding,
    looks_for: "updelay and downdelay that are no multiples of miimon, or without it",
    needs: "the files that set bonds up; keyfiles of NetworkManager only root can read",
    source: "Documentation/networking/bonding.rst on updelay and downdelay: they should be multiples of miimon, and are rounded down to \
             the nearest one if not",
    refuted_by: "the rounded delay is as good here",
    look,
};

/// A place that sets options: bond, file, and a number among the options.
type Place<'a> = (String, &'a str, &'a dyn Fn(&str) -> Option<u64>);

fn look(facts: &Facts) -> Seen<Outcome> {
    let bonds = Bond::all(&facts.evidence)?;
    let configuration = Configuration::of(&facts.evidence);
    let (module, mut unseen) = modprobe::read(&facts.evidence)?;
    unseen.extend(configuration.unseen.iter().cloned());
    if bonds.is_empty() && configuration.bonds.is_empty() {
        return Ok(Outcome::not_here("there is no bond"));
    }
    let mut outcome = Outcome { unknown: unseen, ..Outcome::default() };
    for wanted in &configuration.bonds {
        let number = |option: &str| wanted.number(option);
        let running = bonds.iter().find(|bond| bond.name == wanted.name);
        of_place(&(wanted.name.clone(), &wanted.file, &number), running, &mut outcome);
    }
    for line in &module {
        let number = |option: &str| line.options.get(option)?.parse().ok();
        of_place(&("bonding".into(), &line.file, &number), None, &mut outcome);
    }
    if outcome == Outcome::default() {
        outcome.fine.push("no file sets updelay or downdelay".into());
    }
    Ok(outcome)
}

fn of_place((name, file, number): &Place<'_>, running: Option<&Bond>, outcome: &mut Outcome) {
    let miimon = number("miimon").or_else(|| running?.number("miimon"));
    for option in ["updelay", "downdelay"] {
        let Some(delay @ 1..) = number(option) else { continue };
        let seen = format!(
            "{file}: {option} {delay} ms, miimon {}",
            miimon.map_or("not set".into(), |ms| format!("{ms} ms"))
        );
        let now = running.and_then(|bond| bond.number(option));
        let finding = match miimon {
            Some(0) | None => Finding::observed(
                Weight::Note,
                format!("{option} does nothing without miimon"),
                "set miimon=100, or take the delay out",
            ),
            Some(miimon) if delay % miimon == 0 => {
                outcome.fine.push(seen);
                continue;
            }
            Some(miimon) => rounded(option, delay, miimon),
        };
        let finding = finding.about(name.clone()).seen(seen);
        outcome.findings.push(match now {
            Some(now) => finding.seen(format!("the kernel has {now} ms")),
            None => finding,
        });
    }
}

fn rounded(option: &str, delay: u64, miimon: u64) -> Finding {
    let real = delay - delay % miimon;
    let advice = match real {
        0 => format!("set {option} to {miimon} ms, which is miimon, or a multiple of it"),
        real => format!("set {option} to {real} or {} ms, multiples of miimon", real + miimon),
    };
    let weight = if real == 0 { Weight::Yellow } else { Weight::Note };
    Finding::observed(weight, format!("{option} is {real} ms, not {delay}"), advice)
        .effect(format!("the kernel counts delays in steps of miimon, {miimon} ms, and rounds down"))
}
