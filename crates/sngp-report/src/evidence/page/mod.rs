//! The report as one HTML page.
//!
//! Every part is a function from evidence to a piece of HTML, empty when there is nothing to
//! show. Whatever comes from the data passes through [`escape`](crate::escape).

mod classes;
mod examples;
mod facts;
mod headline;
mod metrics;
mod number;
mod ood;
mod operating_points;
mod panel;
mod regression;
mod table;
mod tiles;
mod warnings;

use super::Evidence;
use super::plot::{self, Plot, Sorted};
use crate::escape;
use crate::figure::Chart;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing may be loaded from anywhere, whatever the data says; images are inside the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'";

/// A part of the page that the navigation leads to.
struct Section {
    id: &'static str,
    title: &'static str,
    body: String,
}

/// The whole page.
pub(super) fn html(evidence: &Evidence) -> String {
    let sorted = Sorted::new(evidence);
    let headline = match (&evidence.regression, &sorted.sweep) {
        (Some(found), sweep) => headline::regression(found, sweep.as_ref()),
        (None, Some(sweep)) => headline::classification(sweep),
        (None, None) => "There is no test example to judge it by.".into(),
    };
    let section = |id, title, body| Section { id, title, body };
    let sections: Vec<Section> = [
        section("threshold", "Threshold", panel::threshold(evidence, &sorted)),
        section("ood", "Out-of-distribution", ood::sets(evidence, sorted.sweep.as_ref())),
        section("intervals", "Intervals", regression::intervals(evidence)),
        section("metrics", "Metrics", metrics::metrics(evidence)),
        section("calibration", "Calibration", calibration(evidence)),
        section("classes", "Classes", classes::classes(evidence)),
        section("examples", "Examples", examples::examples(evidence)),
        section("facts", "Provenance", facts::facts(evidence)),
    ]
    .into_iter()
    .filter(|section| !section.body.is_empty())
    .collect();

    let links: String = sections
        .iter()
        .map(|Section { id, title, .. }| format!("<a href=\"#{id}\">{title}</a>\n"))
        .collect();
    let bodies: String = sections
        .iter()
        .map(|Section { id, title, body }| {
            format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{body}</section>\n")
        })
        .collect();
    let numbers = evidence.regression.is_some();
    let data = sorted.sweep.as_ref().map_or(String::new(), |sweep| panel::data(sweep, numbers));
    let warnings = warnings::warnings(evidence);
    let title = escape::markup(&evidence.title);
    let headline = escape::markup(&headline);
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: does it know what it does not know?</title>
<link rel="icon" href="data:,">
<style>
{STYLE}</style>
</head>
<body>
<header>
<p class="kicker">Does it know what it does not know?</p>
<h1>{title}</h1>
<p class="lede">{headline}</p>
{warnings}<nav aria-label="Sections">
{links}</nav>
</header>
<main>
{bodies}</main>
{data}<script>
{SCRIPT}</script>
</body>
</html>
"#
    )
}

fn calibration(evidence: &Evidence) -> String {
    plot::reliability(evidence).map_or(String::new(), |plot| {
        let bins = table::bins(&evidence.reliability);
        format!("<div class=\"plots\">\n{}{bins}</div>\n", figure(&plot))
    })
}

/// A plot with its title and its sentence, drawn in the page's own colours and font.
fn figure(plot: &Plot) -> String {
    let id = &plot.chart.id;
    let [width, height] = Chart::SIZE;
    let drawing = match plot.chart.body() {
        Ok(body) => format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title\">\n\
             {body}</svg>"
        ),
        Err(error) => format!("<p>It cannot be drawn: {}.</p>", escape::markup(&error.to_string())),
    };
    format!(
        "<figure id=\"{id}\">\n<h3 id=\"{id}-title\">{}</h3>\n{drawing}\n\
         <figcaption>{}</figcaption>\n</figure>\n",
        plot.title,
        escape::markup(&plot.caption)
    )
}
