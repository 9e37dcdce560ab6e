//! Files of sections and keys, as systemd-networkd and NetworkManager have them.

use std::fmt::Write as _;

/// A section and its keys, in the order of the file; a key may come several times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Section {
    name: String,
    keys: Vec<(String, String)>,
}

/// Reads a file; what is no section and no key is passed over.
pub(super) fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { name: name.to_owned(), keys: Vec::new() });
        } else if let (Some((key, value)), Some(section)) = (line.split_once('='), sections.last_mut()) {
            section.keys.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    sections
}

/// The sections and keys of a text that a reader wants: nothing else of it.
pub(super) fn chosen(text: &str, is_wanted: fn(&str, &str) -> bool) -> String {
    let mut out = String::new();
    for section in parse(text) {
        let _ = writeln!(out, "[{}]", section.name);
        for (key, value) in section.keys.iter().filter(|(key, _)| is_wanted(&section.name, key)) {
            let _ = writeln!(out, "{key}={value}");
        }
    }
    out
}

/// All keys of the sections of a name.
pub(super) fn keys<'a>(sections: &'a [Section], name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let of_name = sections.iter().filter(move |section| section.name == name);
    of_name.flat_map(|section| section.keys.iter().map(|(key, value)| (key.as_str(), value.as_str())))
}

/// The value of a key; the last one counts.
pub(super) fn value<'a>(sections: &'a [Section], name: &'a str, key: &str) -> Option<&'a str> {
    keys(sections, name).filter(|(known, _)| *known == key).last().map(|(_, value)| value)
}

/// Whether a key is true.
pub(super) fn is_true(sections: &[Section], name: &str, key: &str) -> bool {
    let value = value(sections, name, key).unwrap_or_default().to_ascii_lowercase();
    matches!(value.as_str(), "yes" | "true" | "on" | "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_keys() {
        let sections =
            parse("stray=1\n[A]\n# comment\nk = v=w\nk=x\n\n[B]\nyes=true\n[A]\nmore=1\n[broken\n");
        assert_eq!(value(&sections, "A", "k"), Some("x"));
        assert_eq!(keys(&sections, "A").count(), 3);
        assert!(is_true(&sections, "B", "yes") && !is_true(&sections, "B", "no"));
        assert_eq!(value(&sections, "", "stray"), None);
    }
}
