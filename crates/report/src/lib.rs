//! What results look like to people: numbers in words, pages with charts, how far the work is.
//!
//! A [`Page`] is one HTML file that needs nothing else: no network, no script, no font. Charts are drawn here, as SVG that is as
//! wide as its place and whose text keeps its size; the figures that they show stand beside them as text. Light or dark is the
//! reader's choice. Names come from strangers' logs and servers, and are escaped wherever they are written.

mod axis;
mod calendar;
mod chart;
mod escape;
mod figures;
mod lines;
mod page;
mod parts;
pub mod plain;
mod progress;
mod table;
mod terms;
mod timeline;

pub use figures::Figures;
pub use lines::{Axis, Lines, Scale};
pub use page::{Block, Page, STYLE, Section};
pub use parts::Parts;
pub use progress::{Progress, ProgressSnapshot};
pub use table::{Cell, Column, Table};
pub use terms::Terms;
pub use timeline::Timeline;
