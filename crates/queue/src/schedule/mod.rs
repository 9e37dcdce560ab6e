//! Tasks that come again and again.

mod cron;
