use super::*;
use crate::evidence::Scored;

fn sweep(evidence: &Evidence) -> Option<Sweep> {
    let [test, shift] = [&evidence.test, &evidence.shift].map(|rows| Ranked::new(rows));
    Sweep::new(evidence, &test, &shift, &Ranked::unlabelled(&evidence.ood))
}

fn rows(count: usize, ties: usize) -> Vec<Scored> {
    let row = |i: usize| Scored {
        // Neither sorted nor in step with the mistakes.
        uncertainty: ((i * 7_919 % count) / ties) as f64,
        correct: !i.is_multiple_of(13),
        probability: 0.5,
    };
    (0..count).map(row).collect()
}

#[test]
fn every_stop_counts_exactly_what_it_accepts() {
    for (count, ties) in [(40_000, 1), (40_000, 37), (50, 1), (1_500, 1_000)] {
        let evidence = Evidence {
            test: rows(count, ties),
            shift: rows(777, 2),
            ood: (0..901).map(|i| f64::from(i) * 3.3).collect(),
            threshold: Some(12.25),
            ..Evidence::default()
        };
        let sweep = sweep(&evidence).unwrap();
        assert!(sweep.points.len() <= STOPS);
        for point in sweep.points.iter().step_by(41) {
            let count = |rows: &[Scored], also: fn(&Scored) -> bool| {
                rows.iter().filter(|one| one.uncertainty <= point.threshold && also(one)).count()
            };
            for (set, found) in [(&evidence.test, point.test), (&evidence.shift, point.shift)] {
                assert_eq!(found.count, count(set, |_| true));
                assert_eq!(found.wrong, count(set, |one| !one.correct));
            }
            let ood = evidence.ood.iter().filter(|value| **value <= point.threshold).count();
            assert_eq!(point.ood, ood);
        }
        assert_eq!(sweep.starting().threshold, 12.25);
    }
}

#[test]
fn round_coverages_are_met_exactly() {
    let evidence = Evidence { test: rows(100_000, 1), ..Evidence::default() };
    let sweep = sweep(&evidence).unwrap();
    for coverage in ROUND {
        assert_eq!(sweep.coverage(sweep.points[sweep.covering(coverage)]), coverage);
    }
    assert_eq!(sweep.start, sweep.covering(0.95));
    assert_eq!(sweep.caught(sweep.starting()), None);
}

#[test]
fn a_constant_score_has_one_stop() {
    let evidence = Evidence { test: rows(100, 100), ood: vec![0.0, 1.0], ..Evidence::default() };
    let sweep = sweep(&evidence).unwrap();
    assert_eq!((sweep.points.len(), sweep.start), (1, 0));
    assert_eq!(sweep.caught(sweep.starting()), Some(0.5));
}

#[test]
fn a_threshold_below_everything_accepts_nothing() {
    let evidence = Evidence { test: rows(10, 1), threshold: Some(-1.0), ..Evidence::default() };
    let sweep = sweep(&evidence).unwrap();
    assert_eq!((sweep.start, sweep.starting().test.count), (0, 0));
    assert_eq!(sweep.starting().test.risk(), None);
}

#[test]
fn no_examples_no_sweep() {
    assert_eq!(sweep(&Evidence { threshold: Some(1.0), ..Evidence::default() }), None);
}
