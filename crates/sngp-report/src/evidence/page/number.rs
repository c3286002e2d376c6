//! Numbers as people read them. `page.js` writes percentages and counts the same way.

/// A share as a percentage, with one decimal, or two near nothing and near all. What is not all
/// or nothing never reads as such.
pub(super) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "–".into();
    }
    let hundredths = 100.0 * share;
    // Scripts have no formatting that rounds like ours; multiplying and rounding is the same in
    // both.
    let rounded = |scale: f64| ((hundredths * scale).round() / scale).to_string();
    let text = match hundredths {
        0.0 | 100.0 => rounded(1.0),
        0.0..0.005 => "< 0.01".into(),
        99.995..100.0 => "> 99.99".into(),
        0.0..1.0 | 99.0..100.0 => rounded(100.0),
        _ => rounded(10.0),
    };
    text + "\u{202f}%"
}

/// A share with exactly one decimal, for columns.
pub(super) fn percent_column(share: f64) -> String {
    if share.is_finite() { format!("{:.1}\u{202f}%", 100.0 * share) } else { "–".into() }
}

/// [`percent`], or a dash.
pub(super) fn percent_or_dash(share: Option<f64>) -> String {
    share.map_or("–".into(), percent)
}

/// Digits in groups of three.
pub(super) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// About four digits that matter.
pub(super) fn value(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value.is_nan() => "–".into(),
        _ if value.is_infinite() => if value > 0.0 { "∞" } else { "−∞" }.into(),
        0.0 => "0".into(),
        1e-3..1.0 => format!("{value:.4}"),
        1.0..10.0 => format!("{value:.3}"),
        10.0..100.0 => format!("{value:.2}"),
        100.0..1e3 => format!("{value:.1}"),
        1e3..1e6 => format!("{value:.0}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_short_and_honest() {
        let shares = [0.0, 0.00004, 0.0031, 0.0625, 0.95, 0.9969, 0.99999, 1.0, f64::NAN];
        let expected =
            ["0 %", "< 0.01 %", "0.31 %", "6.3 %", "95 %", "99.69 %", "> 99.99 %", "100 %", "–"];
        assert_eq!(shares.map(|share| percent(share).replace('\u{202f}', " ")), expected);
        assert_eq!(percent_or_dash(None), "–");
        assert_eq!(percent_column(0.63).replace('\u{202f}', " "), "63.0 %");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn values_keep_about_four_digits() {
        let values = [0.0, 0.94213, -12.3456, 54_321.9, 1e-7, f64::INFINITY, f64::NAN];
        assert_eq!(values.map(value), ["0", "0.9421", "-12.35", "54322", "1.000e-7", "∞", "–"]);
    }
}
