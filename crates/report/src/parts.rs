//! Parts of a whole, as bars, the largest first.

use std::fmt::{self, Formatter};

use crate::chart::colour;
use crate::escape::Escaped;
use crate::table::bar;
use drover_units::Unit;
use drover_units::show;

/// Parts of a whole. The smallest are shown as one.
#[derive(Debug, Clone)]
pub struct Parts {
    unit: Unit,
    kinds: Vec<String>,
    parts: Vec<Part>,
    most: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// `None` for what is of no kind, and where several are shown as one.
    kind: Option<usize>,
    name: String,
    amount: u64,
}

impl Parts {
    /// What is less than this part of the whole is not shown by itself, except for the first few.
    const SMALL: f64 = 0.005;
    const FEW: usize = 8;

    /// None yet, of these kinds, each of which has a colour.
    pub fn new(unit: Unit, kinds: &[&str]) -> Self {
        Self { unit, kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(), parts: Vec::new(), most: 15 }
    }

    /// Shows at most so many by themselves.
    #[must_use]
    pub fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Adds one of a kind (its number in the list that was given).
    pub fn add(&mut self, kind: usize, name: impl Into<String>, amount: u64) {
        self.parts.push(Part { kind: Some(kind), name: name.into(), amount });
    }

    /// Adds what is left when all kinds are told.
    pub fn rest(&mut self, name: impl Into<String>, amount: u64) {
        self.parts.push(Part { kind: None, name: name.into(), amount });
    }

    /// The largest, and all others as one.
    fn folded(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = self.parts.iter().filter(|part| part.amount > 0).cloned().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.amount));
        let whole: f64 = parts.iter().map(|part| part.amount as f64).sum();
        let large = parts.iter().filter(|part| part.amount as f64 >= whole * Self::SMALL).count();
        let shown = large.max(Self::FEW).min(self.most);
        // One that is folded alone would take as much room as it does by itself.
        if parts.len() > shown.saturating_add(1) {
            let others = parts.split_off(shown);
            let amount = others.iter().map(|part| part.amount).fold(0, u64::saturating_add);
            let name = format!("{} others", show::count(others.len() as u64));
            parts.push(Part { kind: None, name, amount });
        }
        parts
    }

    pub(crate) fn html(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts = self.folded();
        self.legend(f, &parts)?;
        let whole = parts.iter().map(|part| part.amount as f64).sum::<f64>();
        let largest = parts.iter().map(|part| part.amount).max().unwrap_or(0) as f64;
        writeln!(f, "<ol class=\"parts\">")?;
        for part in &parts {
            let amount = part.amount as f64;
            write!(f, "<li><span class=\"name\">{}</span>", Escaped(&part.name))?;
            bar(f, amount / largest, &class(part.kind))?;
            for (class, text) in
                [("amount", self.unit.text(amount)), ("share", Unit::Share.text(amount / whole))]
            {
                write!(f, "<span class=\"{class}\">{}</span>", Escaped(&text))?;
            }
            writeln!(f, "</li>")?;
        }
        writeln!(f, "</ol>")
    }

    /// What the colours mean, where there are several.
    fn legend(&self, f: &mut Formatter<'_>, parts: &[Part]) -> fmt::Result {
        let shown = |kind: usize| parts.iter().any(|part| part.kind == Some(kind));
        let kinds: Vec<_> = self.kinds.iter().enumerate().filter(|(kind, _)| shown(*kind)).collect();
        if kinds.len() < 2 {
            return Ok(());
        }
        write!(f, "<ul class=\"legend\">")?;
        for (kind, name) in kinds {
            let class = colour(kind);
            write!(
                f,
                "<li><svg aria-hidden=\"true\"><rect class=\"{class}\" width=\"100%\" height=\"100%\"/></svg>{}</li>",
                Escaped(name)
            )?;
        }
        writeln!(f, "</ul>")
    }
}

/// The colour of a kind.
fn class(kind: Option<usize>) -> String {
    kind.map_or_else(|| "rest".to_owned(), colour)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(parts: &Parts) -> Vec<String> {
        parts.folded().into_iter().map(|part| part.name).collect()
    }

    #[test]
    fn the_smallest_are_folded() {
        let mut parts = Parts::new(Unit::Bytes, &["tables"]).most(2);
        for (name, amount) in [("a", 1), ("b", 5), ("none", 0), ("c", 3)] {
            parts.add(0, name, amount);
        }
        assert_eq!(names(&parts), ["b", "c", "a"]);
        parts.add(0, "d", 4);
        assert_eq!(names(&parts), ["b", "d", "2 others"]);
        let mut parts = Parts::new(Unit::Bytes, &["tables"]);
        (0..30).for_each(|number| parts.add(0, number.to_string(), if number < 9 { 1000 } else { 1 }));
        assert_eq!(names(&parts).len(), 10);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(amounts in prop::collection::vec(0..u64::MAX / 100, 0..60), most in 0..20_usize) {
            let mut parts = Parts::new(Unit::Bytes, &["tables", "statements"]).most(most);
            for (index, &amount) in amounts.iter().enumerate() {
                parts.add(index % 2, index.to_string(), amount);
            }
            let folded = parts.folded();
            prop_assert_eq!(folded.iter().map(|part| part.amount).sum::<u64>(), amounts.iter().sum::<u64>());
            prop_assert!(folded.len() <= most + 1);
            let by_themselves = folded.iter().filter(|part| part.kind.is_some());
            prop_assert!(by_themselves.is_sorted_by_key(|part| std::cmp::Reverse(part.amount)));
        }
    }
}
