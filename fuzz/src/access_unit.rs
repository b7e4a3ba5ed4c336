//! The head of a sync sample, and parameter sets that it brings: nothing here may trust them.

use bytes::Bytes;
use yeoul_isobmff::codec::{AccessUnit, NalCodec, ParameterSets, SampleEntry};
use yeoul_isobmff::movie::Handler;

use crate::boxes::{sample_entry, with_sets};

/// Checks one input. The first byte is the codec and the size of length fields; the rest is once a sample, and once one
/// parameter set alone.
pub fn check(data: &[u8]) {
    let Some((options, rest)) = data.split_first() else {
        return;
    };
    let (codec, template) = if options & 1 == 0 {
        (NalCodec::Avc, yeoul_testkit::SampleEntry::h264_720p30())
    } else {
        (NalCodec::Hevc, yeoul_testkit::SampleEntry::h265_720p30())
    };
    let length_size = usize::from(options >> 1 & 3) + 1;
    let entry = SampleEntry::new(&template.bytes.into(), Handler::Video).expect("a whole box");
    let own = entry.parameter_sets().expect("it has sets");
    let head = Bytes::copy_from_slice(rest);

    let unit = AccessUnit::read(&head, codec, length_size);
    let units = [&unit.sets.vps, &unit.sets.sps, &unit.sets.pps]
        .into_iter()
        .flatten();
    let total: usize = units.map(|unit| unit.len() + length_size).sum();
    assert!(total <= rest.len());
    if let Some(sets) = own.changed_by(&unit.sets) {
        assert_ne!(sets, own);
        assert_eq!(
            sets.changed_by(&unit.sets),
            None,
            "a change is one only once"
        );
        with_sets(&entry, &sets);
    }
    with_sets(&entry, &unit.sets);

    let with = |vps: &[&Bytes], sps: &[&Bytes], pps: &[&Bytes]| {
        let units = |own: &Vec<Bytes>, new: &[&Bytes]| match new {
            [] => own.clone(),
            new => new.iter().map(|unit| (*unit).clone()).collect(),
        };
        let sets = ParameterSets {
            vps: units(&own.vps, vps),
            sps: units(&own.sps, sps),
            pps: units(&own.pps, pps),
            ..own.clone()
        };
        let _ = own.changed_by(&sets);
        with_sets(&entry, &sets);
    };
    with(&[], &[&head], &[]);
    with(&[], &[&head, &own.sps[0]], &[&head]);
    with(&[], &[], &[&own.pps[0], &head]);
    if codec == NalCodec::Hevc {
        with(&[&head], &[], &[]);
    }
    if let Ok(foreign) = SampleEntry::new(&Bytes::copy_from_slice(rest), Handler::Video) {
        sample_entry(&foreign, &[own]);
    }
}
