//! What every classifier here has to keep, and the multiclass one against brute force.

use ndarray::{Array1, Array2, Axis, array, concatenate, s};
use proptest::prelude::*;

use super::*;

/// Six points of three classes on a curve, and where to predict.
fn six_points() -> (Array2<f64>, Vec<usize>, Array2<f64>) {
    let inputs = array![[0.0, 0.3], [0.9, -0.4], [1.7, 0.8], [-1.1, 0.1], [0.4, 1.6], [-0.5, -1.2]];
    (inputs, vec![0, 1, 2, 0, 2, 1], array![[0.2, 0.2], [1.5, -1.0], [-2.0, 3.0]])
}

/// `a^-1 b` by Gaussian elimination with pivoting: slow, and none of the code under test.
fn eliminate(mut a: Array2<f64>, mut b: Array2<f64>) -> Array2<f64> {
    let n = a.nrows();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&i, &j| a[[i, column]].abs().total_cmp(&a[[j, column]].abs()));
        let pivot = pivot.unwrap();
        for k in 0..n {
            a.swap([column, k], [pivot, k]);
        }
        for k in 0..b.ncols() {
            b.swap([column, k], [pivot, k]);
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = a[[row, column]] / a[[column, column]];
            let (from_a, from_b) = (a.row(column).to_owned(), b.row(column).to_owned());
            a.row_mut(row).scaled_add(-factor, &from_a);
            b.row_mut(row).scaled_add(-factor, &from_b);
        }
    }
    Array2::from_shape_fn(b.dim(), |(i, j)| b[[i, j]] / a[[i, i]])
}

/// Class after class: `f_c` of row `i` is entry `c n + i`.
struct Stacked {
    kernel: Array2<f64>,
    y: Array1<f64>,
    n: usize,
}

impl Stacked {
    fn new(inputs: &Array2<f64>, labels: &[usize], classes: usize, l: f64) -> Self {
        let n = inputs.nrows();
        let k = |i: usize, j: usize| {
            let difference = &inputs.row(i) - &inputs.row(j);
            (-difference.dot(&difference) / (2.0 * l)).exp()
        };
        let size = n * classes;
        let kernel =
            Array2::from_shape_fn(
                (size, size),
                |(a, b)| {
                    if a / n == b / n { k(a % n, b % n) } else { 0.0 }
                },
            );
        let y = Array1::from_shape_fn(size, |a| if labels[a % n] == a / n { 1.0 } else { 0.0 });
        Self { kernel, y, n }
    }

    fn probabilities(&self, f: &Array1<f64>) -> Array1<f64> {
        let sums = Array1::from_shape_fn(self.n, |i| {
            f.iter().skip(i).step_by(self.n).map(|latent| latent.exp()).sum::<f64>()
        });
        Array1::from_shape_fn(f.len(), |a| f[a].exp() / sums[a % self.n])
    }

    fn curvature(&self, f: &Array1<f64>) -> Array2<f64> {
        let p = self.probabilities(f);
        Array2::from_shape_fn(self.kernel.dim(), |(a, b)| {
            let diagonal = if a == b { p[a] } else { 0.0 };
            let coupled = if a % self.n == b % self.n { p[a] * p[b] } else { 0.0 };
            diagonal - coupled
        })
    }

    /// `f <- K (I + W K)^-1 (W f + y - p)`, which is Newton's step in full.
    fn mode(&self) -> Array1<f64> {
        let mut f = Array1::zeros(self.y.len());
        for _ in 0..50 {
            let w = self.curvature(&f);
            let b = w.dot(&f) + &self.y - self.probabilities(&f);
            let system = Array2::eye(f.len()) + w.dot(&self.kernel);
            f = self.kernel.dot(&eliminate(system, b.insert_axis(Axis(1))).column(0));
        }
        f
    }

    fn objective(&self, f: &Array1<f64>) -> f64 {
        let a = eliminate(self.kernel.clone(), f.clone().insert_axis(Axis(1)));
        let likelihood = (&self.y * &self.probabilities(f).mapv(f64::ln)).sum();
        likelihood - 0.5 * f.dot(&a.column(0))
    }
}

