//! Those who do the work: closures, processes and web services. All take tasks from the desk and answer to it.

mod closure;
mod counter;
mod exec;
pub(crate) mod http;
mod json_lines;
pub(crate) mod line;
mod throttle;

use crate::Result;
use crate::desk::Desk;
use crate::totals::Totals;

pub use closure::Work;
use counter::Counter;
pub use http::WebService;
use throttle::Throttle;

/// Who does the work.
pub enum Hands<'a> {
    /// A closure, in as many threads as there are workers.
    Closure(&'a Work<'a>),
    /// One process of a shell's for each task.
    Exec(&'a str),
    /// Processes that live on, as many as there are workers: a line of JSON for each task in, one for each result out.
    JsonLines(&'a str),
    /// A web service: a request for each task, as many at a time as there are workers.
    Http(&'a WebService),
}

impl Hands<'_> {
    /// Works until the desk gives out nothing more.
    pub(crate) fn work(&self, desk: &Desk, totals: &Totals, workers: u32) -> Result<()> {
        let desk = &Counter { desk, totals };
        let throttle = &Throttle::new(workers);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..workers.max(1))
                .map(|_| {
                    scope.spawn(move || {
                        let result = match self {
                            Self::Closure(work) => closure::work(desk, work),
                            Self::Exec(command) => exec::work(desk, command),
                            Self::JsonLines(command) => json_lines::work(desk, command),
                            Self::Http(service) => service.work(desk, throttle),
                        };
                        if result.is_err() {
                            desk.desk.close(); // the others need not go on
                        }
                        result
                    })
                })
                .collect();
            let mut result = Ok(());
            for thread in threads {
                let ended = thread.join();
                let ended =
                    ended.unwrap_or_else(|_| Err(crate::Error::found("a worker's thread ended by a panic")));
                result = result.and(ended);
            }
            result
        })
    }
}
