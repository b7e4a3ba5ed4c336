//! What counters and files tell of a run, held against its scope: the cases that cannot be made at will here.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use yeoul_measure::evidence::check;
use yeoul_measure::output::OutputFile;
use yeoul_measure::usage::{Io, Usage};
use yeoul_measure::{Evidence, Refusal};

fn made(created: SystemTime) -> [OutputFile; 1] {
    [OutputFile {
        path: "copy".into(),
        bytes: 4096,
        created: Some(created),
        modified: Some(created),
        links: 1,
        symbolic_link: false,
    }]
}

fn seen(outputs: &[OutputFile], began: SystemTime, wchar: u64, write_bytes: u64) -> Evidence<'_> {
    let io = Io {
        rchar: 4096,
        wchar,
        write_bytes,
        ..Io::default()
    };
    let usage = Usage {
        io,
        ..Usage::default()
    };
    Evidence {
        usage,
        began,
        outputs,
        fresh: true,
        read_floor: 4096,
        counts_dirtied: true,
        warm_up_read: None,
    }
}

#[test]
fn a_new_file_that_was_created_before_the_run_is_refused_beyond_one_tick_of_the_clock() {
    let scope = "read,work,write".parse().unwrap();
    let began = SystemTime::now();
    let outputs = |ms| made(began - Duration::from_millis(ms));
    assert_eq!(check(scope, &seen(&outputs(10), began, 4096, 4096)), Ok(()));
    let by = Duration::from_millis(50);
    let refused = check(scope, &seen(&outputs(50), began, 4096, 4096));
    assert_eq!(
        refused,
        Err(Refusal::OlderThanRun {
            path: "copy".into(),
            by
        })
    );
}

/// This machine has no filesystem with reflinks at hand: what the kernel counts for one is given as it would be. A
/// `copy_file_range` that shares blocks counts as read and written, a `FICLONE` as nothing; neither dirties a page.
#[test]
fn a_reflink_is_refused_whichever_way_it_was_made() {
    let scope = "read,work,write".parse().unwrap();
    let began = SystemTime::now();
    let outputs = made(began);
    let seen = |wchar, write_bytes| seen(&outputs, began, wchar, write_bytes);
    assert_eq!(
        check(scope, &seen(4096, 0)),
        Err(Refusal::SharedBlocks {
            output: 4096,
            dirtied: 0
        })
    );
    assert_eq!(
        check(scope, &seen(0, 0)),
        Err(Refusal::WroteTooLittle {
            output: 4096,
            written: 0
        })
    );
    assert_eq!(check(scope, &seen(4096, 4096)), Ok(()));
    assert_eq!(
        check(scope, &seen(0, 4096)),
        Ok(()),
        "a write through a mapping"
    );
    let durable = "read,work,write,fsync".parse().unwrap();
    assert_eq!(check(durable, &seen(4096, 4096)), Err(Refusal::NeverWaited));
}
