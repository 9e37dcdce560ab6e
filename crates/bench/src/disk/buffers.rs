//! Memory that direct I/O takes: aligned, one part for each request under way.

use fastrand::Rng;

/// Buffers of one size, filled with random bytes, which nothing can compress.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    bytes: Vec<u8>,
    /// Where the first one begins.
    first: usize,
    /// How far apart they begin.
    stride: usize,
    size: usize,
    count: usize,
}

impl Buffers {
    /// So many buffers of so many bytes, that begin at multiples of `alignment`, a power of two.
    pub(super) fn new(count: usize, size: usize, alignment: usize, random: &mut Rng) -> Self {
        let stride = size.next_multiple_of(alignment);
        let mut bytes = vec![0; count * stride + alignment];
        let address = bytes.as_ptr().addr();
        let first = address.next_multiple_of(alignment) - address;
        random.fill(&mut bytes[first..first + count * stride]);
        Self { bytes, first, stride, size, count }
    }

    /// A buffer that nobody else has at this time.
    pub(super) fn buffer(&mut self, number: usize) -> &mut [u8] {
        &mut self.bytes[self.first + number * self.stride..][..self.size]
    }

    /// Where a buffer begins. Others may be written to by the kernel meanwhile: no reference to them is made.
    pub(super) fn start(&mut self, number: usize) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_add(self.first + number * self.stride)
    }

    /// The bytes of all of them, from the first one's start on.
    pub(super) fn length(&self) -> usize {
        self.count * self.stride
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 512, 4096, &mut Rng::with_seed(1));
        for number in 0..3 {
            let start = buffers.start(number);
            assert!(start.addr().is_multiple_of(4096));
            assert_eq!(buffers.buffer(number).as_ptr(), start.cast_const());
            assert_eq!(buffers.buffer(number).len(), 512);
            buffers.buffer(number).fill(number as u8);
        }
        for number in 0..3 {
            assert!(buffers.buffer(number).iter().all(|byte| *byte == number as u8));
        }
        assert_eq!(buffers.length(), 3 * 4096);
    }

    #[test]
    fn bytes_are_as_random_as_they_look() {
        let mut buffers = Buffers::new(1, 1 << 16, 4096, &mut Rng::with_seed(1));
        let mut counts = [0_u32; 256];
        buffers.buffer(0).iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        assert!(counts.iter().all(|count| (150..370).contains(count)), "{counts:?}");
    }
}
