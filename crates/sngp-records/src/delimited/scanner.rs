use std::io::{self, BufRead, BufReader};

use crate::input::Stream;

/// Splits a delimited file into records, one at a time.
///
/// The `csv` crate takes a quoted field that never ends, or goes on after its closing quote,
/// without a word: one stray quote can then join thousands of rows into one that still has the
/// right number of fields, or read the rest of a file into memory. Hence a scanner of our own.
pub(super) struct Scanner {
    reader: BufReader<Stream>,
    delimiter: u8,
    max_bytes: usize,
    /// The line, from 1, that the next byte is on.
    line: usize,
    /// The last byte was a carriage return, so a newline that follows belongs to it.
    after_return: bool,
}

/// Why there can be no further record.
#[derive(Debug)]
pub(super) enum Fault {
    Read(io::Error),
    BrokenQuote { line: usize, column: usize },
    TooLong { line: usize },
}

/// The fields of one record; reused, because allocating them anew is most of the work.
#[derive(Debug, Default)]
pub(super) struct Record {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The line, from 1, that the record starts on.
    pub(super) line: usize,
    /// How many fields there are, also those beyond the ones kept.
    pub(super) field_count: usize,
    /// The field, from 1, that goes on after its closing quote.
    pub(super) broken_field: Option<usize>,
}

impl Record {
    /// The fields, at most as many as were asked for.
    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    fn start(&mut self, line: usize) {
        self.bytes.clear();
        self.ends.clear();
        (self.line, self.field_count, self.broken_field) = (line, 0, None);
    }
}

impl Scanner {
    pub(super) fn new(stream: Stream, delimiter: u8, max_bytes: usize) -> Self {
        let reader = BufReader::with_capacity(64 << 10, stream);
        Self { reader, delimiter, max_bytes, line: 1, after_return: false }
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Reads the next record and keeps its first `keep` fields; `false` at the end of the file.
    pub(super) fn next(&mut self, record: &mut Record, keep: usize) -> Result<bool, Fault> {
        if !self.skip_line_ends()? {
            return Ok(false);
        }
        record.start(self.line);
        let (delimiter, opened, line) = (self.delimiter, self.line, self.line);
        let mut parser = Parser { record, keep, delimiter, state: State::Start, opened, line };
        let mut length = 0;
        loop {
            let buffer = fill(&mut self.reader)?;
            if buffer.is_empty() {
                parser.end()?;
                return Ok(true);
            }
            let mut last = None;
            let mut used = 0;
            for &byte in buffer {
                used += 1;
                if parser.push(byte)? {
                    last = Some(byte);
                    break;
                }
            }
            self.reader.consume(used);
            if let Some(last) = last {
                self.line = parser.line + 1;
                self.after_return = last == b'\r';
                return Ok(true);
            }
            length += used;
            if length > self.max_bytes {
                return Err(parser.too_long());
            }
        }
    }

    /// Goes on to the next byte that is part of a record; `false` where there is none.
    pub(super) fn skip_line_ends(&mut self) -> Result<bool, Fault> {
        while let Some(&byte) = fill(&mut self.reader)?.first() {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' => self.line += 1,
                b'\r' => {
                    self.line += 1;
                    self.after_return = true;
                }
                _ => {
                    self.after_return = false;
                    return Ok(true);
                }
            }
            self.reader.consume(1);
        }
        Ok(false)
    }
}

/// The bytes to come, none at the end. Unlike `read`, `fill_buf` leaves interruptions to us.
fn fill(reader: &mut BufReader<Stream>) -> Result<&[u8], Fault> {
    loop {
        match reader.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::Read(error)),
        }
    }
    // Asked again because the borrow checker cannot let go of the one above; it reads nothing.
    Ok(reader.buffer())
}

#[derive(Clone, Copy)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first of two.
    Quote,
    /// After a broken field, up to the end of the line.
    Skipped,
}

struct Parser<'a> {
    record: &'a mut Record,
    keep: usize,
    delimiter: u8,
    state: State,
    /// The line the current quoted field starts on.
    opened: usize,
    line: usize,
}

impl Parser<'_> {
    /// Takes one byte; `true` where it ends the record.
    fn push(&mut self, byte: u8) -> Result<bool, Fault> {
        let ends_line = matches!(byte, b'\n' | b'\r');
        self.state = match self.state {
            State::Quoted if byte == b'"' => State::Quote,
            State::Quoted => {
                self.line += usize::from(byte == b'\n');
                self.store(byte);
                State::Quoted
            }
            _ if ends_line => {
                self.end_field();
                return Ok(true);
            }
            State::Skipped => State::Skipped,
            _ if byte == self.delimiter => {
                self.end_field();
                State::Start
            }
            State::Start if byte == b'"' => {
                self.opened = self.line;
                State::Quoted
            }
            State::Quote if byte == b'"' => {
                self.store(byte);
                State::Quoted
            }
            // Within one line only this row is in doubt. Over several lines it cannot be known
            // which of them belong together, and going on would shift all rows after it.
            State::Quote if self.opened == self.line => {
                self.record.broken_field = Some(self.record.field_count + 1);
                State::Skipped
            }
            State::Quote => return Err(self.broken_quote()),
            State::Start | State::Plain => {
                self.store(byte);
                State::Plain
            }
        };
        Ok(false)
    }

    /// Takes the end of the file.
    fn end(&mut self) -> Result<(), Fault> {
        match self.state {
            State::Quoted => Err(self.broken_quote()),
            _ => {
                self.end_field();
                Ok(())
            }
        }
    }

    fn store(&mut self, byte: u8) {
        if self.record.field_count < self.keep {
            self.record.bytes.push(byte);
        }
    }

    fn end_field(&mut self) {
        if self.record.field_count < self.keep {
            self.record.ends.push(self.record.bytes.len());
        }
        self.record.field_count += 1;
    }

    fn broken_quote(&self) -> Fault {
        Fault::BrokenQuote { line: self.opened, column: self.record.field_count + 1 }
    }

    fn too_long(&self) -> Fault {
        match self.state {
            State::Quoted => self.broken_quote(),
            _ => Fault::TooLong { line: self.record.line },
        }
    }
}

#[cfg(test)]
mod tests;
