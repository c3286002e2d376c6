//! Rows from tensors.

use std::sync::Arc;

use bytes::Bytes;
use sngp_pipeline::FieldKind;
use sngp_records::Cell;
use sngp_records::image::Picture;

use super::{Intake, Rows, number_cell, picture};
use crate::error::{Result, ServeError};
use crate::protocol::{Datatype, Tensor, Values, shown};

impl Intake {
    /// The rows of a request's tensors.
    pub fn rows_of_tensors(&self, tensors: &[Tensor], most: usize) -> Result<Rows> {
        for tensor in tensors {
            if !self.names.contains(&tensor.name) {
                let name = shown(&tensor.name);
                let message = format!("no input `{name}`; {}", self.describe());
                return Err(ServeError::Invalid(message));
            }
        }
        let rows = tensors.first().and_then(|tensor| tensor.shape.first().copied()).unwrap_or(0);
        if let Some(other) = tensors.iter().find(|tensor| tensor.shape.first() != Some(&rows)) {
            let (name, shape) = (shown(&other.name), &other.shape);
            let message = format!("input `{name}` has the shape {shape:?}, others {rows} rows");
            return Err(ServeError::Invalid(message));
        }
        if rows == 0 {
            return Err(ServeError::Invalid(format!("there are no rows; {}", self.describe())));
        }
        if rows > most {
            let message = format!("{rows} rows where {most} are allowed in a request");
            return Err(ServeError::TooLarge(message));
        }
        match (tensors, self.width()) {
            ([tensor], Some(width)) => vectors(tensor, rows, width),
            ([tensor], None) if self.takes_images() => self.pictures(tensor, rows),
            _ => self.cells(tensors, rows),
        }
    }

    fn cells(&self, tensors: &[Tensor], rows: usize) -> Result<Rows> {
        let mut table: Vec<Vec<Cell>> = vec![Vec::with_capacity(self.inputs.len()); rows];
        for field in &self.inputs {
            let Some(tensor) = tensors.iter().find(|tensor| tensor.name == field.name) else {
                if field.optional {
                    table.iter_mut().for_each(|row| row.push(Cell::Missing));
                    continue;
                }
                let message = format!("no input `{}`; {}", field.name, self.describe());
                return Err(ServeError::Invalid(message));
            };
            if tensor.values.len() != rows {
                let message = format!("input `{}` has more than one value a row", field.name);
                return Err(ServeError::Invalid(message));
            }
            let text = field.kind == FieldKind::Text;
            let logical = tensor.datatype == Datatype::Bool;
            match &tensor.values {
                Values::Bytes(all) => {
                    for (row, bytes) in table.iter_mut().zip(all) {
                        row.push(text_cell(&field.name, bytes, text)?);
                    }
                }
                _ if text => {
                    let (name, found) = (&field.name, tensor.datatype);
                    let message = format!("input `{name}` is text: send BYTES, not {found}");
                    return Err(ServeError::Invalid(message));
                }
                Values::Numbers(all) => {
                    let cell = |number: f64| match logical {
                        true => Cell::Bool(number == 1.0),
                        false => number_cell(number),
                    };
                    table.iter_mut().zip(all).for_each(|(row, n)| row.push(cell(*n)));
                }
                Values::Floats(all) => {
                    let cell = |number: &f32| number_cell(f64::from(*number));
                    table.iter_mut().zip(all).for_each(|(row, n)| row.push(cell(n)));
                }
                Values::Octets(all) => {
                    let cell = |number: &u8| Cell::Number(f64::from(*number));
                    table.iter_mut().zip(all).for_each(|(row, n)| row.push(cell(n)));
                }
            }
        }
        Ok(Rows::Cells(table))
    }

