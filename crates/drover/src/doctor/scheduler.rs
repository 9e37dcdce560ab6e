//! `drover doctor scheduler set`: runs it, and says what was done, or would be.

use std::fmt::Write as _;

use drover_doctor::args::{SchedulerCommand, SetArgs};
use drover_host::scheduler::udev_rule;
use drover_host::setting::{Setting, revert};
use serde::Serialize;

use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

/// What was set or would be, and the rule that keeps it.
#[derive(Debug, Serialize)]
struct Told {
    #[serde(flatten)]
    setting: Setting,
    /// Whether it is set.
    is_applied: bool,
    /// The rule for udev that sets it at each start.
    udev_rule: String,
    /// Where that goes.
    udev_file: String,
}

pub(super) fn run(command: &SchedulerCommand, printer: &Printer) -> Result<Outcome, Failure> {
    let SchedulerCommand::Set(args) = command;
    let Some(to) = args.scheduler.as_ref().filter(|_| !args.revert) else {
        let reverted = revert(&args.device)?;
        let text = format!("{}: {} again; it was {}\n", reverted.device, reverted.to, reverted.from);
        printer.result(&reverted, text)?;
        return Ok(Outcome::Done);
    };
    let set = if args.apply { Setting::apply } else { Setting::of };
    let setting = set(&args.device, to, args.any)?;
    let told = Told {
        is_applied: args.apply,
        udev_rule: udev_rule(&setting.device, to),
        udev_file: format!("/etc/udev/rules.d/60-drover-{}.rules", setting.device),
        setting,
    };
    printer.result(&told, text(&told, args))?;
    Ok(Outcome::Done)
}

fn text(told: &Told, args: &SetArgs) -> String {
    let Setting { device, from, to, .. } = &told.setting;
    if args.persist {
        return rule(told);
    }
    let mut out = String::new();
    let _ = match (from == to, args.apply) {
        (true, _) => writeln!(out, "{device}: {to}, as it was"),
        (false, false) => writeln!(out, "would set  {device}: {from} to {to}"),
        (false, true) => writeln!(out, "set        {device}: {to}; it was {from}"),
    };
    about(&mut out, &told.setting);
    let command = format!("drover doctor scheduler set {device}");
    let _ = match (from == to, args.apply) {
        (true, _) => Ok(()),
        (false, false) => {
            writeln!(out, "nothing was changed: --apply sets it, {command} --revert puts it back")
        }
        (false, true) => writeln!(
            out,
            "until the host is started again, or {command} --revert; {command} {to} --persist prints what keeps it"
        ),
    };
    out
}

/// What depends on it.
fn about(out: &mut String, setting: &Setting) {
    let mut line = |name: &str, text: &str| {
        let text = if text.is_empty() { "nothing" } else { text };
        let _ = writeln!(out, "{name:<10} {text}");
    };
    line("offers", &setting.schedulers.join(", "));
    if let Some(requests) = &setting.nr_requests {
        line("queue", &format!("{requests} requests (nr_requests); another scheduler sets that anew"));
    }
    let mounts: Vec<_> = setting.mounts.iter().map(|point| point.display().to_string()).collect();
    line("mounted", &mounts.join(", "));
    if !setting.swaps.is_empty() {
        line("swap", &setting.swaps.join(", "));
    }
    if !setting.upper.is_empty() {
        line("part of", &setting.upper.join(", "));
    }
}

fn rule(told: &Told) -> String {
    let Told { udev_rule: rule, udev_file: file, setting, .. } = told;
    let name = &setting.device;
    let of_loop = match name.starts_with("loop") {
        true => {
            "A loop device gets its name anew each time: such a rule is of use only where the same one always does.\n"
        }
        false => {
            "Names can change when disks are added: `udevadm info` tells what a rule can know this one by.\n"
        }
    };
    format!(
        "# {file}\n{rule}\n\nWrite that line to that file, then: udevadm control --reload && udevadm trigger --sysname-match={name}\n\
         To undo it: rm {file}\n{of_loop}"
    )
}
