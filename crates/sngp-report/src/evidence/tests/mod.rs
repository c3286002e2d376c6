//! The page as a whole.

mod decision;

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
        admitted: !i.is_multiple_of(9),
    };
    (0..count).map(row).collect()
}

fn example(truth: Truth, content: Content) -> Example {
    let predicted = "other".to_owned();
    Example { row: 7, content, truth, predicted, probability: 0.7, uncertainty: 0.2 }
}

fn interval(truth: f64, [low, high]: [f64; 2]) -> Interval {
    let mean = (low + high) / 2.0;
    Interval { truth, mean, low, high, uncertainty: high - low, admitted: true }
}

fn set(name: &str, admitted: &[bool]) -> OodSet {
    OodSet { name: name.to_owned(), admitted: admitted.to_vec() }
}

/// Everything a page can have, with `text` wherever data brings a text.
fn full(text: &str) -> Evidence {
    let owned = || text.to_owned();
    Evidence {
        title: owned(),
        facts: vec![(owned(), owned())],
        score: owned(),
        metrics: [
            Set::Test,
            Set::Shift,
            Set::Ood,
            Set::Misclassification,
            Set::Union,
            Set::Failure,
        ]
        .map(|set| MetricRow {
            set,
            ood: (set == Set::Ood).then(owned),
            by: (set == Set::Failure).then(|| "compared".to_owned()),
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
            threshold: Some(0.2),
        }],
        confusions: vec![Confusion { truth: owned(), predicted: owned(), count: 3, accepted: 1 }],
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
        ood_sets: vec![set(text, &[true, false]), set("far", &[true])],
        threshold: Some(0.9),
        basis: Some(owned()),
        uncertain: vec![example(Truth::Label(owned()), Content::Text(owned()))],
        wrong: vec![
            example(Truth::Label(owned()), Content::Cells(vec![(owned(), owned())])),
            example(Truth::Label(owned()), Content::Png(text.as_bytes().to_vec())),
        ],
        accepted_ood: vec![example(Truth::Ood(owned()), Content::Text(owned()))],
        warnings: vec![owned()],
        regression: None,
    }
}

fn regression(rows: Vec<Interval>) -> Evidence {
    Evidence {
        title: "prices".into(),
        regression: Some(RegressionEvidence { rows, shift: Vec::new(), coverage: 0.9 }),
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
    evidence.ood_sets.clear();
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
        let accepted =
            evidence.test.iter().filter(|row| row.admitted && row.uncertainty <= threshold);
        let (right, wrong): (Vec<&Scored>, Vec<&Scored>) = accepted.partition(|row| row.correct);
        assert_eq!(list("test")[index], right.len() + wrong.len());
        assert_eq!(list("testWrong")[index], wrong.len());
        // The second is not admitted.
        let sets = [[0.5].as_slice(), &[1.5]]
            .map(|set| set.iter().filter(|value| **value <= threshold).count());
        assert_eq!(list("ood")[index], sets[0] + sets[1]);
        for (set, accepted) in sets.into_iter().enumerate() {
            assert_eq!(data["oodSets"][set]["accepted"][index], accepted);
        }
    }
}

#[test]
fn every_plot_is_a_picture() {
    for evidence in [full(ATTACK), regression(vec![interval(1.0, [0.0, 2.0])])] {
        for (stem, plot) in plots(&evidence) {
            let png = render::png(&plot.svg().unwrap(), 1.0).unwrap();
            assert!(png.starts_with(b"\x89PNG"), "{stem}");
        }
    }
    let all = ["risk_coverage", "histogram", "roc", "precision_recall", "reliability"];
    assert_eq!(stems(&full("plain")), all);
    assert_eq!(
        stems(&Evidence { ood: vec![], ood_sets: vec![], ..full("plain") }),
        ["risk_coverage", "histogram", "reliability"]
    );
}

#[test]
fn sparse_evidence_makes_a_page_too() {
    let certain = Scored { uncertainty: 0.5, correct: true, probability: 1.0, admitted: true };
    let one = Evidence { test: vec![certain; 5], ood: vec![0.5], ..Evidence::default() };
    assert_eq!(check(&one), Ok(()));
    let page = html(&one);
    assert!(page.contains("the same for every test example") && page.contains(" disabled>"));
    assert_eq!(stems(&one), ["risk_coverage", "histogram", "roc", "precision_recall"]);
    assert!(plots(&one).iter().all(|(_, plot)| plot.svg().is_ok()));
    let nothing = vec![Scored { admitted: false, ..certain }; 5];
    assert!(html(&Evidence { test: nothing, ..one }).contains("It rejects every test example"));
    assert!(html(&Evidence::default()).contains("no test example"));
    let rows = vec![interval(3.0, [1.0, 2.5]); 3];
    assert!(html(&regression(rows)).contains("for 0\u{202f}% of 3 test examples"));
}

#[test]
fn the_check_names_what_is_wrong() {
    assert_eq!(check(&full(ATTACK)), Ok(()));
    assert_eq!(check(&Evidence::default()), Err(EvidenceError::Empty));
    assert_eq!(check(&regression(vec![])), Err(EvidenceError::Empty));
    let row = interval(0.0, [1.0, 0.0]);
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
    spoil(|evidence| evidence.ood_sets.truncate(1));
    let message = spoil(|evidence| evidence.ood_sets.push(set("more", &[true; 9])));
    assert_eq!(message, "the OOD sets hold 12 examples, but there are 3");
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
    for (row, set) in json["metrics"].as_array().unwrap().iter().zip([0, 1, 3, 2, 4]) {
        assert_eq!(row["set"], Set::ALL[set].name());
    }
    assert_eq!(json["accepted_ood"][0]["truth"]["ood"], "plain");
    assert_eq!(json["wrong"][1]["content"]["png"], "cGxhaW4=");
}