    fn pictures(&self, tensor: &Tensor, rows: usize) -> Result<Rows> {
        if let Values::Bytes(files) = &tensor.values {
            if files.len() != rows {
                let message = format!("input `{}` has more than one file a row", tensor.name);
                return Err(ServeError::Invalid(message));
            }
            return Ok(Rows::Pictures(files.iter().map(|file| picture(file)).collect()));
        }
        let layout = Layout::of(tensor)?;
        let pixels = octets(&tensor.values)?;
        let pictures = pixels.chunks(3 * layout.height * layout.width).map(|image| {
            let picture = Picture::from_rgb(
                layout.width as u32,
                layout.height as u32,
                layout.interleaved(image),
            );
            picture.map(Arc::new).map_err(|error| ServeError::Invalid(error.to_string()))
        });
        let pictures: Result<Vec<_>> = pictures.map(|picture| picture.map(Ok)).collect();
        Ok(Rows::Pictures(pictures?))
    }
}

fn text_cell(name: &str, bytes: &Bytes, whole: bool) -> Result<Cell> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ServeError::Invalid(format!("input `{name}`: a text is not UTF-8")))?;
    // What stands for a missing value in a file does so here; a sentence is what it is.
    Ok(if whole { Cell::Text(text.to_string()) } else { Cell::from_field(text) })
}

fn vectors(tensor: &Tensor, rows: usize, width: usize) -> Result<Rows> {
    let fits = match tensor.shape[..] {
        [_, found] => found == width,
        _ => false,
    };
    if !fits {
        let (name, shape) = (shown(&tensor.name), &tensor.shape);
        let message = format!("input `{name}` has the shape {shape:?}, not [{rows}, {width}]");
        return Err(ServeError::Invalid(message));
    }
    let values = match &tensor.values {
        Values::Floats(values) => values.clone(),
        Values::Numbers(values) => values.iter().map(|value| *value as f32).collect(),
        Values::Octets(values) => values.iter().map(|value| f32::from(*value)).collect(),
        Values::Bytes(_) => {
            return Err(ServeError::Invalid(format!("input `{}` takes FP32", tensor.name)));
        }
    };
    Ok(Rows::Vectors { width, values })
}

/// Where the three channels of pixels are.
struct Layout {
    height: usize,
    width: usize,
    channels_first: bool,
}

impl Layout {
    fn of(tensor: &Tensor) -> Result<Self> {
        const MOST: usize = 20_000;
        let (height, width, channels_first) = match tensor.shape[..] {
            [_, height, width, 3] => (height, width, false),
            [_, 3, height, width] => (height, width, true),
            _ => (0, 0, false),
        };
        if !(1..=MOST).contains(&height) || !(1..=MOST).contains(&width) {
            let (name, shape) = (shown(&tensor.name), &tensor.shape);
            let message = format!(
                "input `{name}` has the shape {shape:?}: images are files as BYTES, or pixels \
                 [rows, height, width, 3] or [rows, 3, height, width]"
            );
            return Err(ServeError::Invalid(message));
        }
        Ok(Self { height, width, channels_first })
    }

    fn interleaved(&self, image: &[u8]) -> Vec<u8> {
        if !self.channels_first {
            return image.to_vec();
        }
        let side = self.height * self.width;
        (0..side).flat_map(|place| [0, 1, 2].map(|channel| image[channel * side + place])).collect()
    }
}

