//! Bytes in their order, from a file, a pipe or a server, a window of them in memory.

use std::io::{self, Read};

/// Where bytes come from, with those that were read and not passed yet.
pub(super) struct Feed {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What was read and not passed yet is between these two.
    start: usize,
    end: usize,
    /// The position of `start` in the input.
    position: u64,
}

/// Bytes that are read at once: few enough to be still in a core's cache when they are looked at.
const WINDOW: usize = 256 << 10;
/// What a large event needed is kept for the next, but for more than this.
const KEPT: usize = 4 << 20;

impl Feed {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input, buffer: vec![0; WINDOW], start: 0, end: 0, position: 0 }
    }

    /// Where the next byte stands in the input.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Says where the next byte stands, in an input that leaves something out.
    pub(super) fn stand_at(&mut self, position: u64) {
        self.position = position;
    }

    /// The next `count` bytes, which are not passed; fewer only where the input ends before.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        if self.end - self.start < count {
            self.make_room();
            while self.end < count && self.read_some(count)? {}
        }
        Ok(self.seen(count))
    }

    /// The same of what was peeked at already.
    pub(super) fn seen(&self, count: usize) -> &[u8] {
        &self.buffer[self.start..self.end.min(self.start + count)]
    }

    /// As [`Self::seen`], to be changed: they are seen so from then on.
    pub(super) fn seen_mut(&mut self, count: usize) -> &mut [u8] {
        let end = self.end.min(self.start + count);
        &mut self.buffer[self.start..end]
    }

    /// Goes on behind bytes that were peeked at.
    pub(super) fn pass(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }

    /// Moves what is there to the front, and gives back what a very large event needed.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.buffer.len() > KEPT && self.end <= KEPT {
            self.buffer.truncate(KEPT);
            self.buffer.shrink_to_fit();
        }
    }

    /// Reads on towards `count` bytes; false at the end of the input. Memory grows with what comes, not with what an event says
    /// of its size.
    fn read_some(&mut self, count: usize) -> io::Result<bool> {
        if self.end == self.buffer.len() {
            let larger = count.min(self.buffer.len() * 2);
            self.buffer.resize(larger, 0);
        }
        let most = self.buffer.len().min(count.max(WINDOW));
        loop {
            match self.input.read(&mut self.buffer[self.end..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives a few bytes at a time, as a pipe does.
    struct Drips(io::Cursor<Vec<u8>>, usize);

    impl Read for Drips {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(self.1);
            self.0.read(&mut buffer[..length])
        }
    }

    proptest! {
        #[test]
        fn every_byte_comes_once_and_in_its_order(
            length in 0..700_000_usize,
            drip in 1..400_000_usize,
            steps in prop::collection::vec(1..400_000_usize, 1..8),
        ) {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 / 3) as u8).collect();
            let mut feed = Feed::new(Box::new(Drips(io::Cursor::new(bytes.clone()), drip)));
            let mut at = 0;
            for step in steps.iter().cycle() {
                prop_assert_eq!(feed.position(), at as u64);
                let there = feed.peek(*step).unwrap();
                prop_assert_eq!(there, &bytes[at..length.min(at + step)]);
                let count = there.len();
                feed.pass(count);
                at += count;
                if count == 0 {
                    break;
                }
            }
            prop_assert_eq!(at, length);
        }
    }

    #[test]
    fn a_lie_about_the_size_takes_no_memory() {
        let mut feed = Feed::new(Box::new(io::Cursor::new(vec![1; 100])));
        assert_eq!(feed.peek(1 << 40).unwrap().len(), 100);
        assert!(feed.buffer.len() <= WINDOW);
    }
}
