use half::{bf16, f16};
use proptest::prelude::*;
use safetensors::tensor::TensorView;

use super::matrix::Values;
use super::testing::*;
use super::*;
use crate::testing::Scratch;

fn values(matrix: &Matrix) -> Vec<f32> {
    let mut values = Vec::new();
    matrix.read_rows(0, matrix.rows(), &mut values);
    values
}

fn safetensors(tensors: &[(&str, safetensors::Dtype, &[usize], &[u8])]) -> Vec<u8> {
    let view = |&(name, dtype, shape, data): &(_, _, &[usize], _)| {
        (name, TensorView::new(dtype, shape.to_vec(), data).unwrap())
    };
    safetensors::serialize(tensors.iter().map(view), None).unwrap()
}

#[test]
fn floats_of_any_size_are_read_by_rows() {
    let data = [1.0f32, -2.5, 0.0, 4.0, 0.5, 65504.0];
    let half: Vec<u8> = data.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()).collect();
    let double: Vec<u8> = data.iter().flat_map(|&value| f64::from(value).to_le_bytes()).collect();
    for (descr, bytes) in [("<f4", f32_bytes(&data)), ("<f2", half), ("<f8", double)] {
        let arrays = open("x.npy", &npy(descr, "(3, 2)", &bytes)).unwrap();
        assert_eq!(arrays.names(), ["x"]);
        let matrix = arrays.view2("x").unwrap();
        assert_eq!((matrix.rows(), matrix.columns()), (3, 2));
        assert_eq!(values(&matrix), data);
        let mut middle = vec![9.0; 5];
        matrix.read_rows(1, 1, &mut middle);
        assert_eq!(middle, data[2..4]);
        matrix.read_rows(3, 0, &mut middle);
        assert!(middle.is_empty());
        let in_place = if descr == "<f4" { Some(&data[..]) } else { None };
        assert_eq!(matrix.as_slice(), in_place);
        matrix.check_finite().unwrap();
    }
}

#[test]
#[should_panic(expected = "2 rows from 2 on asked of 3")]
fn rows_beyond_the_last_are_a_mistake_of_the_caller() {
    let arrays = open("x.npy", &npy("<f4", "(3, 1)", &[0; 12])).unwrap();
    arrays.view2("x").unwrap().read_rows(2, 2, &mut Vec::new());
}

#[test]
fn archives_are_read_compressed_or_not() {
    let data = [1.0f32, 2.0, 3.0, 4.0];
    let members = [
        ("features", npy("<f4", "(2, 2)", &f32_bytes(&data))),
        ("labels", npy("<i8", "(2,)", &[[7, 0, 0, 0, 0, 0, 0, 0], [255; 8]].concat())),
    ];
    for compressed in [false, true] {
        let arrays = open("a.npz", &npz(&members, compressed)).unwrap();
        assert_eq!(arrays.names(), ["features", "labels"]);
        let matrix = arrays.view2("features").unwrap();
        let is_mapped = matches!(matrix.values, Values::Stored { bytes: Bytes::Mapped { .. }, .. });
        assert_eq!(is_mapped, !compressed);
        assert_eq!(values(&matrix), data);
        assert_eq!(arrays.ints("labels").unwrap(), [7, -1]);
        let info = arrays.info("labels").unwrap();
        assert_eq!((info.element.as_str(), &info.shape[..]), ("int64", &[2][..]));
        let missing = message(arrays.view2("y"));
        let expected = "has no array \"y\"; its arrays are [\"features\", \"labels\"]";
        assert!(missing.ends_with(expected), "{missing}");
    }
}

#[test]
fn tensors_are_read_in_place() {
    use safetensors::Dtype::{BF16, F8_E4M3, F32, I32};
    let data = f32_bytes(&[1.0, 2.0]);
    let brain: Vec<u8> =
        [0.5f32, -3.0].iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect();
    let bytes = safetensors(&[
        ("a", F32, &[1, 2], &data),
        ("b", BF16, &[2, 1], &brain),
        ("y", I32, &[2], &[3, 0, 0, 0, 4, 0, 0, 0]),
        ("odd", F8_E4M3, &[2, 1], &[0, 0]),
    ]);
    let arrays = open("a.safetensors", &bytes).unwrap();
    assert_eq!(arrays.names().len(), 4);
    assert_eq!(arrays.view2("a").unwrap().as_slice(), Some(&[1.0, 2.0][..]));
    assert_eq!(values(&arrays.view2("b").unwrap()), [0.5, -3.0]);
    assert_eq!(arrays.ints("y").unwrap(), [3, 4]);
    assert!(message(arrays.view2("odd")).contains("the type F8_E4M3; convert it to F32"));
    assert!(message(arrays.view2("y")).contains("array \"y\": it holds int32; convert it"));
}

