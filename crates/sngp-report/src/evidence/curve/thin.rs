//! Fewer points for the same picture.

/// Keeps the first and the last point and, between them, each that lies at least `detail` (the
/// larger of both distances) from the one kept before.
pub(in crate::evidence) fn thin(points: &[[f64; 2]], detail: f64) -> Vec<[f64; 2]> {
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let far =
            |last: &[f64; 2]| (point[0] - last[0]).abs().max((point[1] - last[1]).abs()) >= detail;
        if index + 1 == points.len() || kept.last().is_none_or(far) {
            kept.push(*point);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::thin;

    #[test]
    fn ends_and_corners_stay() {
        let line: Vec<[f64; 2]> = (0..=1000).map(|i| [f64::from(i) / 1000.0, 0.0]).collect();
        let thinned = thin(&line, 0.0995);
        assert_eq!(thinned.len(), 11);
        assert_eq!((thinned[0], thinned[10]), ([0.0, 0.0], [1.0, 0.0]));
        assert_eq!(thin(&[[0.3, 0.4]], 0.1), [[0.3, 0.4]]);
        assert!(thin(&[], 0.1).is_empty());
    }
}
