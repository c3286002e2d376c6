//! Whether a classifier has learned anything.

/// Of predictions that have nothing to do with the labels, one in twenty agrees with them by more
/// standard errors.
const BY_CHANCE: f64 = 1.645;

/// Says that nothing was learned, where predictions agree with the labels no more often than they would
/// if either were shuffled: answers of such a model are coin flips, and as few are rejected as of others.
pub(super) fn by_chance(predicted: &[usize], labels: &[usize]) -> Option<String> {
    let rows = labels.len() as f64;
    let agree = predicted.iter().zip(labels).filter(|(a, b)| a == b).count() as f64 / rows;
    let classes = labels.iter().chain(predicted).max()? + 1;
    let shares = |of: &[usize]| {
        let mut shares = vec![0.0; classes];
        of.iter().for_each(|class| shares[*class] += 1.0 / rows);
        shares
    };
    let chance: f64 = shares(predicted).iter().zip(shares(labels)).map(|(a, b)| a * b).sum();
    let least = chance + BY_CHANCE * (chance * (1.0 - chance) / rows).sqrt();
    (chance < 1.0 && agree <= least).then(|| {
        format!(
            "on the held-out rows it is right no more often than by chance ({:.0} % of {}): what it answers \
             is not to be trusted, whatever it accepts",
            100.0 * agree,
            labels.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coin_flips_are_told_from_what_was_learned() {
        let labels: Vec<usize> = (0..40).map(|row| row % 2).collect();
        let flips: Vec<usize> = (0..40).map(|row| usize::from(row % 4 < 2)).collect();
        assert!(by_chance(&flips, &labels).unwrap().contains("(50 % of 40)"));
        assert_eq!(by_chance(&labels, &labels), None);
        // Nearly everything is of one class: the other must be found now and then.
        let rare: Vec<usize> = (0..100).map(|row| usize::from(row % 25 == 0)).collect();
        assert!(by_chance(&[0; 100], &rare).is_some());
        assert_eq!(by_chance(&rare, &rare), None);
        // Of one class alone nothing can be told.
        assert_eq!(by_chance(&[0; 9], &[0; 9]), None);
    }
}
