//! Bits of a raw byte sequence payload, and the two codes that parameter sets are written in.

/// Bits, the highest of a byte first. A read past the end is `None`.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// An unsigned number of at most 32 bits: u(n).
    pub(super) fn number(&mut self, bits: u32) -> Option<u32> {
        let mut value = 0;
        for _ in 0..bits {
            let byte = *self.bytes.get(self.at / 8)?;
            value = value << 1 | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.number(1).map(|bit| bit == 1)
    }

    pub(super) fn skip(&mut self, bits: usize) -> Option<()> {
        self.at = self.at.checked_add(bits)?;
        (self.at <= self.bytes.len() * 8).then_some(())
    }

    /// An unsigned Exp-Golomb code below 2³² − 1: ue(v) (ISO/IEC 14496-10 §9.1, ISO/IEC 23008-2 §9.2).
    pub(super) fn exp_golomb(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.flag()? {
            zeros += 1;
        }
        if zeros > 31 {
            return None;
        }
        Some((1 << zeros) - 1 + self.number(zeros)?)
    }
}

/// A NAL unit without its emulation prevention bytes (ISO/IEC 14496-10 §7.4.1, ISO/IEC 23008-2 §7.4.2).
pub(super) fn without_emulation_prevention(nal: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(nal.len());
    let mut zeros = 0;
    for byte in nal {
        if zeros >= 2 && *byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        out.push(*byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_in_order() {
        let mut bits = Bits::new(&[0b1010_0011, 0b0000_1011, 0]);
        let codes: Vec<_> = std::iter::from_fn(|| bits.exp_golomb()).collect();
        // The last code has no end.
        assert_eq!(codes, [0, 1, 5, 10]);
    }

    #[test]
    fn codes_that_do_not_end_or_do_not_fit_are_none() {
        assert_eq!(Bits::new(&[]).exp_golomb(), None);
        assert_eq!(Bits::new(&[0; 64]).exp_golomb(), None);
        assert_eq!(Bits::new(&[0, 0, 0, 1, 0xFF, 0xFF]).exp_golomb(), None);
        let largest = [0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(Bits::new(&largest).exp_golomb(), Some(u32::MAX - 1));
        let too_large = [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(Bits::new(&too_large).exp_golomb(), None);
        assert_eq!(Bits::new(&[0xFF]).skip(9), None);
    }
}
