//! Published figures, to be shown beside ours.

use std::collections::BTreeMap;

use sngp::method::Method;

/// Table 3 of the paper: BERT-base on CLINC, mean of ten seeds.
const CLINC: &str = include_str!("clinc.csv");

/// Tables 1 and 2 of the paper: Wide ResNet 28-10 on CIFAR, mean of ten seeds.
const CIFAR10: &str = include_str!("cifar10.csv");
const CIFAR100: &str = include_str!("cifar100.csv");

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

/// The paper's figures for images by method; none for data it has not.
///
/// ```
/// use sngp_lab::published::images;
///
/// assert_eq!(images("cifar10")["sngp"]["acc"], 95.9);
/// assert!(images("mnist").is_empty());
/// ```
pub fn images(data: &str) -> BTreeMap<&'static str, Figures> {
    match data {
        "cifar10" => table(CIFAR10),
        "cifar100" => table(CIFAR100),
        _ => BTreeMap::new(),
    }
}

/// The methods of a table of the paper; the exact GP takes vectors of small data sets only.
pub fn methods(paper: &BTreeMap<&str, Figures>) -> Vec<Method> {
    Method::all().into_iter().filter(|method| paper.contains_key(method.name())).collect()
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
