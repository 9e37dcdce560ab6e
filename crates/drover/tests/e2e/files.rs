//! The files of a dump, as a person finds them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::client::feed;

/// All files below `dir`; none if it is not there.
pub(crate) fn files_in(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files.extend(files_in(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

/// The row files that are there and not empty.
pub(crate) fn row_files(dir: &Path) -> Vec<PathBuf> {
    let is_rows =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".tsv"));
    files_in(dir).into_iter().filter(is_rows).collect()
}

/// Whether the rows of a table are being written.
pub(crate) fn has_rows(dir: &Path) -> bool {
    !row_files(dir).is_empty()
}

pub(crate) fn manifest_path(dir: &Path) -> PathBuf {
    dir.join("manifest.json")
}

pub(crate) fn manifest(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(manifest_path(dir)).unwrap()).unwrap()
}

/// Changes the manifest, and its checksum with it.
pub(crate) fn change_manifest(dir: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = manifest(dir);
    value.as_object_mut().unwrap().remove("checksum");
    change(&mut value);
    let text = serde_json::to_string_pretty(&value).unwrap() + "\n";
    let checksum = xxhash_rust::xxh3::xxh3_128(text.as_bytes());
    let (first, rest) = text.split_at(2);
    fs::write(manifest_path(dir), format!("{first}  \"checksum\": \"{checksum:032x}\",\n{rest}")).unwrap();
}

/// What the manifest says of one table.
pub(crate) fn table(manifest: &Value, schema: &str, name: &str) -> Value {
    let named =
        |list: &Value, name: &str| list.as_array().unwrap().iter().find(|item| item["name"] == name).cloned();
    let schema =
        named(&manifest["schemas"], schema).unwrap_or_else(|| panic!("no schema {schema} in the manifest"));
    named(&schema["tables"], name).unwrap_or_else(|| panic!("no table {name} in the manifest"))
}

/// Packed by gzip.
pub(crate) fn gzip(text: &[u8]) -> Vec<u8> {
    feed(std::process::Command::new("gzip").arg("-c"), text).stdout
}
