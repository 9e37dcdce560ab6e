//! What `bench malloc` measured, as a whole.

use serde::Serialize;

use super::allocators::Allocator;
use super::args::Way;
use super::curve::Curve;
use super::jump::Jump;
use super::server::ServerMemory;

/// The two figures that were given in 2007: bytes of an allocation, and milliseconds of 10,000 of them.
pub const OF_2007: [(u64, f64); 2] = [(128 << 10, 2.6), (1 << 20, 98.0)];

/// What `bench malloc` measured.
#[derive(Debug, Clone, Serialize)]
pub struct MallocDetail {
    /// Whose malloc it was.
    pub allocator: Allocator,
    /// Of the environment, what allocators are set by: it acted on the ways `cold`, `dynamic` and `preload`.
    pub tunables: Vec<(String, String)>,
    /// The sizes that were allocated, in bytes.
    pub sizes: Vec<u64>,
    /// What they cost.
    pub curves: Vec<Curve>,
    /// The smallest allocation that is a mapping of its own in a process that freed none, in bytes and to the byte; none if there is
    /// no such size among these, or the allocator is not glibc's.
    pub mmap_threshold: Option<u64>,
    /// Allocators that were not found.
    pub not_installed: Vec<&'static str>,
    /// The buffers of a server.
    pub server: Option<ServerMemory>,
}

impl MallocDetail {
    /// What the jump is that a reader came for, in a sentence: that of blocks which nobody freed before.
    pub fn finding(&self) -> String {
        let Some(bytes) = self.mmap_threshold else {
            let cold = self.curves.iter().find(|curve| curve.way == Way::Cold);
            let jump = cold.and_then(|curve| curve.jumps.first());
            return jump.map_or_else(
                || "no jump among these sizes of what blocks cost that nobody freed before".to_owned(),
                Jump::what,
            );
        };
        let size = drover_units::show::count(bytes);
        format!("mmap threshold: from {size} bytes on each allocation is a mapping of its own")
    }
}
