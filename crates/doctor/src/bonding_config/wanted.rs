//! Bonds as files ask for them, of whichever tool they are.

use std::collections::{BTreeMap, BTreeSet};

use crate::bond::Mode;
use crate::bond::words::word;
use crate::evidence::{Evidence, Unseen};
use crate::plan::NetworkTool;

/// A bond as a file asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its name: `bond0`.
    pub(crate) name: String,
    /// The options that are asked for by their names in sysfs, as words.
    pub(crate) options: BTreeMap<String, String>,
    /// The interfaces that are asked for.
    pub(crate) slaves: Vec<String>,
    /// The file.
    pub(crate) file: String,
    /// Whose file it is; `None` for Debian's ifupdown.
    pub(crate) tool: Option<NetworkTool>,
    /// What NetworkManager calls it; empty for other tools.
    pub(crate) connection: String,
    /// Whether it is set up without anybody asking.
    pub(crate) is_automatic: bool,
}

impl Wanted {
    pub(super) fn new(name: &str, file: &str, tool: Option<NetworkTool>) -> Self {
        let (name, file) = (name.to_owned(), file.to_owned());
        Self { name, file, tool, is_automatic: true, ..Self::default() }
    }

    /// Takes an option in the words of the kernel, written as a word or a number.
    pub(super) fn set(&mut self, option: &str, value: &str) {
        self.options.insert(option.to_owned(), word(option, value));
    }

    pub(super) fn add_slave(&mut self, name: &str) {
        if !self.slaves.iter().any(|known| known == name) {
            self.slaves.push(name.to_owned());
        }
    }

    /// The mode that is asked for.
    pub(crate) fn mode(&self) -> Option<Mode> {
        Mode::parse(self.options.get("mode")?)
    }

    /// An option that is a number.
    pub(crate) fn number(&self, option: &str) -> Option<u64> {
        self.options.get(option)?.parse().ok()
    }
}

/// What a reader wants of a file's text, as text that it reads in its place; else what is wrong with the file.
pub(super) type Wants = fn(&str) -> Result<String, String>;

/// What the files of a host ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// The bonds; one that several files ask for stands there as often.
    pub(crate) bonds: Vec<Wanted>,
    /// The tools that have files here.
    pub(crate) tools: BTreeSet<NetworkTool>,
    /// Whether Debian's ifupdown has.
    pub(crate) has_interfaces: bool,
    /// Files that could not be read, and why.
    pub(crate) unseen: Vec<String>,
}

impl Configuration {
    /// What is asked for a bond.
    pub(crate) fn of_bond<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Wanted> {
        self.bonds.iter().filter(move |bond| bond.name == name)
    }

    /// What a reader wants of the files in these directories whose names it reads, in the order of the names. A file hides those of its
    /// name in the directories after its own.
    pub(super) fn files(
        &mut self,
        evidence: &Evidence,
        folders: &[&str],
        is_read: fn(&str) -> bool,
        wanted: Wants,
    ) -> Vec<(String, String)> {
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        for folder in folders {
            match evidence.list(folder) {
                Ok(names) => {
                    for name in names.into_iter().filter(|name| is_read(name)) {
                        let path = format!("{folder}/{name}");
                        paths.entry(name).or_insert(path);
                    }
                }
                Err(Unseen::Missing) => {}
                Err(why) => self.unseen.push(why.to_string()),
            }
        }
        let texts =
            paths.into_values().filter_map(|path| Some((path.clone(), self.text(evidence, &path, wanted)?)));
        texts.collect()
    }

    pub(super) fn text(&mut self, evidence: &Evidence, path: &str, wanted: Wants) -> Option<String> {
        match evidence.setting(path, wanted) {
            Ok(text) => Some(text),
            Err(Unseen::Missing) => None,
            Err(why) => {
                self.unseen.push(why.to_string());
                None
            }
        }
    }
}
