use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Arrays;
use crate::error::{RecordsError, Result};
use crate::testing::Scratch;

/// An `.npy` file as numpy writes it: the elements start at a multiple of 64 bytes.
pub(super) fn npy_with(header: &str, data: &[u8]) -> Vec<u8> {
    let padding = 63 - (10 + header.len()) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

pub(super) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    npy_with(&header, data)
}

/// An archive as `numpy.savez` and `numpy.savez_compressed` write it.
pub(super) fn npz(members: &[(&str, Vec<u8>)], compressed: bool) -> Vec<u8> {
    let method = if compressed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    // numpy reserves room for 64-bit sizes in any case.
    let options = SimpleFileOptions::default().compression_method(method).large_file(true);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(super) fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// What reading the bytes gives. The file may go: it is mapped.
pub(super) fn open(name: &str, bytes: &[u8]) -> Result<Arrays> {
    Arrays::open(&Scratch::file(name, bytes).path)
}

/// The message of the error, also where it is not `Debug`.
pub(super) fn message<T>(outcome: Result<T>) -> String {
    error(outcome).to_string()
}

pub(super) fn error<T>(outcome: Result<T>) -> RecordsError {
    outcome.err().expect("an error")
}
