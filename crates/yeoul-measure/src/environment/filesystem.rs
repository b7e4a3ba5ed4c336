use std::path::Path;

use crate::usage::UsageError;

/// Magic numbers of statfs(2) and `linux/magic.h`. ext2, ext3 and ext4 share one.
const NAMES: &[(u64, &str)] = &[
    (0xef53, "ext4"),
    (0x0102_1994, "tmpfs"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlay"),
    (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x8584_58f6, "ramfs"),
    (0x00c3_6400, "ceph"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x5346_544e, "ntfs"),
    (0x7366_746e, "ntfs3"),
    (0x7371_7368, "squashfs"),
    (0xe0f5_e1e2, "erofs"),
];

/// The name of the filesystem that holds `path`, its magic number in hexadecimal where it is not known here.
///
/// # Errors
/// When the path is not there.
pub fn filesystem_of(path: &Path) -> Result<String, UsageError> {
    let stat = rustix::fs::statfs(path).map_err(|errno| UsageError::Read {
        path: path.display().to_string(),
        source: errno.into(),
    })?;
    // Some targets have the number as i32 or i64: only the low 32 bits are the magic.
    let magic = i128::from(stat.f_type) & 0xffff_ffff;
    let name = NAMES
        .iter()
        .find(|&&(known, _)| i128::from(known) == magic)
        .map(|&(_, name)| name);
    Ok(name.map_or_else(|| format!("{magic:#x}"), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_has_no_name_here_and_shows_its_number() {
        assert_eq!(filesystem_of(Path::new("/proc")).unwrap(), "0x9fa0");
    }

    #[test]
    fn a_missing_path_is_named() {
        let error = filesystem_of(Path::new("/없는 폴더"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("cannot read /없는 폴더: "), "{error}");
    }
}
