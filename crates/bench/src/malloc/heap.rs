//! The C library's heap, as the process sees it that is measured. What is unsafe in this bench is all here.

use std::ffi::{CStr, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::ptr::NonNull;

/// A block of the heap. It stays allocated unless it is released.
#[derive(Debug)]
pub(super) struct Block {
    start: NonNull<c_void>,
    bytes: usize,
}

impl Block {
    /// Allocates a block; `None` if malloc returned null.
    #[inline]
    pub(super) fn allocate(bytes: usize) -> Option<Self> {
        // SAFETY: malloc(3) takes any number.
        let start = unsafe { libc::malloc(bytes) };
        // The compiler knows malloc and free, and may leave out a pair of them around a block that nobody sees.
        Some(Self { start: NonNull::new(black_box(start))?, bytes })
    }

    /// Writes one byte to each of its pages.
    #[inline]
    pub(super) fn touch(&self, page: usize) {
        let first = self.start.as_ptr().cast::<u8>();
        // The last byte may lie on a page more than the steps from the first one reach.
        for at in (0..self.bytes).step_by(page).chain(self.bytes.checked_sub(1)) {
            // SAFETY: `at` is below the number of bytes that malloc gave, and nobody else has a pointer to them.
            unsafe { first.add(at).write_volatile(1) };
        }
    }

    /// Gives it back.
    #[inline]
    pub(super) fn release(self) {
        // SAFETY: the block came from malloc, and since it is moved into here, it is freed once.
        unsafe { libc::free(self.start.as_ptr()) }
    }
}

/// How many bytes a page has.
pub(super) fn page_size() -> usize {
    // SAFETY: sysconf(3) takes any name, and returns a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| *size > 0).unwrap_or(4096)
}

/// How many page faults this process had so far that needed no disk (getrusage(2)).
pub(super) fn minor_faults() -> libc::c_long {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage writes one rusage to where it is told to, and there is place for one.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: it is of integers only, and was zeroed, so that it holds a value whatever getrusage did.
    unsafe { usage.assume_init() }.ru_minflt
}

/// Where the heap ends that grows by brk(2).
pub(super) fn program_break() -> usize {
    // SAFETY: sbrk(3) with 0 moves nothing.
    unsafe { libc::sbrk(0) }.addr()
}

/// The library that malloc is of in this process.
pub(super) fn library() -> Option<PathBuf> {
    // SAFETY: the name ends with a zero byte; dlsym(3) only looks for it.
    let malloc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr(3) compares the address with those of what is loaded, and writes one Dl_info to where there is place for it.
    let is_found = unsafe { libc::dladdr(malloc, found.as_mut_ptr()) } != 0;
    // SAFETY: it is of pointers only, which may be null, and was zeroed.
    let name = unsafe { found.assume_init() }.dli_fname;
    if !is_found || name.is_null() {
        return None;
    }
    // SAFETY: the name of a loaded library ends with a zero byte, and stays as long as the library is loaded, which is not unloaded.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(name.to_str().ok()?))
}

#[cfg(target_env = "gnu")]
pub(super) use glibc::{end_bytes, mappings, never_map, set_threshold};
#[cfg(not(target_env = "gnu"))]
pub(super) use other::{end_bytes, mappings, never_map, set_threshold};

/// What glibc alone has. Source: mallopt(3), mallinfo(3).
#[cfg(target_env = "gnu")]
mod glibc {
    use libc::c_int;

    /// Maps each block from this size on, in bytes with its header, whatever is freed; whether glibc does so now.
    pub(in super::super) fn set_threshold(bytes: c_int) -> bool {
        // SAFETY: mallopt takes any number, and says if it does not like it.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, bytes) == 1 }
    }

    /// Maps no block; whether glibc does so now.
    pub(in super::super) fn never_map() -> bool {
        // SAFETY: as above.
        unsafe { libc::mallopt(libc::M_MMAP_MAX, 0) == 1 }
    }

    /// How many blocks are mappings of their own now.
    pub(in super::super) fn mappings() -> i64 {
        i64::from(information().hblks)
    }

    /// How many bytes are free at the heap's end, where blocks come from that have no other place.
    pub(in super::super) fn end_bytes() -> usize {
        // It is an unsigned number that glibc put into a signed field.
        information().keepcost as u32 as usize
    }

    fn information() -> libc::mallinfo {
        // mallinfo2 has wider fields, but is missing in glibc before 2.33.
        // SAFETY: mallinfo takes nothing, and returns numbers.
        unsafe { libc::mallinfo() }
    }
}

/// Other C libraries have nothing of that.
#[cfg(not(target_env = "gnu"))]
mod other {
    use libc::c_int;

    pub(in super::super) fn set_threshold(_bytes: c_int) -> bool {
        false
    }

    pub(in super::super) fn never_map() -> bool {
        false
    }

    pub(in super::super) fn mappings() -> i64 {
        0
    }

    pub(in super::super) fn end_bytes() -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_touched_as_a_whole_and_given_back() {
        let page = page_size();
        assert!(page.is_power_of_two());
        let bytes = 64 * page;
        let block = Block::allocate(bytes).unwrap();
        block.touch(page);
        // SAFETY: the block has so many bytes, all of which this test writes before it reads them.
        let content = unsafe {
            let start = block.start.as_ptr().cast::<u8>();
            assert_eq!(start.add(page).read(), 1);
            start.write_bytes(7, bytes);
            block.touch(page);
            std::slice::from_raw_parts(start, bytes).to_vec()
        };
        assert_eq!(content.iter().filter(|byte| **byte == 1).count(), 65);
        block.release();
    }

    #[test]
    fn what_cannot_be_had_is_none() {
        assert!(Block::allocate(usize::MAX / 2).is_none());
    }

    #[test]
    fn faults_are_counted() {
        let before = minor_faults();
        let block = Block::allocate(256 * page_size()).unwrap();
        block.touch(page_size());
        assert!(minor_faults() >= before);
        block.release();
    }

    #[test]
    fn malloc_has_a_library() {
        let library = library().unwrap();
        assert!(library.is_absolute() || library.exists(), "{}", library.display());
    }
}
