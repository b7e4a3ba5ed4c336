//! The system calls of the file sink, behind a trait so that tests can make each of them fail.

use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::io::Errno;

pub(super) trait System {
    /// Copies at most `len` bytes inside the kernel and says how many.
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        from_at: u64,
        to: BorrowedFd<'_>,
        to_at: u64,
        len: usize,
    ) -> Result<usize, Errno>;

    /// Takes room on the disk for `len` bytes; the file's size stays as it is.
    fn reserve(&self, file: BorrowedFd<'_>, len: u64) -> Result<(), Errno>;

    /// Writes at most `bytes` and says how many.
    fn write_at(&self, to: BorrowedFd<'_>, bytes: &[u8], at: u64) -> Result<usize, Errno>;

    /// Waits until the file or folder is on the disk.
    fn sync(&self, file: BorrowedFd<'_>) -> Result<(), Errno>;

    /// Renames unless something is at `to`.
    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), Errno>;
}

/// The system itself.
pub(super) struct Real;

impl System for Real {
    #[cfg(target_os = "linux")]
    fn copy_range(
        &self,
        from: BorrowedFd<'_>,
        mut from_at: u64,
        to: BorrowedFd<'_>,
        mut to_at: u64,
        len: usize,
    ) -> Result<usize, Errno> {
        rustix::fs::copy_file_range(from, Some(&mut from_at), to, Some(&mut to_at), len)
    }

    #[cfg(not(target_os = "linux"))]
    fn copy_range(
        &self,
        _: BorrowedFd<'_>,
        _: u64,
        _: BorrowedFd<'_>,
        _: u64,
        _: usize,
    ) -> Result<usize, Errno> {
        Err(Errno::NOSYS)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, file: BorrowedFd<'_>, len: u64) -> Result<(), Errno> {
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, len)
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, _: BorrowedFd<'_>, _: u64) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    fn write_at(&self, to: BorrowedFd<'_>, bytes: &[u8], at: u64) -> Result<usize, Errno> {
        rustix::io::pwrite(to, bytes, at)
    }

    fn sync(&self, file: BorrowedFd<'_>) -> Result<(), Errno> {
        rustix::fs::fsync(file)
    }

    #[cfg(target_os = "linux")]
    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), Errno> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
    }

    #[cfg(not(target_os = "linux"))]
    fn rename_new(&self, _: &Path, _: &Path) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }
}