#[test]
fn labels_may_be_any_whole_numbers() {
    let f16s: Vec<u8> = [3.0, -1.0].iter().flat_map(|&x| f16::from_f32(x).to_le_bytes()).collect();
    let f64s: Vec<u8> = [3.0f64, -1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    for (descr, data, expected) in [
        ("|b1", vec![0, 1], [0, 1]),
        ("|i1", vec![3, 255], [3, -1]),
        ("|u1", vec![3, 255], [3, 255]),
        ("<i2", vec![3, 0, 255, 255], [3, -1]),
        ("<u2", vec![3, 0, 255, 255], [3, 65535]),
        ("<i4", [3i32, -1].iter().flat_map(|x| x.to_le_bytes()).collect(), [3, -1]),
        ("<u4", [3u32, u32::MAX].iter().flat_map(|x| x.to_le_bytes()).collect(), [3, 4294967295]),
        ("<u8", [3u64, 4].iter().flat_map(|x| x.to_le_bytes()).collect(), [3, 4]),
        ("<f2", f16s, [3, -1]),
        ("<f4", f32_bytes(&[3.0, -1.0]), [3, -1]),
        ("<f8", f64s, [3, -1]),
    ] {
        for shape in ["(2,)", "(2, 1)"] {
            let arrays = open("y.npy", &npy(descr, shape, &data)).unwrap();
            assert_eq!(arrays.ints("y").unwrap(), expected, "{descr}");
        }
    }
    for (descr, data, expected) in [
        ("<f4", f32_bytes(&[1.0, 2.5]), "row 2: 2.5 where a whole number"),
        ("<f4", f32_bytes(&[f32::NAN, 0.0]), "row 1: NaN where a whole number"),
        ("<u8", vec![255; 16], "row 1: 18446744073709551615 where a whole number"),
        ("<U1", vec![0; 8], "it holds strings of up to 1 characters; give whole numbers"),
    ] {
        let found = message(open("y.npy", &npy(descr, "(2,)", &data)).unwrap().ints("y"));
        assert!(found.contains(expected), "{found}");
    }
    let square = message(open("y.npy", &npy("|b1", "(1, 2)", &[0; 2])).unwrap().ints("y"));
    assert!(square.contains("its shape is (1, 2); give it one axis"), "{square}");
}

#[test]
fn labels_may_be_strings() {
    let wide = |text: &str| {
        let mut bytes: Vec<_> = text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        bytes.resize(12, 0);
        bytes
    };
    let unicode = npy("<U3", "(3,)", &[wide("né"), wide(""), wide("a\0b")].concat());
    assert_eq!(open("y.npy", &unicode).unwrap().strings("y").unwrap(), ["né", "", "a\0b"]);
    let bytes = npy("|S2", "(2,)", "éa\0".as_bytes());
    assert_eq!(open("y.npy", &bytes).unwrap().strings("y").unwrap(), ["é", "a"]);
    for (descr, data, expected) in [
        ("|S1", &b"a\xff"[..], "row 2: a string that is not valid where Unicode text is needed"),
        ("<U1", &[97, 0, 0, 0, 0, 0xd8, 0, 0], "row 2: a string that is not valid"),
        ("<i2", &[0; 4], "it holds int16; give strings"),
        ("|S0", b"", "it holds strings of up to 0 bytes; give strings"),
    ] {
        let found = message(open("y.npy", &npy(descr, "(2,)", data)).unwrap().strings("y"));
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn values_may_be_in_memory() {
    let matrix = Matrix::from_memory(2, 2, vec![1.0, 2.0, 3.0, f32::NAN]).unwrap();
    assert_eq!((matrix.rows(), matrix.columns(), matrix.as_slice().unwrap().len()), (2, 2, 4));
    let found = message(matrix.check_finite());
    assert!(found.starts_with("memory, array \"values\", row 2, column 2: NaN"), "{found}");
    for (rows, columns, length) in [(0, 2, 0), (2, 0, 0), (2, 2, 3), (usize::MAX, 2, 4)] {
        let found = message(Matrix::from_memory(rows, columns, vec![0.0; length]));
        assert!(found.contains("give at least one row and all of its values"), "{found}");
    }
}

#[test]
fn values_that_are_not_finite_are_placed() {
    let mut data = vec![0.5f32; 3 * 50_000];
    data[2 * 50_000 + 7] = f32::INFINITY;
    let file = Scratch::file("x.npy", npy("<f4", "(3, 50000)", &f32_bytes(&data)));
    let found = message(Arrays::open(&file.path).unwrap().view2("x").unwrap().check_finite());
    assert!(found.contains("array \"x\", row 3, column 8: inf is not a finite"), "{found}");
    let large: Vec<u8> = [1.0, 1e300].iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
    let arrays = open("x.npy", &npy("<f8", "(1, 2)", &large)).unwrap();
    assert!(message(arrays.view2("x").unwrap().check_finite()).contains("row 1, column 2: inf"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_was_written_is_read(
        columns in 1..7usize,
        data in prop::collection::vec(any::<f32>(), 7..60),
        compressed in any::<bool>(),
    ) {
        let rows = data.len() / columns;
        let data = &data[..rows * columns];
        let array = npy("<f4", &format!("({rows}, {columns})"), &f32_bytes(data));
        let arrays = open("a.npz", &npz(&[("other", array.clone()), ("x", array)], compressed));
        let matrix = arrays.unwrap().view2("x").unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&values(&matrix)), bits(data));
        prop_assert_eq!(matrix.check_finite().is_ok(), data.iter().all(|value| value.is_finite()));
        if let Some(slice) = matrix.as_slice() {
            prop_assert_eq!(bits(slice), bits(data));
        }
    }
}

#[test]
fn bytes_have_any_shape() {
    let arrays = open("x.npy", &npy("|u1", "(2, 1, 3)", &[1, 2, 3, 4, 5, 255])).unwrap();
    let bytes = arrays.bytes("x").unwrap();
    assert_eq!((bytes.shape(), bytes.as_slice()), (&[2, 1, 3][..], &[1, 2, 3, 4, 5, 255][..]));
    let floats = open("x.npy", &npy("<f4", "(1,)", &[0; 4])).unwrap();
    assert!(message(floats.bytes("x")).contains("it holds float32; convert it to uint8"));
    let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }";
    let columns = open("x.npy", &npy_with(header, &[0; 4])).unwrap();
    assert!(message(columns.bytes("x")).contains("Fortran order"));
    let cut = open("x.npy", &npy("|u1", "(2, 2)", &[0; 3])).unwrap();
    assert!(
        message(cut.bytes("x")).contains("3 bytes of data where uint8 of shape (2, 2) takes 4")
    );
}
