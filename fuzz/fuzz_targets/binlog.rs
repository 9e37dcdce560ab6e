//! A binary log from a stranger: it is listed, counted and printed, as SQL and as JSON, and its files are taken out. Checksums are not
//! compared, or nothing would come far.
#![no_main]

use clap::Parser;
use drover_binlog::{BinlogArgs, BinlogCommand, extract, ls, sql, stat};
use libfuzzer_sys::fuzz_target;

#[derive(Parser)]
#[command(disable_help_flag = true)] // -h is the server's host
struct Cli {
    #[command(flatten)]
    args: BinlogArgs,
}

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let log = dir.path().join("log");
    std::fs::write(&log, bytes).expect("a file");
    let log = log.to_str().expect("a path of ASCII");
    let files = dir.path().join("files");
    let files = files.to_str().expect("a path of ASCII");
    let go_on = || false;
    let flashback = &["sql", "--flashback", "--table=*"];
    let files = &["extract", "--out", files];
    let picked = &["stat", "--database=d*", "--event=query", "--event=write_rows", "--event=write_rows_v1"];
    let chosen = &["sql", "--database=d*", "--table=*.t*"];
    for words in [&["ls"][..], &["ls", "--events"], &["stat"], picked, &["sql"], chosen, flashback, files] {
        let words = [&["drover"], words, &["--no-checksums", log]].concat();
        let mut out = std::io::sink();
        match Cli::parse_from(words).args.command {
            BinlogCommand::Ls(args) => drop(ls(&args, None, true, &mut out, &go_on)),
            BinlogCommand::Stat(args) => {
                drop(stat(&args, None, &go_on).map(|report| report.page().to_string()))
            }
            BinlogCommand::Sql(args) => {
                drop(sql(&args, None, None, false, &mut out, &go_on));
                drop(sql(&args, None, None, true, &mut out, &go_on));
            }
            // It needs a server.
            BinlogCommand::Replay(_) => {}
            // It has a target of its own.
            BinlogCommand::Cost(_) => {}
            BinlogCommand::Extract(args) => drop(extract(&args, None, None, true, &mut out, &go_on)),
        }
    }
});
