use std::path::PathBuf;

/// What can go wrong while recording or rewriting a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be made, read or written.
    #[error("{}: {source}; check the path, its permissions and the space left", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The scenario asks for what a recording cannot hold.
    #[error("scenario: {0}")]
    Scenario(String),
    /// An input of `shuffle` or `tear` is not a whole recording.
    #[error("box {kind:?} at byte {offset}: {problem}; give a whole fragmented MP4")]
    Malformed {
        /// Four-character code, or what stands in its place.
        kind: String,
        /// Byte offset of the box in the input.
        offset: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}
