//! Results as text.

use std::process::ExitCode;

use drover_dump::manifest::{Contents, Snapshot};
use drover_dump::{CopyReport, DumpReport, ForeignReport, NotHeld, RestoreReport, UsersReport, VerifyReport};
use drover_report::plain::one_line;
use drover_units::show::{bytes, rate, seconds, things};

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Done,
    /// It found something that a person should look at.
    Found,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(u8::from(self == Self::Found))
    }
}

pub(crate) fn dump(dump: &DumpReport) -> String {
    let dumped = format!(
        "dumped    {} of {}{} from {}, {}\n\
         text      {} in {} ({}){}\n\
         stored    {} in {}\n\
         {}",
        things(dump.tables as u64, "table"),
        things(dump.schemas as u64, "schema"),
        dump.accounts
            .map_or_else(String::new, |accounts| format!(" and {}", things(accounts as u64, "account"))),
        dump.server,
        rows(dump.contents, dump.rows),
        bytes(dump.bytes),
        seconds(dump.seconds),
        rate(dump.bytes, dump.seconds),
        paused(dump.paused_seconds),
        bytes(dump.stored_bytes),
        dump.directory.display(),
        moment(&dump.snapshot),
    );
    [dumped].into_iter().chain(mixed(dump.mixed.as_deref())).collect::<Vec<_>>().join("\n")
}

/// Said also where nobody asked for warnings: whoever goes on from these rows has to know.
fn mixed(of: Option<&str>) -> Option<String> {
    of.map(|of| format!("mixed     {of}"))
}

/// The moment that rows belong to.
fn moment(snapshot: &Snapshot) -> String {
    let position = match (&snapshot.binlog_file, snapshot.binlog_position) {
        (Some(file), Some(position)) => format!("{file}:{position}"),
        _ => "not known (no binary log, or no privilege to ask)".into(),
    };
    if let Some(tso) = snapshot.tso {
        return format!("snapshot  {} without a lock\ntso       {tso}", snapshot.taken_at);
    }
    let gtid = snapshot.gtid_set.as_deref().unwrap_or("none").replace('\n', "");
    let (position, gtid) = (one_line(&position), one_line(&gtid));
    format!(
        "snapshot  {} under {}, writers held for {} ms\n\
         binlog    {position}\n\
         gtid      {gtid}",
        snapshot.taken_at, snapshot.lock, snapshot.lock_held_ms,
    )
}

pub(crate) fn copy(copy: &CopyReport) -> String {
    let restore = &copy.restore;
    let again = match copy.sent_again {
        0 => String::new(),
        again => format!(", {} sent again", things(again, "chunk")),
    };
    let copied = format!(
        "copied    {} of {} from {} to {}, {}\n\
         text      {}{again}\n\
         {}\n\
         state     {}",
        things(restore.tables as u64, "table"),
        things(copy.schemas as u64, "schema"),
        copy.from,
        restore.server,
        rows(copy.contents, restore.rows),
        text(restore),
        moment(&copy.snapshot),
        copy.state.display(),
    );
    let mixed = mixed(restore.mixed.as_deref());
    [copied].into_iter().chain(mixed).chain(proof(restore)).collect::<Vec<_>>().join("\n")
}

pub(crate) fn restore(restore: &RestoreReport) -> String {
    let loaded = format!(
        "restored  {} into {}, {}\n\
         text      {}",
        things(restore.tables as u64, "table"),
        restore.server,
        things(restore.rows, "row"),
        text(restore),
    );
    let mixed = mixed(restore.mixed.as_deref());
    [loaded].into_iter().chain(mixed).chain(proof(restore)).collect::<Vec<_>>().join("\n")
}

/// How much text was loaded, and how fast; what an earlier run had loaded says nothing of that.
fn text(restore: &RestoreReport) -> String {
    let loaded = restore.bytes.saturating_sub(restore.there_bytes);
    if loaded == 0 && restore.there_bytes > 0 {
        return format!("{}, there since an earlier run", bytes(restore.bytes));
    }
    let there = match restore.there_bytes {
        0 => String::new(),
        there => format!(", and {} there since an earlier run", bytes(there)),
    };
    format!(
        "{} in {} ({}){}{there}",
        bytes(loaded),
        seconds(restore.load_seconds),
        rate(loaded, restore.load_seconds),
        paused(restore.paused_seconds)
    )
}

/// What else than rows became of the target, and whether all is there.
fn proof(restore: &RestoreReport) -> Vec<String> {
    let verified = match &restore.verify {
        Some(report) => verify(report),
        None => "verified  no: --no-verify was given".to_owned(),
    };
    let users = restore.users.iter().flat_map(|users| accounts(users, "created"));
    let definers = definers(restore.definers_changed, "changed");
    let told = crate::translation::restored(restore).into_iter().chain(definers);
    told.chain(users).chain([verified]).collect()
}

