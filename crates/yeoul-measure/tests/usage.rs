//! What the kernel's counters see, tried on this machine: the table in the documentation of `usage`.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use yeoul_measure::usage::{Bound, Io, Window, counts_dirtied, io_of};

const LENGTH: usize = 1 << 20;

/// The counters are the whole process's, so it runs one test after another and prints only in between: the usual test
/// harness prints from a thread of its own.
fn main() {
    let tests: [(&str, fn()); 7] = [
        (
            "nothing_is_counted_for_nothing",
            nothing_is_counted_for_nothing,
        ),
        (
            "reads_and_writes_are_counted_to_the_byte_and_the_call",
            reads_and_writes_are_counted_to_the_byte_and_the_call,
        ),
        (
            "copies_within_the_kernel_count_as_read_and_as_written",
            copies_within_the_kernel_count_as_read_and_as_written,
        ),
        (
            "links_and_renames_count_nothing",
            links_and_renames_count_nothing,
        ),
        (
            "the_peak_is_that_of_the_window_and_not_of_the_life",
            the_peak_is_that_of_the_window_and_not_of_the_life,
        ),
        (
            "cpu_time_and_faults_are_counted",
            cpu_time_and_faults_are_counted,
        ),
        ("own_counters_never_go_back", own_counters_never_go_back),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn measured(work: impl FnOnce()) -> Io {
    let window = Window::open().unwrap();
    work();
    window.close().unwrap().usage.io
}

/// A folder with `source`, 1 MiB.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("source"), vec![7; LENGTH]).unwrap();
    folder
}

fn pair(folder: &Path) -> (File, File) {
    (
        File::open(folder.join("source")).unwrap(),
        File::create(folder.join("copy")).unwrap(),
    )
}

fn nothing_is_counted_for_nothing() {
    assert_eq!(measured(|| ()), Io::default());
}

fn reads_and_writes_are_counted_to_the_byte_and_the_call() {
    let folder = folder();
    let dirtied_is_counted = counts_dirtied(folder.path()).unwrap();
    let (mut source, mut copy) = pair(folder.path());
    let mut buffer = vec![0; LENGTH];
    let io = measured(|| {
        source.read_exact(&mut buffer).unwrap();
        copy.write_all(&buffer[..LENGTH - 1]).unwrap();
    });
    assert_eq!(
        (io.rchar, io.wchar, io.syscr, io.syscw),
        (LENGTH as u64, LENGTH as u64 - 1, 1, 1)
    );
    assert_eq!(
        io.write_bytes,
        if dirtied_is_counted { LENGTH as u64 } else { 0 }
    );
}

fn copies_within_the_kernel_count_as_read_and_as_written() {
    let folder = folder();
    let (source, copy) = pair(folder.path());
    let io = measured(|| {
        assert_eq!(
            rustix::fs::copy_file_range(&source, None, &copy, None, LENGTH).unwrap(),
            LENGTH
        );
    });
    assert_eq!(
        (io.rchar, io.wchar, io.syscr, io.syscw),
        (LENGTH as u64, LENGTH as u64, 1, 1)
    );
    let (source, copy) = pair(folder.path());
    let io = measured(|| {
        assert_eq!(
            rustix::fs::sendfile(&copy, &source, None, LENGTH).unwrap(),
            LENGTH
        );
    });
    assert_eq!((io.rchar, io.wchar), (LENGTH as u64, LENGTH as u64));
}

fn links_and_renames_count_nothing() {
    let folder = folder();
    let path = |name| folder.path().join(name);
    let io = measured(|| {
        fs::hard_link(path("source"), path("link")).unwrap();
        fs::rename(path("link"), path("renamed")).unwrap();
    });
    assert_eq!(io, Io::default());
}

fn the_peak_is_that_of_the_window_and_not_of_the_life() {
    let touch = |mib: usize| std::hint::black_box(vec![1u8; mib << 20]);
    drop(touch(64));
    let window = Window::open().unwrap();
    drop(touch(8));
    let small = window.close().unwrap().usage.peak_rss.unwrap();
    let window = Window::open().unwrap();
    drop(touch(64));
    let large = window.close().unwrap().usage.peak_rss.unwrap();
    assert!(large.bytes >= 64 << 20);
    match small.bound {
        Bound::Exact => assert!(small.bytes < 56 << 20, "{}", small.bytes),
        // A kernel without CONFIG_PROC_PAGE_MONITOR cannot reset the mark, and says so.
        Bound::AtMost => assert!(small.bytes >= 64 << 20),
    }
}

fn cpu_time_and_faults_are_counted() {
    let window = Window::open().unwrap();
    let mut sum = 0u64;
    while window.start().elapsed().as_millis() < 1 || sum < 1 << 24 {
        sum = std::hint::black_box(sum + 1);
    }
    drop(std::hint::black_box(vec![1u8; 16 << 20]));
    let usage = window.close().unwrap().usage;
    assert!(usage.cpu_ns() >= 500_000, "{usage:?}");
    assert!(usage.minor_faults > 0);
    assert!(!usage.children_reaped);
    assert_eq!(usage.allocated, None);
}

fn own_counters_never_go_back() {
    let first = io_of("self").unwrap().0;
    let second = io_of("self").unwrap().0;
    assert!(
        second.rchar > first.rchar,
        "reading the counters is itself a read"
    );
}
