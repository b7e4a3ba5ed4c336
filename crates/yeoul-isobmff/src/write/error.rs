use super::FourCc;

/// Why something could not be written. The names are of the box that could not hold it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A box outgrew its 32-bit size field.
    #[error(
        "box {name} would be {size} bytes, more than the 4294967295 that its size field holds: write less into one file"
    )]
    BoxTooLarge {
        /// The box.
        name: FourCc,
        /// Its size with its header, in bytes.
        size: u64,
    },
    /// A value does not fit the field that it belongs in.
    #[error("box {name}: {field} is {value}, more than the limit of {limit}")]
    Overflow {
        /// The box.
        name: FourCc,
        /// What overflowed.
        field: &'static str,
        /// Its value; `u128::MAX` where the sum itself overflowed.
        value: u128,
        /// The most that the field holds.
        limit: u64,
    },
    /// The input describes something that the format cannot express.
    #[error("box {name}: {problem}")]
    Invalid {
        /// The box.
        name: FourCc,
        /// What is wrong and what was expected.
        problem: String,
    },
}

impl WriteError {
    pub(super) fn invalid(name: &[u8; 4], problem: impl Into<String>) -> Self {
        Self::Invalid {
            name: FourCc(*name),
            problem: problem.into(),
        }
    }

    pub(super) fn overflow(name: &[u8; 4], field: &'static str, value: u128, limit: u64) -> Self {
        Self::Overflow {
            name: FourCc(*name),
            field,
            value,
            limit,
        }
    }
}

/// `value` as a 32-bit field of a box.
pub(super) fn fit_u32(
    name: &[u8; 4],
    field: &'static str,
    value: impl TryInto<u32> + TryInto<u128> + Copy,
) -> Result<u32, WriteError> {
    value.try_into().map_err(|_| {
        let value: u128 = value.try_into().unwrap_or(u128::MAX);
        WriteError::overflow(name, field, value, u64::from(u32::MAX))
    })
}

/// The sum of `values`, or an overflow of `field`.
pub(super) fn sum_u64(
    name: &[u8; 4],
    field: &'static str,
    values: impl IntoIterator<Item = u64>,
) -> Result<u64, WriteError> {
    values
        .into_iter()
        .try_fold(0u64, u64::checked_add)
        .ok_or_else(|| WriteError::overflow(name, field, u128::MAX, u64::MAX))
}