#[test]
fn multiclass_agrees_with_the_stacked_system() {
    let (inputs, labels, test) = six_points();
    let l = 0.9;
    let gp = MulticlassGp::fit(inputs.view(), &labels, 3, l).unwrap();
    let stacked = Stacked::new(&inputs, &labels, 3, l);
    let f = stacked.mode();
    for a in 0..18 {
        assert!((gp.latent_mode()[(a % 6, a / 6)] - f[a]).abs() < 1e-9);
    }

    // (K + W^-1)^-1 = (I + W K)^-1 W, without inverting W, which is singular.
    let latent = gp.predict(test.view()).unwrap();
    let w = stacked.curvature(&f);
    let inner = eliminate(Array2::eye(18) + w.dot(&stacked.kernel), w);
    let gradient = &stacked.y - stacked.probabilities(&f);
    let near = rbf(inputs.view(), test.view(), l).unwrap();
    for row in 0..test.nrows() {
        for c in 0..3 {
            let k =
                Array1::from_shape_fn(18, |a| if a / 6 == c { near[(a % 6, row)] } else { 0.0 });
            assert!((latent.mean[[row, c]] - k.dot(&gradient)).abs() < 1e-9);
            let variance = 1.0 - k.dot(&inner.dot(&k));
            assert!((latent.variance[[row, c]] - variance).abs() < 1e-9);
        }
    }
}

#[test]
fn the_multiclass_mode_is_stationary() {
    let (inputs, labels, _) = six_points();
    let gp = MulticlassGp::fit(inputs.view(), &labels, 3, 0.9).unwrap();
    let stacked = Stacked::new(&inputs, &labels, 3, 0.9);
    let f = Array1::from_shape_fn(18, |a| gp.latent_mode()[(a % 6, a / 6)]);
    for a in 0..18 {
        let at = |step: f64| {
            let mut moved = f.clone();
            moved[a] += step;
            stacked.objective(&moved)
        };
        let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
        assert!(slope.abs() < 1e-7, "{slope}");
        assert!(at(0.1) < at(0.0) && at(-0.1) < at(0.0));
    }
}

/// A fitted classifier of two or three classes on data that follow from `seed`.
fn fitted(seed: usize, classes: usize, l: f64) -> ExactGpClassifier {
    let inputs = Array2::from_shape_fn((20, 2), |(i, j)| {
        3.0 * ((seed * 31 + i * 17 + j * 5) as f64 * 0.7).sin()
    });
    let labels: Vec<usize> = (0..20).map(|i| (i * 7 + i / 3) % classes).collect();
    let config = ExactGpConfig { length_scale: l };
    ExactGpClassifier::fit(inputs.view(), &labels, classes, &config).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn variance_is_a_fraction_of_the_prior(
        seed in 0..1000usize,
        classes in 2..5usize,
        l in 0.05..20.0,
        x in -6.0..6.0,
        y in -6.0..6.0,
    ) {
        let gp = fitted(seed, classes, l);
        let latent = gp.predict(array![[x, y], [1e4, -1e4]].view()).unwrap();
        prop_assert!(latent.mean.iter().all(|mean| mean.is_finite()));
        prop_assert!(latent.variance.iter().all(|variance| (0.0..=1.0).contains(variance)));
        prop_assert!(latent.variance.row(1).iter().all(|&variance| variance == 1.0));
        prop_assert!(latent.mean.row(1).iter().all(|&mean| mean == 0.0));
        let width = if classes == 2 { 1 } else { classes };
        prop_assert_eq!((latent.mean.dim(), latent.variance.dim()), ((2, classes), (2, width)));
    }

    #[test]
    fn a_row_does_not_feel_its_batch(
        seed in 0..1000usize,
        classes in 2..4usize,
        rows in prop::collection::vec((-5.0..5.0, -5.0..5.0), 1..40),
        pick in any::<prop::sample::Index>(),
    ) {
        let gp = fitted(seed, classes, 0.8);
        let test = Array2::from_shape_fn((rows.len(), 2), |(i, j)| [rows[i].0, rows[i].1][j]);
        let row = pick.index(rows.len());
        let whole = gp.predict(test.view()).unwrap();
        let alone = gp.predict(test.slice(s![row..=row, ..])).unwrap();
        let reversed = gp.predict(test.slice(s![..;-1, ..])).unwrap();
        prop_assert_eq!(whole.mean.row(row), alone.mean.row(0));
        prop_assert_eq!(whole.variance.row(row), alone.variance.row(0));
        prop_assert_eq!(whole.mean.slice(s![..;-1, ..]), reversed.mean);
        prop_assert_eq!(whole.variance.slice(s![..;-1, ..]), reversed.variance);
    }

    #[test]
    fn loaded_predicts_the_same_bits(seed in 0..1000usize, classes in 2..5usize, l in 0.1..5.0) {
        let gp = fitted(seed, classes, l);
        let state = gp.state();
        let loaded = ExactGpClassifier::from_state(state.clone()).unwrap();
        prop_assert_eq!(loaded.state(), state.clone());
        let test = concatenate![Axis(0), state.inputs, array![[0.1, 0.2]]];
        prop_assert_eq!(loaded.predict(test.view()).unwrap(), gp.predict(test.view()).unwrap());
    }
}

