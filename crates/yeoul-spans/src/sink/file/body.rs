//! The bytes of a body into an open file: inside the kernel where it can, else through a bounded buffer.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::Written;
use super::system::System;
use crate::sink::{SinkError, checked, read_range};
use crate::source::Source;
use crate::spans::{SourceRange, Span, Spans};

/// At most this much in one call, so that a signal or an error does not wait for gigabytes.
const MAX_COPY: u64 = 16 * 1024 * 1024;
const BUFFER: usize = 256 * 1024;

/// A body on its way into a file.
pub(super) struct Body<'a, S> {
    out: Output<'a, S>,
    by_kernel: u64,
    /// The last source that the kernel would not copy from; asking again for each of its spans is in vain.
    refused: Option<Arc<dyn Source>>,
    buffer: Vec<u8>,
}

/// The file and how far it is written.
struct Output<'a, S> {
    system: &'a S,
    file: BorrowedFd<'a>,
    name: &'a str,
    written: u64,
    wanted: u64,
}

/// Writes `spans` from byte 0 of `file` on, which errors call `name`.
pub(super) fn write<S: System>(
    system: &S,
    file: BorrowedFd<'_>,
    name: &str,
    spans: &Spans,
) -> Result<Written, SinkError> {
    let out = Output {
        system,
        file,
        name,
        written: 0,
        wanted: spans.len(),
    };
    let mut body = Body {
        out,
        by_kernel: 0,
        refused: None,
        buffer: Vec::new(),
    };
    checked(spans, || {
        spans.iter().try_for_each(|span| match span {
            Span::Inline(bytes) => body.out.put(&bytes),
            Span::Range(range) => body.copy(&range),
        })
    })?;
    let (bytes, by_kernel) = (body.out.written, body.by_kernel);
    Ok(Written {
        bytes,
        by_kernel,
        by_user: bytes - by_kernel,
    })
}

impl<S: System> Body<'_, S> {
    fn copy(&mut self, range: &SourceRange) -> Result<(), SinkError> {
        let done = self.copy_in_kernel(range)?;
        if done == range.len {
            return Ok(());
        }
        self.buffer.resize(BUFFER, 0);
        read_range(range, done, &mut self.buffer, &mut |piece| {
            self.out.put(piece)
        })
    }

    /// Copies as much of `range` as the kernel will and says how much. The rest is to be read and written, which also
    /// tells what is really wrong if the kernel stopped for a good reason.
    fn copy_in_kernel(&mut self, range: &SourceRange) -> Result<u64, SinkError> {
        let Some(from) = range.source.fd() else {
            return Ok(0);
        };
        if self
            .refused
            .as_ref()
            .is_some_and(|refused| Arc::ptr_eq(refused, &range.source))
        {
            return Ok(0);
        }
        let mut done = 0;
        while done < range.len {
            let len = usize::try_from((range.len - done).min(MAX_COPY)).unwrap_or(usize::MAX);
            let Output {
                system,
                file,
                written,
                ..
            } = self.out;
            match system.copy_range(from, range.offset + done, file, written, len) {
                // The file ended, or its filesystem cannot say (procfs, some FUSE): a read tells which.
                Ok(0) => break,
                Ok(copied) => {
                    done += copied as u64;
                    self.by_kernel += copied as u64;
                    self.out.written += copied as u64;
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(errno) if is_refusal(errno) => break,
                Err(errno) => return Err(self.out.error(errno)),
            }
        }
        if done < range.len {
            self.refused = Some(Arc::clone(&range.source));
        }
        Ok(done)
    }
}

impl<S: System> Output<'_, S> {
    fn put(&mut self, mut bytes: &[u8]) -> Result<(), SinkError> {
        while !bytes.is_empty() {
            match self.system.write_at(self.file, bytes, self.written) {
                Ok(0) => return Err(self.error(Errno::IO)),
                Ok(put) => {
                    bytes = &bytes[put..];
                    self.written += put as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.error(errno)),
            }
        }
        Ok(())
    }

    fn error(&self, errno: Errno) -> SinkError {
        SinkError::write(self.name, self.written, self.wanted, errno.into())
    }
}

/// Whether `copy_file_range` says that it cannot do it at all, not that the copy failed. What the answers have meant:
/// `EXDEV` two filesystems; `EINVAL` not regular files; `ENOSYS` an old kernel or a sandbox; `EOPNOTSUPP` NFS; `EPERM`
/// and `EACCES` a sandbox, an immutable file; `EIO` CIFS; `ETXTBSY` a swap file; `EBADF` a file open for append.
fn is_refusal(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::XDEV
            | Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::PERM
            | Errno::ACCESS
            | Errno::IO
            | Errno::TXTBSY
            | Errno::BADF
    )
}
