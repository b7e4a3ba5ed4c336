//! A resident repacker in a few lines: a recording's path on each line of standard input becomes an MP4 in the folder given.
//!
//! ```sh
//! ls recordings/cam1/*.mp4 | cargo run --release -p yeoul-pack --example resident -- out
//! ```
//!
//! One process packs them all; payload goes from file to file in the kernel. `yeoul repack --watch` does the same for whole
//! broadcasts, on one timeline.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use yeoul_pack::{FileInput, PackOptions, pack_recording};
use yeoul_spans::SpansBuilder;
use yeoul_spans::sink::file::{FileOptions, write_new};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder: PathBuf = std::env::args_os()
        .nth(1)
        .ok_or("give the folder to write to")?
        .into();
    std::fs::create_dir_all(&folder)?;
    for line in std::io::stdin().lock().lines() {
        let path = PathBuf::from(line?);
        let began = Instant::now();
        // A recording that cannot be used costs itself only.
        match repack(&path, &folder) {
            Ok(bytes) => println!("{}: {bytes} bytes in {:?}", path.display(), began.elapsed()),
            Err(error) => eprintln!("{error}"),
        }
    }
    Ok(())
}

/// Packs one recording: its first init and all that can be decoded with it.
fn repack(path: &Path, folder: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let packed = pack_recording(Arc::new(FileInput::new(path)), &PackOptions::default())?;
    for warning in &packed.warnings {
        eprintln!("warning: {warning}");
    }
    let Some(init) = packed.inits.first() else {
        return Ok(0);
    };
    let mut body = SpansBuilder::new();
    body.append(init)?;
    for fragment in packed
        .fragments
        .iter()
        .filter(|fragment| fragment.init == 0)
    {
        body.append(&fragment.body)?;
    }
    let name = path.file_name().ok_or("the path has no file name")?;
    let options = FileOptions {
        replace: true,
        ..FileOptions::default()
    };
    Ok(write_new(folder.join(name), &body.build()?, &options)?.bytes)
}
