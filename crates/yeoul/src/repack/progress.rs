use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on standard error; nothing where that is not a terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new(bytes: u64, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(bytes),
            if quiet {
                ProgressDrawTarget::hidden()
            } else {
                ProgressDrawTarget::stderr()
            },
        );
        let template = "{bar:40} {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
