//! The page as a whole.

use sngp::metrics::Bin;

use super::*;
use crate::figure::{Figure, render};

const ATTACK: &str = "</script><script>alert(1)</script>\"' onload=x <img src=https://evil.example/x> \
                      <!-- \u{2028}\u{2029}\u{0}\u{1b}\u{202e} 🦀 &amp; ${1} </style></svg>";

fn scored(count: usize) -> Vec<Scored> {
    let row = |i: usize| Scored {
        uncertainty: (i * 37 % count) as f64 / count as f64,
        correct: !(i * 37 % count).is_multiple_of(11),
        probability: 0.5 + 0.5 * (i % 7) as f64 / 7.0,
    };
    (0..count).map(row).collect()
}

fn example(text: &str, content: Content) -> Example {
    let [truth, predicted] = [text, "other"].map(str::to_owned);
    Example { row: 7, content, truth, predicted, probability: 0.7, uncertainty: 0.2 }
}

/// Everything a page can have, with `text` wherever data brings a text.
fn full(text: &str) -> Evidence {
    let owned = || text.to_owned();
    Evidence {
        title: owned(),
        facts: vec![(owned(), owned())],
        score: owned(),
        metrics: [Set::Test, Set::Shift, Set::Ood]
            .map(|set| MetricRow {
                set,
                name: owned(),
                summary: owned(),
                higher_is_better: Some(true),
                value: 0.5,
                low: Some(0.4),
                high: None,
            })
            .to_vec(),
        classes: vec![ClassRow {
            label: owned(),
            rows: 3,
            recall: 0.5,
            precision: 0.4,
            f1: 0.44,
            mean_probability: 0.8,
            abstained: 0.1,
        }],
        reliability: vec![Bin {
            lower: 0.0,
            upper: 1.0,
            confidence: 0.8,
            accuracy: 0.7,
            count: 300,
        }],
        test: scored(300),
        shift: scored(100),
        ood: vec![0.5, 0.9, 1.5],
        threshold: Some(0.9),
        basis: Some(owned()),
        uncertain: vec![example(text, Content::Text(owned()))],
        wrong: vec![
            example(text, Content::Cells(vec![(owned(), owned())])),
            example(text, Content::Png(text.as_bytes().to_vec())),
        ],
        regression: None,
    }
}

fn regression(rows: Vec<Interval>) -> Evidence {
    Evidence {
        title: "prices".into(),
        regression: Some(RegressionEvidence { rows, coverage: 0.9 }),
        ..Evidence::default()
    }
}

fn stems(evidence: &Evidence) -> Vec<String> {
    plots(evidence).into_iter().map(|(stem, _)| stem).collect()
}

#[test]
fn nothing_in_the_data_can_become_markup() {
    let (plain, attacked) = (html(&full("plain")), html(&full(ATTACK)));
    // Any element more would be one that the data brought in; but a long name of a score takes
    // more lines of text below its axis.
    let elements = |page: &str| page.matches('<').count() - 2 * page.matches("<text ").count();
    assert_eq!(elements(&attacked), elements(&plain));
    assert_eq!(attacked.matches("<script").count(), 2);
    assert_eq!(attacked.matches("</script").count(), 2);
    assert!(attacked.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(!attacked.contains(['\u{0}', '\u{1b}']));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let page = html(&full("plain"));
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("@import"));
    assert!(!page.contains("url(http") && !page.contains("srcset"));
    for attribute in ["src=\"", "href=\""] {
        for (at, _) in page.match_indices(attribute) {
            let target = &page[at + attribute.len()..];
            assert!(target.starts_with("data:") || target.starts_with('#'), "{}", &target[..40]);
        }
    }
}

#[test]
fn the_same_evidence_gives_the_same_page_in_any_order_of_rows() {
    let mut evidence = full("plain");
    let page = html(&evidence);
    assert_eq!(page, html(&evidence));
    evidence.test.reverse();
    evidence.shift.reverse();
    evidence.ood.reverse();
    assert_eq!(page, html(&evidence));
}

#[test]
fn many_rows_make_no_large_page() {
    let mut evidence = full("plain");
    evidence.test = scored(50_000);
    evidence.ood = scored(50_000).iter().map(|row| row.uncertainty + 0.3).collect();
    let page = html(&evidence);
    assert!(page.len() < 250_000, "{} bytes", page.len());
}

#[test]
fn the_embedded_figures_are_exact() {
    let mut evidence = full("plain");
    evidence.test = scored(9_973);
    let page = html(&evidence);
    let from = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let json = &page[from..from + page[from..].find("</script>").unwrap()];
    let data: serde_json::Value = serde_json::from_str(json).unwrap();
    let list = |name: &str| data[name].as_array().unwrap().clone();
    assert!(list("threshold").len() <= 2_000);
    for (index, threshold) in list("threshold").iter().enumerate().step_by(97) {
        let threshold = threshold.as_f64().unwrap();
        let accepted = evidence.test.iter().filter(|row| row.uncertainty <= threshold);
        let (right, wrong): (Vec<&Scored>, Vec<&Scored>) = accepted.partition(|row| row.correct);
        assert_eq!(list("test")[index], right.len() + wrong.len());
        assert_eq!(list("testWrong")[index], wrong.len());
        let ood = evidence.ood.iter().filter(|value| **value <= threshold).count();
        assert_eq!(list("ood")[index], ood);
    }
}

