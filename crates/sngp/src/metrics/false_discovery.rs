//! Flags with few false ones among them.

use crate::{Error, Result};

/// The largest p-value that is flagged so that of all flagged rows, on average, at most a share
/// `rate` is flagged falsely (Benjamini and Hochberg 1995): the largest of the `m` given with
/// `p_(k) <= rate k / m`. None where nothing is flagged.
///
/// For conformal p-values that share their held-out examples the average holds too, whatever the
/// rows that are rightly flagged are like (Bates et al. 2023).
///
/// ```
/// use sngp::metrics::false_discovery_limit;
///
/// let p_values = [0.01, 0.02, 0.03, 0.5, 0.9];
/// assert_eq!(false_discovery_limit(&p_values, 0.05)?, Some(0.03));
/// assert_eq!(false_discovery_limit(&p_values, 0.04)?, None);
/// # Ok::<(), sngp::Error>(())
/// ```
pub fn false_discovery_limit(p_values: &[f64], rate: f64) -> Result<Option<f64>> {
    if !(rate > 0.0 && rate < 1.0) {
        let rule = "it must be in (0, 1)";
        return Err(Error::config("the false discovery rate", rate, rule));
    }
    if let Some(row) = p_values.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::Data(format!(
            "row {row}: the p-value is {}, but it must be in [0, 1]",
            p_values[row]
        )));
    }
    let mut sorted = p_values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rows = sorted.len() as f64;
    let passes = |(rank, p): &(usize, f64)| p * rows <= rate * (rank + 1) as f64;
    Ok(sorted.into_iter().enumerate().rfind(passes).map(|(_, p)| p))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::seq::SliceRandom;

    use super::*;
    use crate::detect::Reference;
    use crate::seed::{Purpose, stream};

    #[test]
    fn the_limit_is_that_of_the_paper() {
        // The first example of Benjamini and Hochberg (1995), at 0.05: the four smallest.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        assert_eq!(false_discovery_limit(&p, 0.05).unwrap(), Some(0.0095));
        assert_eq!(false_discovery_limit(&[], 0.05).unwrap(), None);
        for rate in [0.0, 1.0, f64::NAN] {
            assert!(false_discovery_limit(&p, rate).is_err());
        }
        assert!(false_discovery_limit(&[0.5, f64::NAN], 0.1).is_err());
        assert!(false_discovery_limit(&[1.5], 0.1).is_err());
    }

    /// Held-out rows and rows of the domain are drawn anew from one pool each time, ties among
    /// them; OOD rows are larger. By conformal p-values the mean share of false flags is at most
    /// `rate` times the share of the domain among all rows.
    #[test]
    fn few_flags_are_false_over_many_resplits() {
        let mut rng = stream(7, Purpose::MonteCarlo, 0);
        let mut pool: Vec<f64> = (0..600).map(|_| (rng.random::<f64>() * 200.0).floor()).collect();
        let ood: Vec<f64> = (0..100).map(|_| 150.0 + 200.0 * rng.random::<f64>()).collect();
        for rate in [0.1, 0.2] {
            let (mut shares, mut found, resplits) = (Vec::new(), 0, 2000);
            for _ in 0..resplits {
                pool.shuffle(&mut rng);
                let (held_out, fresh) = pool.split_at(300);
                let usual = Reference::new(held_out.to_vec()).unwrap();
                let all: Vec<f64> = fresh.iter().chain(&ood).map(|v| usual.p_value(*v)).collect();
                let limit = false_discovery_limit(&all, rate).unwrap().unwrap_or(-1.0);
                let flagged = |p: &&f64| **p <= limit;
                let wrongly = all[..300].iter().filter(flagged).count();
                let rightly = all[300..].iter().filter(flagged).count();
                shares.push(wrongly as f64 / (wrongly + rightly).max(1) as f64);
                found += rightly;
            }
            let mean = shares.iter().sum::<f64>() / f64::from(resplits);
            let square = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>();
            let error = square.sqrt() / f64::from(resplits);
            let promised = rate * 300.0 / 400.0;
            assert!(mean <= promised + 3.0 * error, "{mean} of {promised}");
            assert!(found > 50 * resplits as usize, "{found} of the OOD rows");
        }
    }
}
