//! How requests are handed to the kernel.

use serde::Serialize;

use super::ring;
use crate::{Error, Result};

/// How requests are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// One thread, which hands them over and takes them back in batches
    IoUring,
    /// A thread for each request under way, which waits for it in pread or pwrite
    Threads,
}

impl Engine {
    /// What is to be used, and what a person should know of that. Containers often forbid io_uring.
    ///
    /// # Errors
    /// If io_uring was asked for and the kernel refuses it.
    pub fn choose(asked: Option<Self>) -> Result<(Self, Option<String>)> {
        let refused = match asked {
            Some(Self::Threads) => return Ok((Self::Threads, None)),
            Some(Self::IoUring) | None => ring::refusal(),
        };
        match (refused, asked) {
            (None, _) => Ok((Self::IoUring, None)),
            (Some(error), Some(_)) => Err(Error::with_hint(
                format!("the kernel refuses io_uring: {error}"),
                "sysctl kernel.io_uring_disabled and the seccomp rules of containers forbid it; --engine threads does without",
            )),
            (Some(error), None) => {
                let warning = format!(
                    "the kernel refuses io_uring ({error}), so a thread waits for each request: that costs more CPU, and a fast \
                     disk may look slower than it is"
                );
                Ok((Self::Threads, Some(warning)))
            }
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Threads => "threads with pread and pwrite",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_there_always() {
        assert_eq!(Engine::choose(Some(Engine::Threads)).unwrap(), (Engine::Threads, None));
        let (engine, warning) = Engine::choose(None).unwrap();
        assert_eq!(engine == Engine::Threads, warning.is_some());
    }
}