#[test]
fn every_plot_is_a_picture() {
    for evidence in
        [full(ATTACK), regression(vec![Interval { truth: 1.0, mean: 1.0, low: 0.0, high: 2.0 }])]
    {
        for (stem, plot) in plots(&evidence) {
            let png = render::png(&plot.svg().unwrap(), 1.0).unwrap();
            assert!(png.starts_with(b"\x89PNG"), "{stem}");
        }
    }
    let all = ["risk_coverage", "histogram", "roc", "precision_recall", "reliability"];
    assert_eq!(stems(&full("plain")), all);
    assert_eq!(
        stems(&Evidence { ood: vec![], ..full("plain") }),
        ["risk_coverage", "histogram", "reliability"]
    );
}

#[test]
fn the_headline_says_what_the_data_say() {
    let rows = |wrong: usize| -> Vec<Scored> {
        let row =
            |i: usize| Scored { uncertainty: i as f64, correct: i < 100 - wrong, probability: 0.9 };
        (0..100).map(row).collect()
    };
    let evidence =
        Evidence { test: rows(6), ood: vec![50.0, 98.0, 99.0, 99.0], ..Evidence::default() };
    let page = html(&evidence).replace('\u{202f}', " ");
    let expected = "Accepting the 95 % of test examples it is surest of, it is wrong on 1.1 % of them, \
                    against 6 % when it answers everything; 75 % of the out-of-domain examples are \
                    turned away at the same threshold.";
    assert!(page.contains(expected), "{page}");
    let strict = Evidence { threshold: Some(-1.0), ..evidence };
    assert!(html(&strict).contains("turns every test example away"));
}

#[test]
fn sparse_evidence_makes_a_page_too() {
    let constant = vec![Scored { uncertainty: 0.5, correct: true, probability: 1.0 }; 5];
    let one = Evidence { test: constant, ood: vec![0.5], ..Evidence::default() };
    assert_eq!(check(&one), Ok(()));
    let page = html(&one);
    assert!(page.contains("the same for every test example") && page.contains(" disabled>"));
    assert_eq!(stems(&one), ["risk_coverage", "histogram", "roc", "precision_recall"]);
    assert!(plots(&one).iter().all(|(_, plot)| plot.svg().is_ok()));
    assert!(html(&Evidence::default()).contains("no test example"));
    let rows = vec![Interval { truth: 3.0, mean: 2.0, low: 1.0, high: 2.5 }; 3];
    assert!(html(&regression(rows)).contains("for 0\u{202f}% of 3 test examples"));
}

#[test]
fn the_check_names_what_is_wrong() {
    assert_eq!(check(&full(ATTACK)), Ok(()));
    assert_eq!(check(&Evidence::default()), Err(EvidenceError::Empty));
    assert_eq!(check(&regression(vec![])), Err(EvidenceError::Empty));
    let row = Interval { truth: 0.0, mean: 0.0, low: 1.0, high: 0.0 };
    assert!(matches!(check(&regression(vec![row])), Err(EvidenceError::Reversed { index: 0, .. })));
    let mixed = Evidence { test: scored(3), ..regression(vec![Interval { high: 2.0, ..row }]) };
    assert_eq!(check(&mixed), Err(EvidenceError::Mixed));

    let spoil = |spoil: fn(&mut Evidence)| {
        let mut evidence = full("plain");
        spoil(&mut evidence);
        // Neither a panic nor an endless loop.
        assert!(html(&evidence).ends_with("</html>\n"));
        plots(&evidence);
        check(&evidence).unwrap_err().to_string()
    };
    let message = spoil(|evidence| evidence.test[2].uncertainty = f64::NAN);
    assert_eq!(message, "test uncertainty 2 is NaN, but it has to be a finite number");
    spoil(|evidence| evidence.shift[0].uncertainty = f64::INFINITY);
    spoil(|evidence| evidence.ood[1] = f64::NAN);
    spoil(|evidence| evidence.threshold = Some(f64::NAN));
    spoil(|evidence| evidence.metrics[0].value = f64::NAN);
    spoil(|evidence| evidence.classes[0].precision = f64::NAN);
    spoil(|evidence| evidence.reliability[0].accuracy = f64::NAN);
    spoil(|evidence| evidence.wrong[0].probability = 1.5);
}

#[test]
fn evidence_can_be_kept_as_json() {
    let json = serde_json::to_value(full("plain")).unwrap();
    assert_eq!(json["metrics"][2]["set"], "ood");
    assert_eq!(json["wrong"][1]["content"]["png"], "cGxhaW4=");
}
