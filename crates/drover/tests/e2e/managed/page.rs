//! The pages of docs/ on managed servers. What stands in their blocks of `sql` and `sh` is what the tests run: a statement or command of
//! which its comment says that it is for some servers only (`-- MySQL from 8.0 on, MariaDB 10.5`) runs on those.

use drover_sandbox::Flavour;

/// A server's vendor, and the first two numbers of its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) flavour: Flavour,
    pub(super) number: (u32, u32),
}

impl Version {
    pub(super) fn is_mysql_from(self, number: (u32, u32)) -> bool {
        self.flavour == Flavour::MySql && self.number >= number
    }

    /// Whether an item of a comment means it; `None` if the item is about no servers.
    fn is_meant_by(self, item: &str) -> Option<bool> {
        let vendors = [("MySQL", Flavour::MySql), ("MariaDB", Flavour::MariaDb)];
        let (rest, flavour) =
            vendors.into_iter().find_map(|(name, flavour)| Some((item.strip_prefix(name)?, flavour)))?;
        let number = |text: &str| {
            let (major, minor) = text.split_once('.').unwrap_or_else(|| panic!("no version: {item}"));
            (major.parse::<u32>().unwrap(), minor.parse::<u32>().unwrap())
        };
        let words: Vec<_> = rest.split(':').next().unwrap_or_default().split_whitespace().collect();
        let is_number = match words[..] {
            [] => true,
            [exactly] => self.number == number(exactly),
            ["from", first, "on"] => self.number >= number(first),
            ["before", behind] => self.number < number(behind),
            _ => panic!("not about versions: {item}"),
        };
        Some(is_number && flavour == self.flavour)
    }

    /// Whether something with this comment is for it.
    fn takes(self, comment: &str) -> bool {
        let meant: Vec<_> = comment.split(", ").filter_map(|item| self.is_meant_by(item.trim())).collect();
        meant.is_empty() || meant.contains(&true)
    }
}

/// A page, as its text stands in the repository.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page(pub(super) &'static str);

struct Block {
    section: &'static str,
    language: &'static str,
    lines: Vec<&'static str>,
}

impl Page {
    fn blocks(self) -> Vec<Block> {
        let (mut blocks, mut section, mut open) = (Vec::new(), "", None);
        for line in self.0.lines() {
            match (line.strip_prefix("```"), open.take()) {
                (Some(language), None) => open = Some(Block { section, language, lines: Vec::new() }),
                (Some(_), Some(block)) => blocks.push(block),
                (None, Some(mut block)) => {
                    block.lines.push(line);
                    open = Some(block);
                }
                (None, None) => section = line.strip_prefix("## ").unwrap_or(section),
            }
        }
        assert!(open.is_none(), "a block that nothing ends");
        blocks
    }

    /// What a section's blocks of a language have for this server, line by line and without comments.
    pub(super) fn lines(self, section: &str, language: &str, version: Version) -> Vec<String> {
        let mark = match language {
            "sql" => "-- ",
            _ => "# ",
        };
        let blocks = self.blocks().into_iter();
        let blocks = blocks.filter(|block| block.section == section && block.language == language);
        let lines = blocks.flat_map(|block| block.lines).filter_map(|line| {
            let (code, comment) = line.split_once(mark).unwrap_or((line, ""));
            Some(code.trim().to_owned()).filter(|code| !code.is_empty() && version.takes(comment))
        });
        lines.collect()
    }

    /// The sections that have blocks of a language, each once.
    pub(super) fn sections(self, language: &str) -> Vec<&'static str> {
        let mut sections: Vec<_> = self
            .blocks()
            .iter()
            .filter(|block| block.language == language)
            .map(|block| block.section)
            .collect();
        sections.dedup();
        sections
    }

    /// Blocks of these languages only are known: nothing else in them could be run.
    pub(super) fn languages(self) -> Vec<&'static str> {
        self.blocks().iter().map(|block| block.language).collect()
    }
}

#[test]
fn what_is_for_some_servers_only() {
    let of = |flavour, number| Version { flavour, number };
    let (old, new, other) =
        (of(Flavour::MySql, (5, 7)), of(Flavour::MySql, (9, 7)), of(Flavour::MariaDb, (10, 5)));
    let takes = |comment: &str| [old, new, other].map(|version| version.takes(comment));
    assert_eq!(takes(""), [true; 3]);
    assert_eq!(takes("three tasks"), [true; 3]);
    assert_eq!(takes("MySQL 5.7"), [true, false, false]);
    assert_eq!(takes("MySQL from 8.0 on: of others' routines, too"), [false, true, false]);
    assert_eq!(takes("MySQL before 8.0, MariaDB"), [true, false, true]);
    let page = Page("# A\n```sh\na   # MariaDB 10.5\n\n# b\nb\n```\n## B\n```sql\nc; -- x\n```\n");
    assert_eq!(page.lines("", "sh", other), ["a", "b"]);
    assert_eq!(page.lines("", "sh", new), ["b"]);
    assert_eq!(page.lines("B", "sql", new), ["c;"]);
    assert_eq!((page.sections("sh"), page.sections("sql")), (vec![""], vec!["B"]));
}
