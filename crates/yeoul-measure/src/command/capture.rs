use std::collections::VecDeque;

/// What a program printed, bounded: the first and the last bytes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
}

impl Captured {
    /// Standard error, or standard output when that is empty, with a line that says what was cut.
    #[must_use]
    pub fn text(&self) -> String {
        if self.stderr.total > 0 {
            self.stderr.text()
        } else {
            self.stdout.text()
        }
    }
}

/// One captured stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stream {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    limit: usize,
    /// How many bytes the program printed.
    pub total: u64,
}

impl Stream {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.limit / 2)
            .saturating_sub(self.head.len())
            .min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[room..]);
        let keep = self.limit - self.limit / 2;
        self.tail.drain(..self.tail.len().saturating_sub(keep));
    }

    /// How many bytes in the middle were not kept.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// What was kept, with a line that says what was cut.
    #[must_use]
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.cut() == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&tail),
        );
        format!(
            "{head}\n[… {} of {} bytes cut …]\n{tail}",
            self.cut(),
            self.total
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn megabytes_are_cut_and_said_so() {
        let mut stream = Stream::new(10);
        for _ in 0..(1 << 12) {
            stream.push(&[b'x'; 1024]);
        }
        stream.push(b"end");
        assert_eq!(
            stream.text(),
            "xxxxx\n[… 4194297 of 4194307 bytes cut …]\nxxend"
        );
    }

    proptest! {
        #[test]
        fn head_and_tail_are_the_ends_whatever_the_pieces(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 0..9), limit in 0usize..30) {
            let mut stream = Stream::new(limit);
            pieces.iter().for_each(|piece| stream.push(piece));
            let whole = pieces.concat();
            let kept: Vec<u8> = stream.head.iter().chain(&stream.tail).copied().collect();
            prop_assert_eq!(kept.len(), whole.len().min(limit));
            prop_assert!(whole.starts_with(&stream.head));
            prop_assert!(whole.ends_with(&stream.tail.iter().copied().collect::<Vec<_>>()));
        }
    }
}
