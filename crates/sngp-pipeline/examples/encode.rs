//! Texts, one a line, to vectors of a pretrained encoder, as .npy files beside them:
//! `encode ENCODER_FOLDER FILE.txt..`

use std::io::Write;
use std::path::Path;

use burn::tensor::Device;
use sngp::text::{EncoderOptions, PretrainedEncoder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, files @ ..] = &arguments[..] else {
        return Err("encode ENCODER_FOLDER FILE.txt..".into());
    };
    let device = Device::flex();
    let options = EncoderOptions { max_tokens: 64, ..Default::default() };
    let encoder = PretrainedEncoder::read(Path::new(folder), &options, &device)?;
    for file in files {
        let texts: Vec<String> = std::fs::read_to_string(file)?.lines().map(String::from).collect();
        let vectors = encoder.embed(&encoder.sentences(&texts)?, &device);
        let shape = format!("({}, {})", vectors.nrows(), vectors.ncols());
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
        // The whole header is a multiple of 64 bytes long and ends in a line feed.
        let width = (header.len() + 11).next_multiple_of(64) - 11;
        let mut out = std::fs::File::create(Path::new(file).with_extension("npy"))?;
        out.write_all(b"\x93NUMPY\x01\x00")?;
        out.write_all(&u16::try_from(width + 1)?.to_le_bytes())?;
        writeln!(out, "{header:width$}")?;
        out.write_all(&vectors.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
        println!("{file}: {shape}");
    }
    Ok(())
}
