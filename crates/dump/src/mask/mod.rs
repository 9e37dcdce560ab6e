//! Masking: values that are replaced while they are dumped, by rules from a file; see docs/masking.md. The key is not in the
//! dump, and the server never sees it: values are replaced here, between the packet and the line.

mod apply;
mod columns;
mod rules;

pub(crate) use apply::Masker;
pub(crate) use columns::{Masked, bind, dependent, of_table};
pub(crate) use rules::Rules;