pub(crate) fn foreign(restore: &ForeignReport) -> String {
    let rows = match restore.row_warnings {
        0 => String::new(),
        warnings => format!("\nwarned    {} about rows, with file and line above", things(warnings, "time")),
    };
    let differs: String =
        restore.differences.iter().map(|what| format!("\ndiffers   {}", one_line(what))).collect();
    let definers =
        definers(restore.definers_changed, "changed").map(|line| format!("\n{line}")).unwrap_or_default();
    format!(
        "restored  {} into {}, {} as the server counted them\n\
         from      {}\n\
         loaded    {}\n\
         text      {} in {}, {} ({})\n\
         verified  no: this dump holds no digests{definers}{rows}{differs}",
        things(restore.tables.len() as u64, "table"),
        restore.server,
        things(restore.rows, "row"),
        restore.kind,
        restore.loading,
        bytes(restore.bytes),
        things(restore.statements, "statement"),
        seconds(restore.seconds),
        rate(restore.bytes, restore.seconds),
    )
}

/// How many views and programs get another definer.
pub(crate) fn definers(changed: usize, word: &str) -> Option<String> {
    (changed > 0).then(|| format!("definers  {} {word}", things(changed as u64, "object")))
}

/// What became of the accounts, and what a person has to do for them.
pub(crate) fn accounts(users: &UsersReport, created: &str) -> Vec<String> {
    let alone = match users.left_alone.as_slice() {
        [] => String::new(),
        names => format!("; left alone: {}", names.join(", ")),
    };
    let same =
        if users.same == 0 { String::new() } else { format!(", {} there already and the same", users.same) };
    let kept = match users.password_kept.len() {
        0 => String::new(),
        kept => format!(", {kept} there already whose passwords cannot be compared"),
    };
    let first = format!("accounts  {} {created}{same}{kept}{alone}", users.created);
    let lost = |one: &NotHeld| {
        let needed = one.statement.iter().map(|statement| format!("          needs {statement};"));
        [format!("not held  {}: {}", one.account, one.what)].into_iter().chain(needed).collect::<Vec<_>>()
    };
    let all = [first].into_iter().chain(users.not_held.iter().flat_map(lost));
    all.map(|line| one_line(&line).into_owned()).collect()
}

/// For how long a limit let the work wait.
pub(crate) fn paused(time: f64) -> String {
    if time > 0.0 { format!(", paused for {}", seconds(time)) } else { String::new() }
}

/// How many rows a dump holds, or that it holds something else only.
fn rows(contents: Contents, rows: u64) -> String {
    match contents {
        Contents::All => things(rows, "row"),
        Contents::Definitions => "definitions only".into(),
        Contents::Rows => format!("{}, no definitions", things(rows, "row")),
    }
}

pub(crate) fn verify(verify: &VerifyReport) -> String {
    let verdict = match verify.differences.len() {
        0 if verify.files_only => "as written".to_owned(),
        0 if !verify.contents.has_rows() && verify.definitions == 0 => "nothing".to_owned(),
        0 => "identical".to_owned(),
        found => things(found as u64, "difference"),
    };
    let definitions = match verify.definitions {
        0 if !verify.contents.has_definitions() => "definitions not compared: the dump holds none".to_owned(),
        0 => "definitions not compared: another vendor or version writes them differently".to_owned(),
        definitions => things(definitions as u64, "definition"),
    };
    let accounts = match verify.accounts {
        0 => String::new(),
        accounts => format!(", {}", things(accounts as u64, "account")),
    };
    let alone = match verify.accounts_left_alone.as_slice() {
        [] => String::new(),
        names => format!("; not compared: {}", one_line(&names.join(", "))),
    };
    let first = format!(
        "verified  {verdict}: {} in {}; {definitions}{accounts}{alone}",
        match verify.contents.has_rows() {
            true => format!(
                "{} of {} read back",
                things(verify.rows, "row"),
                things(verify.tables as u64, "table")
            ),
            false => "rows not compared: the dump holds none,".to_owned(),
        },
        seconds(verify.seconds),
    );
    let files = (verify.files > 0)
        .then(|| format!("{}, {}", things(verify.files as u64, "file"), bytes(verify.file_bytes)));
    let first = match &files {
        Some(files) if verify.files_only => {
            let took = seconds(verify.seconds);
            format!("verified  {verdict}: {files} in {took}; no server was asked")
        }
        _ => first,
    };
    let files = files.filter(|_| !verify.files_only).map(|files| format!("files     {files} read"));
    let counted = verify.only_counted.iter().map(|table| format!("counted   {}", one_line(table)));
    let keys = verify.keys_added.iter().map(|table| {
        format!("key added {}: my_row_id (sql_generate_invisible_primary_key)", one_line(table))
    });
    let lines = [first].into_iter().chain(files).chain(counted).chain(keys).chain(differences(verify));
    lines.collect::<Vec<_>>().join("\n")
}

/// A line for each difference, up to a number that a person still reads.
fn differences(verify: &VerifyReport) -> Vec<String> {
    const SHOWN: usize = 50;
    let line = |difference: &drover_dump::Difference| match &difference.file {
        Some(file) => format!("differs   {} ({file}): {}", difference.object, difference.what),
        None => format!("differs   {}: {}", difference.object, difference.what),
    };
    let shown = verify.differences.iter().take(SHOWN).map(line);
    let mut lines: Vec<_> = shown.map(|line| one_line(&line).into_owned()).collect();
    if verify.differences.len() > SHOWN {
        lines.push(format!("          and {} more (--json lists all)", verify.differences.len() - SHOWN));
    }
    lines
}
