use std::fmt;

/// A four-character code: the name of a box, brand or handler (ISO/IEC 14496-12 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FourCc(pub [u8; 4]);

impl FourCc {
    /// The code of `name`, as in `FourCc::new(b"moov")`.
    #[must_use]
    pub const fn new(name: &[u8; 4]) -> Self {
        Self(*name)
    }
}

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl From<&[u8; 4]> for FourCc {
    fn from(name: &[u8; 4]) -> Self {
        Self(*name)
    }
}
