//! What the decision accepts, on the page.

use super::*;

#[test]
fn the_headline_says_what_the_data_say() {
    let rows = |wrong: usize| -> Vec<Scored> {
        let row = |i: usize| {
            let (uncertainty, correct) = (i as f64, i < 100 - wrong);
            Scored { uncertainty, correct, probability: 0.9, admitted: true }
        };
        (0..100).map(row).collect()
    };
    let evidence =
        Evidence { test: rows(6), ood: vec![50.0, 98.0, 99.0, 99.0], ..Evidence::default() };
    let page = html(&evidence).replace('\u{202f}', " ");
    let expected = "Accepting the 95 % of test examples it is surest of, it is wrong on 1.1 % of them, \
                    against 6 % when it answers everything; 75 % of the out-of-distribution (OOD) \
                    examples are rejected by the same decision.";
    assert!(page.contains(expected), "{page}");
    let strict = Evidence { threshold: Some(-1.0), ..evidence };
    assert!(html(&strict).contains("It rejects every test example"));
}

#[test]
fn what_the_guard_rejects_is_rejected_on_the_whole_page() {
    let row = |i: usize| Scored {
        uncertainty: i as f64,
        correct: true,
        probability: 0.9,
        admitted: !i.is_multiple_of(4),
    };
    let evidence = Evidence {
        test: (0..100).map(row).collect(),
        ood: vec![0.0; 10],
        ood_sets: vec![set("noise", &[false; 10])],
        threshold: Some(79.0),
        ..Evidence::default()
    };
    let page = html(&evidence).replace('\u{202f}', " ");
    assert!(page.contains("At its own threshold it answers 60 % of the test examples"), "{page}");
    assert!(page.contains("100 % of the out-of-distribution (OOD) examples are rejected"));
    assert!(page.contains("Whatever the threshold, 25 of 100 test examples and 10 of 10 OOD"));
    // The curve of the score alone stays one: certain OOD examples are its worst case.
    assert!(page.contains("Area (AUROC): 0.0050."), "{page}");
    let found = evidence.at_threshold();
    assert_eq!((found.test.answered, found.ood[0].rejected), (60, 10));
}

#[test]
fn ood_sets_stand_side_by_side() {
    let page = html(&full("plain")).replace('\u{202f}', " ");
    for part in ["<bdi>plain</bdi>", "<bdi>far</bdi>", "<bdi>all together</bdi>"] {
        assert!(page.contains(part), "{part}");
    }
    // One of two, one of one, two of three; the threshold is 0.9.
    for (row, share) in ["50.0 %", "100.0 %", "66.7 %"].into_iter().enumerate() {
        let at = page.find(&format!("id=\"ood-{row}\"")).unwrap();
        assert!(page[at..at + 80].contains(share), "{}", &page[at..at + 80]);
    }
    assert!(page.contains("Accepted OOD examples") && page.contains("Most confused pairs"));
}

#[test]
fn a_regression_abstains_too() {
    // Certain and right, or uncertain and far off.
    let rows: Vec<Interval> = (0..40)
        .map(|i| match i % 4 {
            0 => interval(9.0, [0.0, 2.0]),
            _ => interval(1.5, [0.5, 1.5]),
        })
        .collect();
    let evidence = Evidence {
        score: "variance".into(),
        threshold: Some(1.5),
        ood: vec![1.0, 2.0, 3.0, 4.0],
        ..regression(rows)
    };
    assert_eq!(check(&evidence), Ok(()));
    let all = ["risk_coverage", "histogram", "roc", "precision_recall", "regression_scatter"];
    assert_eq!(stems(&evidence), all);
    let found = evidence.at_threshold();
    let errors = found.test.errors.unwrap();
    assert_eq!((found.test.answered, found.test.wrong), (30, None));
    assert_eq!(
        (errors.rmse_of_answered, errors.interval_coverage_of_answered),
        (Some(0.5), Some(1.0))
    );
    assert_eq!(errors.rmse_of_all, ((30.0 * 0.25 + 10.0 * 64.0) / 40.0_f64).sqrt());
    let page = html(&evidence).replace('\u{202f}', " ");
    assert!(page.contains("It answers 75 % of them, with a root mean squared error of 0.5000"));
    assert!(page.contains("75 % of the out-of-distribution (OOD) examples are rejected"), "{page}");
    // The area of the squared error: ten of forty join at the end.
    assert!(page.contains("mean squared error of answered") && page.contains("id=\"rmse\""));
}
