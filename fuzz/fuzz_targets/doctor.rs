//! A bundle of another host: files, settings and answers of strangers. All checks, and all that is made of a report.
#![no_main]

use clap::Parser;
use drover_doctor::args::ExamineArgs;
use libfuzzer_sys::fuzz_target;

#[derive(Parser)]
#[command(disable_help_flag = true)] // -h is the server's host
struct Cli {
    #[command(flatten)]
    args: ExamineArgs,
}

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let name = |name: &str| dir.path().join(name).to_str().expect("a path of ASCII").to_owned();
    let bundle = name("bundle");
    std::fs::write(&bundle, bytes).expect("a file");
    let ignored = name("ignored");
    let words = ["drover", "--root", &bundle, "--ignore-file", &ignored, "--interval", "0s"];
    let Ok(report) = drover_doctor::run(&Cli::parse_from(words).args, None) else { return };
    report.write_page(name("page").as_ref()).expect("a page");
    report.write_fix_script(name("script").as_ref()).expect("a script");
    serde_json::to_vec(&report).expect("JSON");
});
