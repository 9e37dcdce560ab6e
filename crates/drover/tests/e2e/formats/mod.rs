//! `--format sql` and `--format csv`.

mod csv;
mod sql;
mod sql_cases;
