//! The general query log, which holds each statement of each client.

use drover_units::show;

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.general_log",
    area: Area::Server,
    looks_for: "the general query log, which is written for each statement and holds its text",
    needs: "variables general_log, log_output and general_log_file; status variable Questions",
    source: "MySQL manual, The General Query Log, and Passwords and Logging; MariaDB manual, General Query Log",
    refuted_by: "it was turned on to look for something and is turned off when that is found, or an audit asks for it",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    if !facts.is_on("general_log")? {
        return Ok(Outcome::fine("general_log is OFF"));
    }
    let output = facts.variable("log_output")?.to_ascii_uppercase();
    if output.split(',').any(|to| to == "NONE") {
        return Ok(Outcome::fine("general_log is ON, and log_output is NONE: nothing is written"));
    }
    let (statements, seconds) = facts.growth("Questions")?;
    let average = facts.status("Questions")? / facts.status("Uptime")?.max(1.0);
    Ok(Outcome::found(
        Finding::observed(
            Weight::Yellow,
            "the general query log is on: each statement of each client is written to it, with the values in it",
            "turn it off, here and in the option file, unless somebody looks for something just now; what was written stays where it is",
        )
        .seen(format!("general_log is ON, and log_output is {output}: {}", place(facts, &output)?))
        .seen(format!("Questions: {statements:.1} statements a second over {seconds:.1} s, some of them doctor's own"))
        .effect(format!(
            "{} statements a day, as they came on average since the server started; nothing removes old ones, and who may read the log \
             reads what clients send",
            show::count((average * 86_400.0) as u64)
        ))
        .sql("SET GLOBAL general_log = OFF", Some("SET GLOBAL general_log = ON".into())),
    ))
}

fn place(facts: &Facts, output: &str) -> Seen<String> {
    let file = || Ok(format!("the file {}", facts.variable("general_log_file")?));
    let table = || Ok("the table mysql.general_log".to_owned());
    let places = output.split(',').map(|to| if to == "TABLE" { table() } else { file() });
    Ok(places.collect::<Seen<Vec<_>>>()?.join(" and "))
}
