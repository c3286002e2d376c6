use std::fs;

use super::testing::*;
use super::*;
use crate::testing::Scratch;

fn view(name: &str, bytes: &[u8]) -> Result<Matrix> {
    open(name, bytes).and_then(|arrays| arrays.view2("x"))
}

#[test]
fn unusable_arrays_are_named_with_a_way_out() {
    let object = npy("|O", "(1, 1)", b"pickled");
    let fields = "{'descr': [('a', '<f4'), ('b', '<i8', (2,))], 'fortran_order': False, \
                  'shape': (1,), }";
    let fortran = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }";
    for (bytes, expected) in [
        (object, "it holds pickled Python objects; pickled data can run any program"),
        (npy_with(fields, &[0; 20]), "it has elements of several fields; save each field"),
        (npy_with(fortran, &[0; 16]), "Fortran order); save it row by row"),
        (npy(">f4", "(1, 1)", &[0; 4]), "its type \">f4\" is big-endian"),
        (npy("<c8", "(1, 1)", &[0; 8]), "its elements have the type \"<c8\"; convert it to"),
        (npy("<f16", "(1, 1)", &[0; 16]), "its elements have the type \"<f16\""),
        (npy("é", "(1, 1)", &[0; 4]), "its elements have the type \"é\""),
        (npy("<i4", "(1, 1)", &[0; 4]), "it holds int32; convert it to float32"),
        (npy("<f4", "(4,)", &[0; 16]), "its shape is (4,); give it two axes"),
        (npy("<f4", "()", &[0; 4]), "its shape is (); give it two axes"),
        (npy("<f4", "(1, 2, 2)", &[0; 16]), "its shape is (1, 2, 2); give it two axes"),
        (npy("<f4", "(0, 3)", &[]), "its shape is (0, 3); give it two axes"),
        (npy("<f4", "(3, 0)", &[]), "with at least one of each"),
    ] {
        let found = message(view("x.npy", &bytes));
        assert!(found.contains("x.npy, array \"x\": ") && found.contains(expected), "{found}");
    }
    let column = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }";
    assert!(view("x.npy", &npy_with(column, &[0; 8])).is_ok(), "the order makes no difference");
}

#[test]
fn damaged_headers_are_placed() {
    let good = npy("<f4", "(1, 1)", &[0; 4]);
    let mut version = good.clone();
    version[6] = 9;
    let mut endless = good.clone();
    (endless[6], endless[10], endless[11]) = (2, 0xff, 0xff);
    for (bytes, expected) in [
        (b"PK\x03\x04 no array".to_vec(), "byte offset 0: it does not start as .npy data does"),
        (version, "byte offset 6: version 9 of the format is not known"),
        (endless, "byte offset 8: a header of "),
        (npy_with("{'descr': '<f4', 'shape': (1, -1)}", b""), "offset 40: the header is not"),
        (npy_with("('<f4',)", b""), "byte offset 10: the header is no dictionary"),
        (npy_with("{'descr': '<f4', 'fortran_order': False}", b""), "tells no shape"),
        (npy_with("{'descr': '<f4', 'shape': (1,)}", b""), "does not tell the order"),
        (npy_with("{'shape': (1, 1), 'fortran_order': False}", b""), "names no type"),
        (npy("<f4", "('a', 1)", &[]), "the shape is not made of whole numbers"),
        (npy("<f4", "(4294967296, 4294967296)", &[]), "is impossibly large"),
        (npy("<U9223372036854775807", "(1, 1)", &[]), "is impossibly large"),
        (npy("<f4", "(2, 2)", &[0; 12]), "12 bytes of data where float32 of shape (2, 2) takes 16"),
        (npy("<f4", "(2, 2)", &[0; 17]), "17 bytes of data where float32 of shape (2, 2) takes 16"),
    ] {
        let found = message(view("x.npy", &bytes));
        assert!(found.contains("x.npy, array \"x\", byte ") && found.contains(expected), "{found}");
    }
}

