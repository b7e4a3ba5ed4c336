//! `yeoul.json`, format 1, as ARCHITECTURE.md draws it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::Error as _};

/// A manifest larger than this is refused.
pub(super) const MAX_MANIFEST: u64 = 256 << 20;

pub(super) const FILE_NAME: &str = "yeoul.json";

#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u64,
    pub(super) layout: String,
    pub(super) playlists: Vec<String>,
    pub(super) tracks: Vec<Slot>,
    pub(super) takes: Vec<Take>,
    #[serde(default)]
    pub(super) warnings: Vec<Warning>,
}

/// What a manifest says of the folder as a whole: several broadcasts are named at the root.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Inside {
    #[serde(default)]
    layout: Option<String>,
    #[serde(default)]
    pub(super) broadcasts: Vec<String>,
}

impl Inside {
    /// Reads it; a manifest that cannot be understood is left to the check of the broadcast, which says why.
    pub(super) fn read(dir: &Path) -> super::Result<Self> {
        let text = super::broadcast::read_text(&dir.join(FILE_NAME), MAX_MANIFEST)?;
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    pub(super) fn is_broadcast(&self) -> bool {
        self.layout.is_some()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Slot {
    pub(super) slot: u32,
    pub(super) name: String,
    pub(super) track_id: u32,
    pub(super) playlist: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Take {
    pub(super) id: String,
    #[serde(default, deserialize_with = "integer")]
    pub(super) anchor_ns: Option<i128>,
    pub(super) recordings: Vec<Recorded>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    pub(super) path: String,
    #[serde(default, deserialize_with = "integer")]
    pub(super) number: Option<i128>,
    #[serde(default, deserialize_with = "integer")]
    pub(super) dts_ns: Option<i128>,
    #[serde(default, deserialize_with = "integer")]
    pub(super) ntp_ns: Option<i128>,
    #[serde(default, deserialize_with = "integer")]
    pub(super) size: Option<i128>,
    pub(super) tracks: Vec<KeptTrack>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct KeptTrack {
    pub(super) slot: u32,
    pub(super) track_id: u32,
    pub(super) samples: u64,
    pub(super) kept: Vec<(u64, u64)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Warning {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) path: Option<String>,
}

impl Recorded {
    /// File name, for people.
    pub(super) fn name(&self) -> String {
        file_name(&self.path).to_owned()
    }

    /// Where it should be: beside the manifest, or in the folder that recordings were moved to.
    pub(super) fn place(&self, dir: &Path, moved: Option<&Path>) -> PathBuf {
        match moved {
            Some(folder) => folder.join(file_name(&self.path)),
            None => dir.join(&self.path),
        }
    }
}

impl Manifest {
    /// A warning about this recording, of a kind that contains one of `kinds` (none: of any kind).
    pub(super) fn warned(&self, path: &str, kinds: &[&str]) -> bool {
        let about = |w: &&Warning| {
            w.path
                .as_deref()
                .is_some_and(|p| p == path || file_name(p) == file_name(path))
        };
        let kind = |w: &Warning| kinds.is_empty() || kinds.iter().any(|k| w.kind.contains(k));
        self.warnings.iter().filter(about).any(kind)
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// An integer of 64 bits, or a string of one (past 2^53), or null.
fn integer<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i128>, D::Error> {
    match serde_json::Value::deserialize(from)? {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::String(text) => text
            .parse()
            .map(|n: i64| Some(n.into()))
            .map_err(D::Error::custom),
        serde_json::Value::Number(n) => {
            let whole = n
                .as_i64()
                .ok_or_else(|| D::Error::custom(format!("{n} is not an integer")));
            whole.map(|n| Some(n.into()))
        }
        other => Err(D::Error::custom(format!("{other} is not an integer"))),
    }
}
