use std::convert::Infallible;
use std::sync::Arc;

use yeoul_spans::{SourceError, Spans};

use crate::catalogue::Catalogue;
use crate::input::Input;
use crate::lane::{FileKind, Output, OutputFile, PackError, PackOptions, pack_lane};
use crate::layout::Layout;
use crate::recording::RecordingError;
use crate::warning::Warning;

/// A recording as init and fragments.
#[derive(Debug, Default)]
pub struct PackedRecording {
    /// Its inits: one, or one more for each change of parameters.
    pub inits: Vec<Spans>,
    /// Its segments in order.
    pub fragments: Vec<Fragment>,
    /// What a person should know.
    pub warnings: Vec<Warning>,
}

/// A segment of a recording.
#[derive(Debug, Clone)]
pub struct Fragment {
    /// Which init it needs.
    pub init: usize,
    /// Its bytes.
    pub body: Spans,
}

/// Why a recording cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum OneError {
    /// Its head cannot be used.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// It cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// It cannot be packed.
    #[error(transparent)]
    Pack(#[from] PackError<Infallible>),
}

/// Packs one recording, muxed, on a timeline that begins at 0.
///
/// # Errors
/// See [`OneError`]. A torn recording is none: every whole sample is kept, and a warning says what was not.
///
/// # Example
/// ```no_run
/// use std::sync::Arc;
/// use yeoul_pack::{FileInput, PackOptions, pack_recording};
/// use yeoul_spans::sink::write::write_to;
///
/// let input = Arc::new(FileInput::new("2026-11-30_19-47-55-613655.mp4"));
/// let packed = pack_recording(input, &PackOptions::default())?;
/// let mut file = std::fs::File::create("clip.mp4")?;
/// write_to(&packed.inits[0], &mut file, "clip.mp4")?;
/// for fragment in packed.fragments.iter().take_while(|fragment| fragment.init == 0) {
///     write_to(&fragment.body, &mut file, "clip.mp4")?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack_recording(
    input: Arc<dyn Input>,
    options: &PackOptions,
) -> Result<PackedRecording, OneError> {
    let options = PackOptions {
        layout: Layout::Muxed,
        ..options.clone()
    };
    let mut catalogue = Catalogue::read([input], &options.limits)?;
    if let Some(error) = catalogue.refused.pop() {
        return Err(error.into());
    }
    let mut collect = Collect::default();
    let report = pack_lane(catalogue.takes, &options, &mut collect)?;
    Ok(PackedRecording {
        warnings: report.warnings,
        ..collect.packed
    })
}

#[derive(Default)]
struct Collect {
    packed: PackedRecording,
    names: Vec<String>,
}

impl Output for Collect {
    type Error = Infallible;

    fn file(&mut self, file: OutputFile) -> Result<(), Infallible> {
        match file.kind {
            FileKind::Init => {
                self.names.push(file.name);
                self.packed.inits.push(file.body);
            }
            FileKind::Segment { init } => {
                let init = self
                    .names
                    .iter()
                    .position(|name| *name == init)
                    .unwrap_or(0);
                self.packed.fragments.push(Fragment {
                    init,
                    body: file.body,
                });
            }
            FileKind::Playlist => {}
        }
        Ok(())
    }
}
