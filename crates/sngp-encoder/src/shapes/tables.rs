//! Tables of integers whose values are known. The rules of shapes follow lists only; but what some
//! exporters write for a padding turns a list into a table and back into a list.

use std::collections::HashMap;

use ndarray::{ArrayD, Axis, IxDyn};
use rten_shape_inference::{SymExpr, SymTensor};

use super::LISTED;
use super::rules::attribute;
use crate::proto::Node;

/// Tables by the names of their tensors.
#[derive(Default)]
pub struct Tables<'a> {
    known: HashMap<&'a str, ArrayD<i32>>,
}

impl<'a> Tables<'a> {
    /// The output of a node that makes a table of a list, or something of a table; none for all others.
    pub fn follow(&mut self, node: &'a Node, given: &[Option<SymTensor>]) -> Option<SymTensor> {
        let integers = |place: usize| -> Option<Vec<i32>> {
            let constant = given.get(place)?.as_ref()?.to_constant()?;
            (constant.ndim() == 1).then(|| constant.into_vec())
        };
        let name = node.input.first()?.as_str();
        let made = match (self.known.get(name), node.op_type.as_str()) {
            (Some(table), "Identity" | "Cast") => table.clone(),
            (Some(table), "Transpose") => transposed(node, table)?,
            (Some(table), "Slice") => {
                let axes = |name: usize, usual: Vec<i32>| match node.input.get(name) {
                    Some(given) if !given.is_empty() => integers(name),
                    _ => Some(usual),
                };
                let (starts, ends) = (integers(1)?, integers(2)?);
                let all = (0..starts.len() as i32).collect();
                sliced(table, &starts, &ends, &axes(3, all)?, &axes(4, vec![1; starts.len()])?)?
            }
            (Some(table), "Reshape") => reshaped(table.clone(), &integers(1)?)?,
            (None, "Reshape") => {
                let list = integers(0).filter(|list| list.len() <= LISTED)?;
                let table =
                    reshaped(ArrayD::from_shape_vec(vec![list.len()], list).ok()?, &integers(1)?)?;
                // The rules follow lists by themselves.
                (table.ndim() > 1).then_some(table)?
            }
            _ => return None,
        };
        let shape = made.shape().to_vec();
        let told = match shape.len() {
            1 => SymTensor::from_vec(made.iter().copied().map(SymExpr::Value).collect()),
            _ => SymTensor::from_fixed_shape(&shape),
        };
        if shape.len() > 1 {
            self.known.insert(node.output.first()?, made);
        }
        Some(told)
    }
}

/// Sizes of which one may be whatever is left (-1), and zero is the size that was there.
fn reshaped(table: ArrayD<i32>, sizes: &[i32]) -> Option<ArrayD<i32>> {
    let size = |(place, &size): (usize, &i32)| match size {
        0 => table.shape().get(place).copied(),
        -1 => Some(1),
        size => usize::try_from(size).ok(),
    };
    let mut shape: Vec<usize> = sizes.iter().enumerate().map(size).collect::<Option<_>>()?;
    if let Some(place) = sizes.iter().position(|&size| size == -1) {
        let others = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size))?;
        shape[place] = table.len().checked_div(others)?;
    }
    let values = table.iter().copied().collect();
    ArrayD::from_shape_vec(IxDyn(&shape), values).ok()
}

fn transposed(node: &Node, table: &ArrayD<i32>) -> Option<ArrayD<i32>> {
    let order: Vec<usize> = match attribute(node, "perm") {
        Some(list) => {
            list.ints.iter().map(|&axis| usize::try_from(axis).ok()).collect::<Option<_>>()?
        }
        None => (0..table.ndim()).rev().collect(),
    };
    let mut seen = order.clone();
    seen.sort_unstable();
    (seen == (0..table.ndim()).collect::<Vec<_>>()).then(|| table.clone().permuted_axes(order))
}

fn sliced(
    table: &ArrayD<i32>,
    starts: &[i32],
    ends: &[i32],
    axes: &[i32],
    steps: &[i32],
) -> Option<ArrayD<i32>> {
    let mut rest = table.clone();
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return None;
    }
    for (index, &axis) in axes.iter().enumerate() {
        let axis = if axis < 0 { i64::from(axis) + rest.ndim() as i64 } else { axis.into() };
        let axis = usize::try_from(axis).ok().filter(|&axis| axis < rest.ndim())?;
        let length = rest.shape()[axis] as i64;
        let (step, from_end) = (i64::from(steps[index]), |at: i32| match i64::from(at) {
            at if at < 0 => at + length,
            at => at,
        });
        // Backwards, an end before the first is a place of its own.
        let (start, end) = match step {
            0 => return None,
            1.. => {
                (from_end(starts[index]).clamp(0, length), from_end(ends[index]).clamp(0, length))
            }
            _ => (
                from_end(starts[index]).clamp(-1, length - 1),
                from_end(ends[index]).clamp(-1, length - 1),
            ),
        };
        let places = std::iter::successors(Some(start), |at| Some(at + step));
        let places: Vec<usize> =
            places.take_while(|at| (end - at) * step > 0).map(|at| at as usize).collect();
        rest = rest.select(Axis(axis), &places);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn slices_go_either_way() {
        let table = array![[1, 2], [3, 4], [5, 6]].into_dyn();
        let cut = |start, end, step| sliced(&table, &[start], &[end], &[0], &[step]).unwrap();
        assert_eq!(cut(-1, i32::MIN, -1), array![[5, 6], [3, 4], [1, 2]].into_dyn());
        assert_eq!(cut(0, i32::MAX, 2), array![[1, 2], [5, 6]].into_dyn());
        assert_eq!(cut(1, 2, 1), array![[3, 4]].into_dyn());
        assert_eq!(cut(2, 1, 1).len(), 0);
        assert_eq!(cut(1, 0, -1), array![[3, 4]].into_dyn());
        assert!(sliced(&table, &[0], &[1], &[2], &[1]).is_none(), "no such axis");
        assert!(sliced(&table, &[0], &[1], &[0], &[0]).is_none(), "a step of zero");
    }

    #[test]
    fn reshapes_keep_the_order() {
        let list = array![1, 2, 3, 4, 5, 6].into_dyn();
        let table = reshaped(list.clone(), &[-1, 2]).unwrap();
        assert_eq!(table, array![[1, 2], [3, 4], [5, 6]].into_dyn());
        assert_eq!(
            reshaped(table.t().to_owned(), &[-1]).unwrap(),
            array![1, 3, 5, 2, 4, 6].into_dyn()
        );
        assert_eq!(reshaped(table, &[0, -1]).unwrap().shape(), [3, 2]);
        assert!(reshaped(list.clone(), &[4, -1]).is_none());
        assert!(reshaped(list, &[0, 0]).is_none());
    }
}
