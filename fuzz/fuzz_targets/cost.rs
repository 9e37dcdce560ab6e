//! A binary log from a stranger: what it costs, and what it would cost with all that can be set. The parts are the whole. Checksums are not
//! compared, or nothing would come far.
#![no_main]

use clap::Parser;
use drover_binlog::{CostArgs, cost};
use libfuzzer_sys::fuzz_target;

#[derive(Parser)]
#[command(disable_help_flag = true)] // -h is the server's host
struct Cli {
    #[command(flatten)]
    args: CostArgs,
}

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let log = dir.path().join("log");
    std::fs::write(&log, bytes).expect("a file");
    let log = log.to_str().expect("a path of ASCII");
    for words in
        [&["--link=1Mbit"][..], &["--compression", "--compress-min-len=10", "--row-event-max-size=256"]]
    {
        let words = [&["drover", "--no-checksums"], words, &[log]].concat();
        let Ok(report) = cost(&Cli::parse_from(words).args, None, None, &|| false) else { continue };
        let tables: u64 = report.bytes.by_table.values().sum();
        assert_eq!(tables + report.bytes.other, report.bytes.total);
        let statements: u64 = report.statements.iter().map(|one| one.bytes).sum();
        assert_eq!(statements + report.without_statement, report.bytes.total);
        drop(report.page().to_string());
    }
});
