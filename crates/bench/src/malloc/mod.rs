//! `bench malloc`: what an allocation costs by its size, and where that jumps.
//!
//! From some size on an allocator takes no block out of its heap, but asks the kernel for a mapping of its own: two system calls, and
//! a page fault for each page that is written to, each time anew. Since glibc moves that threshold when such a block is freed, a loop
//! hides it after its first turn; so each point of each curve is measured in a fresh process, and each way to allocate is a curve.

mod allocators;
pub mod args;
mod child;
mod curve;
mod detail;
#[allow(
    unsafe_code,
    reason = "malloc and what tells of it are functions of C; each use says why it is sound"
)]
mod heap;
mod jump;
mod memory;
mod page;
mod process;
mod run;
mod sampler;
mod server;
mod sweep;

pub use allocators::Allocator;
pub use child::{CHILD, child};
pub use curve::{Curve, NotMeasurable, Point};
pub use detail::{MallocDetail, OF_2007};
pub use jump::{Cause, Jump};
pub use page::write_page;
pub use run::run;
pub use server::{Buffer, BufferCost, ServerMemory, ServerProcess};
pub use sweep::{TABLE, cost_name, size_name};
