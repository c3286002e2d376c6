//! Vectors of an encoder that is not trained, computed once and kept.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use ndarray::Array2;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use sngp::data::Table;
use sngp::files::write_whole;
use sngp::text::{PretrainedEncoder, Sentences};
use sngp::{Error, Result};

const NAME: &str = "embeddings";

/// A folder of vectors, one file a list of sentences and encoder.
pub(super) struct EmbeddingCache {
    pub folder: PathBuf,
}

impl EmbeddingCache {
    /// The vectors of sentences, from the cache where they are in it.
    pub fn table(
        &self,
        encoder: &PretrainedEncoder,
        texts: &[String],
        device: &Device,
    ) -> Result<Table> {
        let sentences = encoder.sentences(texts)?;
        let path = self.folder.join(format!("{}.safetensors", encoder.fingerprint(&sentences)));
        let vectors = match read(&path) {
            Some(vectors) if vectors.nrows() == texts.len() => vectors,
            _ => self.compute(&path, encoder, &sentences, device)?,
        };
        Table::new(vectors.view())
    }

    fn compute(
        &self,
        path: &Path,
        encoder: &PretrainedEncoder,
        sentences: &Sentences,
        device: &Device,
    ) -> Result<Array2<f32>> {
        let vectors = encoder.embed(sentences, device);
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        let bytes: Vec<u8> = vectors.iter().flat_map(|value| value.to_le_bytes()).collect();
        let file = TensorView::new(Dtype::F32, vectors.shape().to_vec(), &bytes)
            .and_then(|view| safetensors::serialize([(NAME, view)], None))
            .map_err(|error| Error::corrupt(path, error.to_string()))?;
        write_whole(path, &file)?;
        Ok(vectors)
    }
}

/// What is in a file of the cache; a file that cannot be read is made anew.
fn read(path: &Path) -> Option<Array2<f32>> {
    let bytes = fs::read(path).ok()?;
    let file = SafeTensors::deserialize(&bytes).ok()?;
    let view = file.tensor(NAME).ok()?;
    let [rows, columns] = view.shape()[..] else { return None };
    let values = view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    Array2::from_shape_vec((rows, columns), values.collect()).ok()
}