#[test]
fn bad_training_data_is_refused() {
    let (inputs, labels, _) = six_points();
    let fit = |inputs: &Array2<f64>, labels: &[usize], classes, length_scale| {
        let config = ExactGpConfig { length_scale };
        let fitted = ExactGpClassifier::fit(inputs.view(), labels, classes, &config);
        fitted.expect_err("refused").to_string()
    };
    let mut nan = inputs.clone();
    nan[[4, 1]] = f64::NAN;
    let big = Array2::zeros((5001, 1));
    let wide = Array2::zeros((4000, 1));
    let cases = [
        (fit(&nan, &labels, 3, 1.0), "row 4, column 1 is NaN"),
        (fit(&inputs, &labels, 2, 1.0), "label 2 of row 2 is out of range"),
        (fit(&inputs, &labels[1..], 3, 1.0), "expected 6, found 5"),
        (fit(&inputs, &[1; 6], 3, 1.0), "at least two classes"),
        (fit(&inputs, &[0; 6], 1, 1.0), "at least two classes"),
        (fit(&inputs, &[0; 6], 0, 1.0), "at least two classes"),
        (fit(&Array2::zeros((0, 2)), &[], 2, 1.0), "empty"),
        (fit(&Array2::zeros((6, 0)), &labels, 3, 1.0), "empty"),
        (fit(&inputs, &labels, 3, 0.0), "length scale is 0"),
        (fit(&inputs, &labels, 3, f64::NAN), "length scale is NaN"),
        (fit(&big, &[0; 5001], 2, 1.0), "small data"),
        (fit(&wide, &[0; 4000], 6, 1.0), "small data"),
        (fit(&inputs, &labels, usize::MAX, 1.0), "small data"),
    ];
    for (error, part) in cases {
        assert!(error.contains(part), "`{error}` does not say `{part}`");
    }
}

#[test]
fn bad_test_data_and_bad_states_are_refused() {
    for classes in [2, 3] {
        let gp = fitted(1, classes, 1.0);
        assert!(matches!(gp.predict(array![[1.0]].view()), Err(Error::Shape { .. })));
        assert!(matches!(gp.predict(array![[1.0, f64::INFINITY]].view()), Err(Error::Data(_))));
        assert_eq!(gp.predict(Array2::zeros((0, 2)).view()).unwrap().mean.dim(), (0, classes));

        let refused = |change: fn(&mut ExactGpState)| {
            let mut state = gp.state();
            change(&mut state);
            ExactGpClassifier::from_state(state).expect_err("refused").to_string()
        };
        assert!(refused(|state| state.mode[[0, 0]] += 1e-3).contains("does not belong"));
        assert!(refused(|state| state.length_scale *= 2.0).contains("does not belong"));
        assert!(refused(|state| state.mode[[3, 0]] = f64::NAN).contains("mode: row 3"));
        assert!(refused(|state| state.mode = Array2::zeros((20, 7))).contains("[20, 7]"));
        assert!(refused(|state| state.classes = 4).contains("mode: expected [20, 4]"));
        assert!(refused(|state| state.labels.truncate(3)).contains("labels"));
    }
}
