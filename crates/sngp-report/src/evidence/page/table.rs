//! Tables.

use super::number::{count, percent_column};
use crate::escape;
use sngp::metrics::Bin;

/// A cell: what it says and, in a column that can be sorted by number, the number.
pub(super) struct Cell {
    html: String,
    sort: Option<f64>,
    /// What the script knows it by.
    id: Option<String>,
}

impl Cell {
    /// Text from anywhere.
    pub fn text(text: &str) -> Self {
        Self { html: format!("<bdi>{}</bdi>", escape::markup(text)), sort: None, id: None }
    }

    /// A number that reads as `text`.
    pub fn number(value: f64, text: &str) -> Self {
        Self { html: escape::markup(text), sort: Some(value), id: None }
    }

    /// The same, with a name that the script finds it by.
    pub fn with_id(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }

    /// A percentage.
    pub fn share(share: f64) -> Self {
        Self::number(share, &percent_column(share))
    }

    /// A percentage with a little bar.
    pub fn bar(share: f64) -> Self {
        let width = (100.0 * share.clamp(0.0, 1.0)).round();
        let bar = format!("<span class=\"bar\"><span style=\"width:{width}%\"></span></span>");
        Self { html: bar + &escape::markup(&percent_column(share)), sort: Some(share), id: None }
    }

    fn render(&self) -> String {
        let id = self.id.as_ref().map_or(String::new(), |id| format!(" id=\"{id}\""));
        match self.sort {
            Some(value) => {
                format!("<td{id} class=\"num\" data-value=\"{value}\">{}</td>", self.html)
            }
            None => format!("<td{id}>{}</td>", self.html),
        }
    }
}

/// One row a list of cells; a row with a class, e.g. `own`, carries it.
pub(super) fn rows(rows: impl IntoIterator<Item = (&'static str, Vec<Cell>)>) -> String {
    rows.into_iter()
        .map(|(class, cells)| {
            let class =
                if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let cells: String = cells.iter().map(Cell::render).collect();
            format!("<tr{class}>{cells}</tr>\n")
        })
        .collect()
}

/// The bins of the reliability diagram, folded away.
pub(super) fn bins(bins: &[Bin]) -> String {
    let body = rows(bins.iter().filter(|bin| bin.count > 0).map(|bin| {
        let cells = vec![
            Cell::share(bin.confidence),
            Cell::share(bin.accuracy),
            Cell::number(bin.count as f64, &count(bin.count)),
        ];
        ("", cells)
    }));
    format!(
        "<details open>\n<summary>The bins as a table</summary>\n<div class=\"scroll\"><table>\n\
         <thead><tr><th class=\"num\">confidence</th><th class=\"num\">right</th>\
         <th class=\"num\">examples</th></tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
         </details>\n"
    )
}
