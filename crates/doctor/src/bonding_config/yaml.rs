//! YAML as a tree of texts. What kind of value a text is, the reader of a key decides, as netplan itself does.

use std::collections::BTreeMap;
use std::fmt;

use saphyr_parser::{Event, Parser};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A text, a number, nothing.
    Text(String),
    /// Values in their order.
    List(Vec<Node>),
    /// Values by name, in the order of the file.
    Map(Vec<(String, Node)>),
}

/// How deeply values may lie in others; netplan's do in seven.
const DEPTH: usize = 64;
/// How many values a file may come to when aliases are put in.
const VALUES: usize = 100_000;

impl Node {
    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The names and values; none of what has no names.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    /// The values of a list; none of what is no list.
    pub(super) fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The text; empty for what is none.
    pub(super) fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { "" }
    }

    fn count(&self) -> usize {
        match self {
            Self::Text(_) => 1,
            Self::List(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Self::Map(entries) => 1 + entries.iter().map(|(_, value)| value.count()).sum::<usize>(),
        }
    }
}

/// As YAML's flow style has it, in double quotes: `{"a": ["b"]}`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Text(value) => f.write_str(&text(value)),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Map(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|(name, value)| format!("{}: {value}", text(name))).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

/// A list or a map that has not ended yet, the number of its anchor, and the name that waits for its value.
struct Open {
    node: Node,
    anchor: usize,
    name: Option<String>,
}

/// Reads the first document of a text.
pub(super) fn parse(text: &str) -> Result<Node, String> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        match event.map_err(|error| error.to_string())?.0 {
            Event::MappingStart(anchor, _) => tree.open(Node::Map(Vec::new()), anchor)?,
            Event::SequenceStart(anchor, _) => tree.open(Node::List(Vec::new()), anchor)?,
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(Open { node, anchor, .. }) = tree.open.pop() {
                    tree.add(node, anchor)?;
                }
            }
            Event::Scalar(text, _, anchor, _) => tree.add(Node::Text(text.into_owned()), anchor)?,
            Event::Alias(anchor) => {
                let node = tree.anchors.get(&anchor).cloned().ok_or("an alias of what is not there")?;
                tree.add(node, 0)?;
            }
            Event::DocumentEnd => break,
            _ => {}
        }
    }
    Ok(tree.root.unwrap_or(Node::Text(String::new())))
}

#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    root: Option<Node>,
    values: usize,
}

impl Tree {
    fn open(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        self.open.push(Open { node, anchor, name: None });
        if self.open.len() > DEPTH { Err("values lie too deeply in others".into()) } else { Ok(()) }
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        self.values += if anchor == 0 { node.count() } else { 2 * node.count() };
        if self.values > VALUES {
            return Err("too many values".into());
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut parent.node, parent.name.take()) {
            (Node::Map(entries), Some(name)) => entries.push((name, node)),
            (Node::List(items), _) => items.push(node),
            _ => parent.name = Some(node.text().to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree() {
        let root =
            parse("a:\n  b: [x, \"y z\", 3]\n  c: {d: 802.3ad}\n# end\ne: &e {f: g}\nh: *e\n").unwrap();
        let items: Vec<_> = root.get("a").unwrap().get("b").unwrap().items().iter().map(Node::text).collect();
        assert_eq!(items, ["x", "y z", "3"]);
        assert_eq!(root.get("a").unwrap().get("c").unwrap().get("d").unwrap().text(), "802.3ad");
        assert_eq!(root.get("h").unwrap().get("f").unwrap().text(), "g");
        assert_eq!(parse("").unwrap(), Node::Text(String::new()));
    }

    #[test]
    fn what_is_no_yaml() {
        assert!(parse("a: [1, 2").is_err());
        assert!(parse("a: b: c").is_err());
        assert!(parse("a: *nothing").is_err());
        assert!(parse(&"[".repeat(100)).is_err());
        let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)).collect();
        assert!(parse(&format!("a0: &a0 x\n{bomb}")).is_err());
    }
}