/// Pixels as bytes: UINT8 as they are, floats from 0 to 1.
fn octets(values: &Values) -> Result<Vec<u8>> {
    let byte = |value: f64| match (0.0..=1.0).contains(&value) {
        true => Ok((255.0 * value).round() as u8),
        false => Err(ServeError::Invalid(format!(
            "a pixel is {value}: floats are from 0 to 1, UINT8 from 0 to 255"
        ))),
    };
    match values {
        Values::Octets(bytes) => Ok(bytes.to_vec()),
        Values::Floats(values) => values.iter().map(|value| byte(f64::from(*value))).collect(),
        Values::Numbers(values) => values.iter().map(|value| byte(*value)).collect(),
        Values::Bytes(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use sngp_pipeline::{Field, Signature};

    use super::*;

    fn field(name: &str, kind: FieldKind, shape: &[i64], optional: bool) -> Field {
        let (name, meaning) = (name.to_string(), String::new());
        Field { name, kind, shape: shape.to_vec(), optional, meaning }
    }

    fn intake(inputs: Vec<Field>) -> Intake {
        Intake::new(&Signature { inputs, outputs: Vec::new(), labels: Vec::new() })
    }

    fn tensor(name: &str, datatype: Datatype, shape: &[usize], values: Values) -> Tensor {
        Tensor::new(name, datatype, shape.to_vec(), values).unwrap()
    }

    #[test]
    fn columns_come_in_any_order_and_may_be_missing() {
        let colours = FieldKind::Category { values: vec!["red".to_string()] };
        let intake = intake(vec![
            field("length", FieldKind::Number, &[-1], false),
            field("width", FieldKind::Number, &[-1], true),
            field("colour", colours, &[-1], false),
        ]);
        let colour = tensor(
            "colour",
            Datatype::Bytes,
            &[2, 1],
            Values::Bytes(vec!["red".into(), "NA".into()]),
        );
        let length = tensor("length", Datatype::Fp32, &[2], Values::Floats(vec![0.5, f32::NAN]));
        let Rows::Cells(rows) =
            intake.rows_of_tensors(&[colour.clone(), length.clone()], 9).unwrap()
        else {
            panic!()
        };
        let red = Cell::Text("red".to_string());
        assert_eq!(rows[0], [Cell::Number(0.5), Cell::Missing, red]);
        assert_eq!(rows[1], [Cell::Missing, Cell::Missing, Cell::Missing]);
        let error = intake.rows_of_tensors(&[colour], 9).unwrap_err();
        assert!(error.to_string().contains("no input `length`"), "{error}");
        assert_eq!(intake.rows_of_tensors(&[length], 1).unwrap_err().http(), 413);
    }

    #[test]
    fn pixels_come_in_both_layouts() {
        let intake = intake(vec![field("image", FieldKind::Image, &[-1], false)]);
        let last: Vec<u8> = (0..12).collect();
        let first: Vec<f32> =
            [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11].map(|v| v as f32 / 255.0).to_vec();
        let one =
            tensor("image", Datatype::Uint8, &[1, 2, 2, 3], Values::Octets(last.clone().into()));
        let other = tensor("image", Datatype::Fp32, &[1, 3, 2, 2], Values::Floats(first));
        for tensor in [one, other] {
            let Rows::Pictures(pictures) = intake.rows_of_tensors(&[tensor], 9).unwrap() else {
                panic!()
            };
            assert_eq!(pictures[0].as_ref().unwrap().to_rgb(), last);
        }
        let file = tensor("image", Datatype::Bytes, &[1], Values::Bytes(vec!["none".into()]));
        let Rows::Pictures(pictures) = intake.rows_of_tensors(&[file], 9).unwrap() else {
            panic!()
        };
        assert!(pictures[0].as_ref().unwrap_err().contains("no usable image"));
        let wrong = tensor("image", Datatype::Uint8, &[1, 4], Values::Octets(vec![0; 4].into()));
        assert!(intake.rows_of_tensors(&[wrong], 9).is_err());
    }

    #[test]
    fn vectors_have_their_width() {
        let intake = intake(vec![field("vectors", FieldKind::Vector, &[-1, 2], false)]);
        let values = Values::Numbers(vec![1.0, 2.0, 3.0, 4.0]);
        let right = tensor("vectors", Datatype::Fp64, &[2, 2], values.clone());
        assert_eq!(intake.rows_of_tensors(&[right], 9).unwrap().len(), 2);
        for shape in [&[4][..], &[1, 4], &[4, 1], &[1, 2, 2]] {
            let wrong = tensor("vectors", Datatype::Fp64, shape, values.clone());
            assert_eq!(intake.rows_of_tensors(&[wrong], 9).unwrap_err().http(), 400);
        }
        assert_eq!(intake.rows_of_tensors(&[], 9).unwrap_err().http(), 400);
    }
}
