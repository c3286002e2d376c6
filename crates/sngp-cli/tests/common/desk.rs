//! A folder with somebody's data, and the binary in it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{run, sngp, text};

/// A folder to work in.
pub struct Desk {
    pub folder: tempfile::TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = sngp();
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }

    pub fn run(&self, line: &str) -> String {
        text(&run(&mut self.command(line), 0).stdout)
    }

    pub fn fails(&self, line: &str) -> String {
        let output = run(&mut self.command(line), 1);
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        text(&output.stderr)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A table of two kinds of flowers with a category and some holes.
    pub fn flowers(&self) {
        let row = |i: usize| {
            let kind = i % 2;
            let length = 1.0 + 3.0 * kind as f64 + (i * 37 % 11) as f64 / 20.0;
            let width =
                if i % 13 == 5 { String::new() } else { format!("{}", (i * 17 % 7) as f64) };
            let colour = ["red", "blue", "white"][(i * 31 + kind) % 3];
            format!("{i},{length},{width},{colour},{}", ["daisy", "tulip"][kind])
        };
        let table = |rows: std::ops::Range<usize>| {
            let rows: Vec<String> = rows.map(row).collect();
            format!("id,length,width,colour,kind\n{}\n", rows.join("\n"))
        };
        self.write("flowers.csv", table(0..200));
        self.write("test.csv", table(200..320));
        self.write("fresh.csv", table(320..440));
    }

    pub fn trained(&self) {
        self.flowers();
        self.run("train --data flowers.csv --label kind --features 64 --out model --quiet");
    }
}

/// The cells of a CSV file by column.
pub fn column(csv: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let place = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    reader.records().map(|record| record.unwrap()[place].to_string()).collect()
}

pub fn numbers(csv: &str, name: &str) -> Vec<f64> {
    column(csv, name).iter().map(|cell| cell.parse().unwrap()).collect()
}

/// A `.npy` file of f32 rows.
pub fn npy(rows: &[Vec<f32>]) -> Vec<u8> {
    let mut header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
        rows.len(),
        rows[0].len()
    );
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(rows.iter().flatten().flat_map(|value| value.to_le_bytes()));
    bytes
}
