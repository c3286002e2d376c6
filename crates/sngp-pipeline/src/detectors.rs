//! The detectors of a pipeline, as they are saved with its model.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use sngp::backbone::{Backbone, Standardize};
use sngp::detect::{
    ClassSums, Combination, Detectors, Geometry, HeldOutRows, Neighbours, Part, Reference, Sense,
};
use sngp::model::AnyModel;
use sngp::score::Score;
use sngp::{Error, Result};

use crate::arrays::{NamedArrays, ReadArrays};
use crate::input::Preparation;

/// The file they are saved in, in the model's folder.
pub(crate) const DETECTORS: &str = "detectors.safetensors";
/// What scores are like on held-out rows.
pub(crate) const COMBINATION: &str = "combination.json";

/// What of the hidden vectors of a model counts.
pub(crate) fn geometry(preparation: &Preparation, model: &dyn AnyModel) -> Result<Geometry> {
    let directions = Geometry::of_directions(model.hidden_width());
    // Columns in standard units are no directions; too wide ones are folded all the same.
    let standardized = || Ok::<_, Error>(model.saved_backbone()?.0 == Standardize::NAME);
    Ok(match preparation {
        Preparation::Table(_) | Preparation::Numbers { .. } => Geometry::Plain,
        _ if directions == Geometry::Direction && standardized()? => Geometry::Plain,
        _ => directions,
    })
}

pub(crate) fn to_bytes(detectors: &Detectors) -> Result<Vec<u8>> {
    let (sums, neighbours) = (detectors.sums(), detectors.neighbours());
    let mut arrays = NamedArrays::default();
    arrays.put_f64("counts", sums.counts());
    arrays.put_f64("sums", &sums.sums().iter().copied().collect::<Vec<_>>());
    arrays.put_f64("second", &sums.packed());
    let factor = detectors.virtual_logit().unwrap_or(-1.0);
    arrays.put_f64("seen", &[neighbours.seen() as f64, factor]);
    let vectors: Vec<f32> = neighbours.vectors().iter().copied().collect();
    arrays.put_f32("neighbours", neighbours.vectors().shape().to_vec(), &vectors);
    arrays.to_bytes()
}

/// Reads them and checks that they fit the model.
pub(crate) fn from_bytes(bytes: &[u8], geometry: Geometry, width: usize) -> Result<Detectors> {
    let arrays = ReadArrays::new(DETECTORS, bytes)?;
    let counts = arrays.f64("counts")?;
    let width = geometry.width(width);
    let sums = Array2::from_shape_vec((counts.len(), width), arrays.f64("sums")?)
        .map_err(|_| arrays.wrong("sums", "does not fit the model's hidden vectors"))?;
    let sums = ClassSums::from_parts(counts, sums, &arrays.f64("second")?)
        .map_err(|error| arrays.wrong("second", &format!("is not sound: {error}")))?;
    let (shape, vectors) = arrays.f32("neighbours")?;
    let [rows, columns] = shape[..] else {
        return Err(arrays.wrong("neighbours", "is no matrix"));
    };
    if columns != width {
        return Err(arrays.wrong("neighbours", "does not fit the model's hidden vectors"));
    }
    let vectors = Array2::from_shape_vec((rows, columns), vectors)
        .map_err(|error| Error::Data(error.to_string()))?;
    let [seen, factor] = arrays.f64("seen")?[..] else {
        return Err(arrays.wrong("seen", "has another length"));
    };
    let detectors =
        Detectors::from_parts(geometry, sums, Neighbours::from_parts(vectors, seen as usize));
    Ok(if factor >= 0.0 { detectors.with_virtual_logit(factor) } else { detectors })
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedCombination {
    parts: Vec<SavedPart>,
    usual: Vec<f64>,
    // Folders from before do not say, and nothing is promised by them.
    #[serde(default)]
    rows: HeldOutRows,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedPart {
    score: Score,
    sense: Sense,
    weight: f64,
    usual: Vec<f64>,
}

pub(crate) fn combination_to_bytes(combination: &Combination) -> Result<Vec<u8>> {
    let part = |part: &Part| SavedPart {
        score: part.score.clone(),
        sense: part.sense,
        weight: part.weight,
        usual: part.usual.sorted().to_vec(),
    };
    let parts = combination.parts().iter().map(part).collect();
    let (usual, rows) = (combination.usual().sorted().to_vec(), combination.rows());
    let saved = SavedCombination { parts, usual, rows };
    sngp::files::to_json(&saved)
}

pub(crate) fn combination_from_bytes(bytes: &[u8]) -> Result<Combination> {
    let wrong = |error: String| Error::Data(format!("{COMBINATION}: {error}"));
    let saved: SavedCombination =
        serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    let part = |SavedPart { score, sense, weight, usual }: SavedPart| -> Result<Part> {
        Ok(Part { score, sense, weight, usual: Reference::new(usual)? })
    };
    let parts = saved.parts.into_iter().map(part).collect::<Result<_>>();
    parts
        .and_then(|parts| Combination::from_parts(parts, Reference::new(saved.usual)?, saved.rows))
        .map_err(|error| wrong(error.to_string()))
}