/// An archive whose member inflates to zeros without end.
fn bomb(shape: &str, zeros: usize) -> Vec<u8> {
    npz(&[("x", npy("<f4", shape, &vec![0; zeros]))], true)
}

#[test]
fn bombs_do_not_go_off() {
    let file = Scratch::file("a.npz", bomb("(2, 2)", 8 << 20));
    assert!(fs::metadata(&file.path).unwrap().len() < 1 << 20);
    let found = message(Arrays::open(&file.path).unwrap().view2("x"));
    assert!(found.contains("more than 16 bytes of data where float32 of shape (2, 2)"), "{found}");
    // 4 TiB declared, and then 2 MiB that are really there but not allowed.
    let found = message(view("a.npz", &bomb("(1048576, 1048576)", 100)));
    assert!(found.contains("takes 4398046511104 bytes uncompressed, above the limit"), "{found}");
    let file = Scratch::file("a.npz", bomb("(524288, 1)", 2 << 20));
    let arrays = Arrays::open_with_limit(&file.path, 1 << 20).unwrap();
    let refused = error(arrays.view2("x"));
    assert!(matches!(refused, RecordsError::ArrayTooLarge { limit: 1048576, .. }), "{refused}");
    assert!(Arrays::open(&file.path).unwrap().view2("x").is_ok());
    // 15 GiB declared, within the limit, but only 100 bytes there: no memory is taken for them.
    let found = message(view("a.npz", &bomb("(4026531840, 1)", 100)));
    assert!(found.contains("100 bytes of data where float32 of shape (4026531840, 1)"), "{found}");
}

#[test]
fn a_header_may_not_be_a_bomb_either() {
    let mut bytes = b"\x93NUMPY\x02\x00\xff\xff\xff\x7f".to_vec();
    bytes.resize(2 << 20, b' ');
    let found = message(view("a.npz", &npz(&[("x", bytes)], true)));
    assert!(found.contains("byte offset 8: a header of 2147483647 bytes"), "{found}");
}

#[test]
fn other_files_are_refused() {
    let found = message(open("a.npz", b"no archive"));
    assert!(found.contains("a.npz is not a readable .npz file: "), "{found}");
    let found = message(open("a.npz", &npz(&[], false)));
    assert!(found.contains("it holds no arrays"), "{found}");
    let found = message(open("a.safetensors", b"too short"));
    assert!(found.contains("a.safetensors is not a readable .safetensors file: "), "{found}");
    for name in ["a.npy", "a.npz", "a.safetensors"] {
        let found = message(open(name, b""));
        assert!(found.contains(name), "{found}");
        let missing = error(Arrays::open(format!("/nowhere/{name}")));
        assert!(matches!(missing, RecordsError::Io { .. }), "{missing}");
    }
    let found = message(Arrays::open("a.csv"));
    assert!(found.contains("use one of .npy, .npz, .safetensors"), "{found}");
}

#[test]
fn no_cut_or_changed_file_causes_a_panic() {
    let array = npy("<f4", "(2, 3)", &f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1, 1], &[0; 4]);
    let files = [
        ("x.npy", array.clone()),
        ("x.npz", npz(&[("x", array.clone())], false)),
        ("x.npz", npz(&[("x", array)], true)),
        ("x.safetensors", safetensors::serialize([("x", view.unwrap())], None).unwrap()),
    ];
    for (name, whole) in files {
        let file = Scratch::file(name, &whole);
        let read = |bytes: &[u8]| {
            fs::write(&file.path, bytes).unwrap();
            Arrays::open(&file.path).and_then(|arrays| {
                let _ = (arrays.ints("x"), arrays.strings("x"));
                arrays.view2("x")?.check_finite()
            })
        };
        read(&whole).unwrap();
        for length in 0..whole.len() {
            let found = message(read(&whole[..length]));
            assert!(found.contains(name), "{found}");
        }
        for at in 0..whole.len() {
            for byte in [0, 0xff, whole[at] ^ 1] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                if let Err(error) = read(&damaged) {
                    assert!(error.to_string().contains(name), "{error}");
                }
            }
        }
    }
}
