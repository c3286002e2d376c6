//! Published figures, to be shown beside ours.

use std::collections::BTreeMap;

/// Table 3 of the paper: BERT-base on CLINC, mean of ten seeds.
const CLINC: &str = include_str!("clinc.csv");

/// One method's published figures by column.
pub type Figures = BTreeMap<&'static str, f64>;

/// The paper's figures for CLINC by method.
///
/// ```
/// let paper = sngp_lab::published::clinc();
/// assert_eq!(paper["sngp"]["ood_auroc"], 0.969);
/// ```
pub fn clinc() -> BTreeMap<&'static str, Figures> {
    table(CLINC)
}

fn table(csv: &'static str) -> BTreeMap<&'static str, Figures> {
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').skip(1).collect();
    let row = |line: &'static str| {
        let (method, cells) = line.split_once(',')?;
        let figures = columns.iter().copied().zip(cells.split(','));
        Some((
            method,
            figures.filter_map(|(name, cell)| Some((name, cell.parse().ok()?))).collect(),
        ))
    };
    lines.filter_map(row).collect()
}
