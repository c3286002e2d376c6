//! Makes the gRPC service from its definition, without `protoc`.

use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto/inference.proto");
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_file("inference.proto")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("inference.bin"), compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure()
        .build_client(false)
        .bytes(".")
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
