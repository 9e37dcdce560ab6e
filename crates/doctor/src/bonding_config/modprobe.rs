//! Options that the bonding driver gets when it is loaded; modprobe.d(5).

use std::collections::BTreeMap;

use crate::bond::words::{is_option, word};
use crate::evidence::{Evidence, Seen, Unseen};

const OLD_FILE: &str = "/etc/modprobe.conf";
const FOLDERS: [&str; 5] = [
    "/etc/modprobe.d",
    "/run/modprobe.d",
    "/usr/local/lib/modprobe.d",
    "/usr/lib/modprobe.d",
    "/lib/modprobe.d",
];

/// A line that gives the driver options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleOptions {
    /// The file.
    pub(crate) file: String,
    /// The line.
    pub(crate) line: String,
    /// The name that the line has them for: `bonding`, or an alias such as `bond0`.
    pub(crate) name: String,
    /// The options, as words.
    pub(crate) options: BTreeMap<String, String>,
}

/// All such lines, in the order in which modprobe reads them, and what could not be read.
pub(crate) fn read(evidence: &Evidence) -> Seen<(Vec<ModuleOptions>, Vec<String>)> {
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    for folder in FOLDERS {
        match evidence.list(folder) {
            Err(Unseen::Missing) => {}
            names => {
                for name in names?.into_iter().filter(|name| is_read(name)) {
                    let path = format!("{folder}/{name}");
                    paths.entry(name).or_insert(path);
                }
            }
        }
    }
    let (mut lines, mut unseen) = (Vec::new(), Vec::new());
    for path in [OLD_FILE.to_owned()].into_iter().chain(paths.into_values()) {
        match evidence.setting(&path, wanted) {
            Ok(text) => lines.extend(joined(&text).into_iter().map(|line| (path.clone(), line))),
            Err(Unseen::Missing) => {}
            Err(why) => unseen.push(why.to_string()),
        }
    }
    if let Ok(command_line) = evidence.text("/proc/cmdline") {
        let of_driver = command_line.split_whitespace().filter_map(|word| word.strip_prefix("bonding."));
        let options: Vec<_> = of_driver.collect();
        if !options.is_empty() {
            lines.push(("/proc/cmdline".into(), format!("options bonding {}", options.join(" "))));
        }
    }
    let aliases: Vec<_> = lines.iter().filter_map(|(_, line)| alias(line)).map(str::to_owned).collect();
    let of_driver = |name: &str| name == "bonding" || aliases.iter().any(|alias| alias == name);
    let options = lines
        .into_iter()
        .filter_map(|(file, line)| options(file, &line))
        .filter(|line| of_driver(&line.name));
    Ok((options.collect(), unseen))
}

/// Before its version 3.4 modprobe read files of other endings, too.
fn is_read(name: &str) -> bool {
    name.ends_with(".conf") || !name.contains(['.', '~'])
}

/// The lines of a file; a backslash at the end joins a line with the next one.
fn joined(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    text.lines().map(str::trim).filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// Names of the driver, and options that it has: those of other modules may be anything.
fn wanted(text: &str) -> Result<String, String> {
    let line = |line: String| {
        if alias(&line).is_some() {
            return Some(line.split_whitespace().take(3).collect::<Vec<_>>().join(" "));
        }
        let words = line.strip_prefix("options")?.split_whitespace().collect::<Vec<_>>();
        let (name, options) = words.split_first()?;
        let is_known = |word: &&str| word.split('=').next().is_some_and(is_option);
        let options: Vec<_> = options.iter().copied().filter(is_known).collect();
        (*name == "bonding" || !options.is_empty()).then(|| format!("options {name} {}", options.join(" ")))
    };
    let lines: Vec<_> = joined(text).into_iter().filter_map(line).collect();
    Ok(lines.join("\n"))
}

/// The name of a line such as `alias bond0 bonding`.
fn alias(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("alias"), Some(name), Some("bonding")) => Some(name),
        _ => None,
    }
}

fn options(file: String, line: &str) -> Option<ModuleOptions> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|word| *word == "options").and(words.next())?.to_owned();
    let pair =
        |option: &str| option.split_once('=').map(|(option, value)| (option.to_owned(), word(option, value)));
    Some(ModuleOptions { file, line: line.to_owned(), name, options: words.filter_map(pair).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_options() {
        let of = |line| options("f".into(), line);
        let found = of("options bonding mode=4 \t max_bonds=4").unwrap();
        assert_eq!((found.name.as_str(), found.options["mode"].as_str()), ("bonding", "802.3ad"));
        assert_eq!(found.options["max_bonds"], "4");
        assert_eq!((of("alias a b"), of("")), (None, None));
        assert_eq!(alias("alias bond1 bonding"), Some("bond1"));
        assert_eq!(joined("options a \\\n b=1\n# no\n"), ["options a   b=1"]);
        assert!(is_read("bonding.conf") && is_read("bonding") && !is_read("bonding.conf.rpmsave"));
    }
}
