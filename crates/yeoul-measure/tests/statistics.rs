//! What the paired interval must be able to do, on simulated samples: nothing here depends on how quiet the machine is.
#![allow(clippy::unwrap_used)]

use yeoul_measure::SplitMix64;
use yeoul_measure::ratio::{Bootstrap, Interval, paired};

const COMPARISONS: u64 = 40;
const N: u32 = 200;

/// A run of about 2 ms as a busy machine gives it: log-normal noise of 8 %, a drift of 30 % over the whole comparison and
/// a slow wave that both sides share, and in every 30th run an outlier of up to 5 times.
struct Machine {
    rng: SplitMix64,
    turn: u32,
}

impl Machine {
    fn run(&mut self, slower: f64) -> u64 {
        let progress = f64::from(self.turn) / f64::from(2 * N);
        self.turn += 1;
        let shared = (1.0 + 0.3 * progress) * (1.0 + 0.1 * (progress * 40.0).sin());
        let (u, v) = (1.0 - self.rng.unit(), self.rng.unit());
        let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
        let outlier = if self.rng.below(30) == 0 {
            1.5 + 3.5 * self.rng.unit()
        } else {
            1.0
        };
        let ns = 2e6 * shared * (0.08 * normal).exp() * outlier * slower;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let ns = ns as u64;
        ns
    }
}

/// N rounds in random order; `slower` is how much more time the second side takes.
fn compared(seed: u64, slower: f64) -> Interval {
    let mut machine = Machine {
        rng: SplitMix64::new(seed),
        turn: 0,
    };
    let mut order = SplitMix64::new(!seed);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..N {
        if order.below(2) == 0 {
            a.push(machine.run(1.0));
            b.push(machine.run(slower));
        } else {
            b.push(machine.run(slower));
            a.push(machine.run(1.0));
        }
    }
    paired(
        &b,
        &a,
        Bootstrap {
            seed,
            ..Bootstrap::default()
        },
    )
    .unwrap()
}

#[test]
fn of_40_comparisons_of_a_side_with_itself_at_least_34_find_no_difference() {
    let intervals: Vec<Interval> = (0..COMPARISONS).map(|seed| compared(seed, 1.0)).collect();
    let without = intervals
        .iter()
        .filter(|interval| interval.contains_one())
        .count();
    let mut widths: Vec<f64> = intervals.iter().map(Interval::width).collect();
    widths.sort_by(f64::total_cmp);
    assert!(without >= 34, "{without} of 40 intervals contain 1.0");
    assert!(widths[20] < 0.1, "median width {}", widths[20]);
    // An interval that always contains 1.0 would pass too; one that is as narrow as 1 in 20 misses allow does not.
    assert!(widths[0] > 0.01, "narrowest {}", widths[0]);
}

#[test]
fn a_planted_slowdown_of_5_percent_is_found_in_at_least_18_of_20() {
    let found = (100..120)
        .map(|seed| compared(seed, 1.05))
        .filter(|interval| interval.low > 1.0)
        .count();
    assert!(found >= 18, "found in {found} of 20");
}

#[test]
fn the_ratio_of_a_planted_factor_is_the_factor() {
    let interval = compared(7, 7.69);
    assert!(
        (interval.median / 7.69 - 1.0).abs() < 0.03,
        "{}",
        interval.median
    );
    assert!(interval.low < 7.69 && 7.69 < interval.high);
}
