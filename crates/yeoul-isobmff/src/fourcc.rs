use std::fmt;

/// A four-character code: the type of a box, a handler, a brand or a sample entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FourCc(pub [u8; 4]);

impl FourCc {
    /// The code of a literal such as `b"moov"`.
    pub const fn new(code: &[u8; 4]) -> Self {
        Self(*code)
    }
}

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            if byte.is_ascii_graphic() || byte == b' ' {
                write!(f, "{}", char::from(byte))?;
            } else {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{self}'")
    }
}

impl From<&[u8; 4]> for FourCc {
    fn from(code: &[u8; 4]) -> Self {
        Self(*code)
    }
}
