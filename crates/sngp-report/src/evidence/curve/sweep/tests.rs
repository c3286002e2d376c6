use super::*;

fn rows(count: usize, ties: usize) -> Vec<Row> {
    let row = |i: usize| {
        let wrong = i.is_multiple_of(13);
        Row {
            // Neither sorted nor in step with the mistakes.
            uncertainty: ((i * 7_919 % count) / ties) as f64,
            admitted: !i.is_multiple_of(7),
            wrong,
            loss: if wrong { 1.0 } else { 0.0 },
        }
    };
    (0..count).map(row).collect()
}

fn all_admitted(count: usize, ties: usize) -> Vec<Row> {
    rows(count, ties).into_iter().map(|row| Row { admitted: true, ..row }).collect()
}

#[test]
fn every_stop_counts_exactly_what_it_accepts() {
    for (count, ties) in [(40_000, 1), (40_000, 37), (50, 1), (1_500, 1_000)] {
        let (test, shift) = (rows(count, ties), rows(777, 2));
        let ood = [("near", rows(901, 3)), ("far", rows(33, 1))];
        let sweep = Sweep::new(Some(12.25), &test, &shift, &ood).unwrap();
        assert!(sweep.points.len() <= STOPS);
        for (stop, point) in sweep.points.iter().enumerate().step_by(41) {
            let count = |rows: &[Row], also: fn(&Row) -> bool| {
                let accepted = |one: &&Row| one.admitted && one.uncertainty <= point.threshold;
                rows.iter().filter(accepted).filter(|one| also(one)).count()
            };
            for (set, found) in [(&test, point.test), (&shift, point.shift)] {
                assert_eq!(found.count, count(set, |_| true));
                assert_eq!(found.wrong, count(set, |one| one.wrong));
            }
            assert_eq!(point.loss, point.test.risk());
            let accepted = ood.each_ref().map(|(_, rows)| count(rows, |_| true));
            assert_eq!(
                sweep.ood_sets.iter().map(|set| set.accepted[stop]).collect::<Vec<_>>(),
                accepted
            );
            assert_eq!(point.ood, accepted.iter().sum::<usize>());
        }
        assert_eq!(sweep.starting().threshold, 12.25);
        assert_eq!(sweep.never[0], test.iter().filter(|row| !row.admitted).count());
        assert_eq!(sweep.never[1], 901_usize.div_ceil(7) + 33_usize.div_ceil(7));
    }
}

#[test]
fn round_coverages_are_met_exactly() {
    let sweep = Sweep::new(None, &all_admitted(100_000, 1), &[], &[]).unwrap();
    for coverage in ROUND {
        assert_eq!(sweep.coverage(sweep.points[sweep.covering(coverage)]), coverage);
    }
    assert_eq!(sweep.start, sweep.covering(0.95));
    assert_eq!(sweep.rejected_ood(sweep.starting()), None);
}

#[test]
fn coverage_is_of_all_examples_and_ends_where_no_more_are_admitted() {
    // Six of seven can be accepted at all.
    let sweep = Sweep::new(None, &rows(7_000, 1), &[], &[]).unwrap();
    assert_eq!(sweep.coverage(sweep.points[sweep.covering(0.8)]), 0.8);
    assert_eq!(sweep.covering(0.95), sweep.points.len() - 1);
    assert_eq!(sweep.starting().test.count, 6_000);
}

#[test]
fn a_constant_score_has_one_stop() {
    let ood = [("", vec![Row::ood(0.0, true), Row::ood(1.0, true)])];
    let sweep = Sweep::new(None, &all_admitted(100, 100), &[], &ood).unwrap();
    assert_eq!((sweep.points.len(), sweep.start), (1, 0));
    assert_eq!(sweep.rejected_ood(sweep.starting()), Some(0.5));
}

#[test]
fn a_threshold_below_everything_accepts_nothing() {
    let sweep = Sweep::new(Some(-1.0), &all_admitted(10, 1), &[], &[]).unwrap();
    assert_eq!((sweep.start, sweep.starting().test.count), (0, 0));
    assert_eq!(sweep.starting().test.risk(), None);
}

#[test]
fn nothing_admitted_is_nothing_accepted() {
    let test: Vec<Row> = rows(9, 1).into_iter().map(|row| Row { admitted: false, ..row }).collect();
    let sweep = Sweep::new(None, &test, &[], &[]).unwrap();
    assert_eq!((sweep.points.len(), sweep.starting().test.count, sweep.never[0]), (1, 0, 9));
}

#[test]
fn no_examples_no_sweep() {
    assert_eq!(Sweep::new(Some(1.0), &[], &[], &[]), None);
}
