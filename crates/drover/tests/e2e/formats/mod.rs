//! `--format sql` and `--format csv`.

mod csv;
mod programs;
mod sql;
mod sql_cases;
