//! The command line of `drover bench malloc`.

use std::fmt;

use drover_db::options::ServerArgs;
use serde::{Deserialize, Serialize};

use super::sweep::{self, Sizes};
use crate::measuring::MeasureArgs;

/// Options of `bench malloc`.
#[derive(Debug, clap::Args)]
pub struct MallocArgs {
    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,

    /// In which ways to allocate
    #[arg(long, value_name = "WAY,…", value_enum, value_delimiter = ',', default_values_t = Way::ALL)]
    pub ways: Vec<Way>,

    /// What to allocate: a range to go through, such as 16k..512M, or a list, such as 128k,1M
    #[arg(long, value_name = "SIZES", default_value = "16k..512M", value_parser = sweep::parse)]
    pub sizes: Sizes,

    /// Time so many allocations at each size [default: those of 10 ms, and at least 3]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub count: Option<u64>,

    /// Show where the buffers of a server lie on the curve; the server options say of which one
    #[arg(long)]
    pub server: bool,

    /// The server.
    #[command(flatten)]
    pub connection: ServerArgs,
}

impl MallocArgs {
    /// Whether each size was named, so that each is to be shown.
    pub fn lists_sizes(&self) -> bool {
        matches!(self.sizes, Sizes::List(_))
    }

    /// The option that says which server is meant, where no server was asked for.
    pub fn stray_option(&self) -> Option<&'static str> {
        let given = [
            (self.connection.host.is_some(), "--host"),
            (self.connection.port.is_some(), "--port"),
            (self.connection.socket.is_some(), "--socket"),
            (self.connection.user.is_some(), "--user"),
            (self.connection.url.is_some(), "--url"),
            (self.connection.defaults_file.is_some(), "--defaults-file"),
        ];
        let stray = given.into_iter().find(|(is_given, _)| *is_given && !self.server);
        stray.map(|(_, name)| name)
    }
}

/// A way to allocate. Each block that is measured belongs to a process of its own kind: nothing was allocated there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// One block after the other, and none is freed: what the first use costs
    Cold,
    /// Allocated and freed in turns: the threshold adapts to what is freed, unless GLIBC_TUNABLES sets it
    Dynamic,
    /// The same with the threshold set to 128 KiB (M_MMAP_THRESHOLD), so that it stays
    Fixed,
    /// The same without mappings (M_MMAP_MAX=0)
    NoMmap,
    /// The same with each other allocator that is installed, through LD_PRELOAD
    Preload,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cold, Self::Dynamic, Self::Fixed, Self::NoMmap, Self::Preload];

    /// Whether each block is freed before the next one is allocated.
    pub(super) fn frees(self) -> bool {
        self != Self::Cold
    }

    /// Whether it is made by settings that only glibc has.
    pub(super) fn is_glibcs(self) -> bool {
        matches!(self, Self::Fixed | Self::NoMmap)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cold => "cold",
            Self::Dynamic => "dynamic",
            Self::Fixed => "fixed",
            Self::NoMmap => "no-mmap",
            Self::Preload => "preload",
        })
    }
}
