//! Option files and server URLs.
#![no_main]

use drover_db::options::ServerArgs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("my.cnf");
    std::fs::write(&path, bytes).expect("a file");
    let ask = || Ok(String::new());
    let _ = ServerArgs { defaults_file: Some(path), ..ServerArgs::default() }.resolve(ask);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let args = ServerArgs {
            no_defaults: true,
            url: Some(format!("mysql://{text}").into()),
            ..ServerArgs::default()
        };
        let _ = args.resolve(ask);
    }
});
