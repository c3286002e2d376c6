//! Sentences on a device.

use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};

use crate::backbone::Batch;

/// Token ids, padded to the longest sentence of the batch.
#[derive(Clone, Debug)]
pub struct TokenBatch {
    ids: Tensor<2, Int>,
    /// 1 for a token, 0 for padding; absent where there is no padding.
    real: Option<Tensor<2>>,
    largest_id: u32,
    /// Width of the vectors the ids stand for: the continuous part of a sentence.
    width: usize,
    shift: Option<Tensor<3>>,
}

impl TokenBatch {
    /// Pads sentences, none of them empty, for an encoder whose tokens have `width` components.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use sngp::text::TokenBatch;
    ///
    /// let batch = TokenBatch::new(&[&[1, 5, 2], &[1, 2]], 8, &Device::flex());
    /// assert_eq!(batch.ids().dims(), [2, 3]);
    /// assert!(batch.real().is_some());
    /// ```
    pub fn new(sentences: &[&[u32]], width: usize, device: &Device) -> Self {
        let tokens = sentences.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let shape = [sentences.len(), tokens];
        let at = |ids: &&[u32], index: usize| ids.get(index).copied();
        let padded = |value: &dyn Fn(Option<u32>) -> i64| -> Vec<i64> {
            let rows = sentences.iter();
            rows.flat_map(|ids| (0..tokens).map(move |index| value(at(ids, index)))).collect()
        };
        let ids = padded(&|id| i64::from(id.unwrap_or(0)));
        let real = sentences.iter().any(|ids| ids.len() < tokens).then(|| {
            let real = padded(&|id| i64::from(id.is_some()));
            let real: Vec<f32> = real.into_iter().map(|flag| flag as f32).collect();
            Tensor::from_data(TensorData::new(real, shape), device)
        });
        Self {
            largest_id: sentences.iter().flat_map(|ids| ids.iter()).copied().max().unwrap_or(0),
            ids: Tensor::from_data(TensorData::new(ids, shape), device),
            real,
            width,
            shift: None,
        }
    }

    /// The ids, `[rows, tokens]`.
    pub fn ids(&self) -> &Tensor<2, Int> {
        &self.ids
    }

    /// 1 for a token and 0 for padding, `[rows, tokens]`; `None` where nothing is padded.
    pub fn real(&self) -> Option<&Tensor<2>> {
        self.real.as_ref()
    }

    /// The largest id.
    pub fn largest_id(&self) -> u32 {
        self.largest_id
    }

    /// Width of the vectors the ids stand for.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What is added to the vectors, `[rows, tokens, width]`, while a method examines how the
    /// network answers to small changes.
    pub fn displacement(&self) -> Option<&Tensor<3>> {
        self.shift.as_ref()
    }

    fn shape(&self) -> [usize; 3] {
        let [rows, tokens] = self.ids.dims();
        [rows, tokens, self.width]
    }
}

/// Ids have no gradient; the vectors they stand for do.
impl Batch for TokenBatch {
    fn rows(&self) -> usize {
        self.ids.dims()[0]
    }

    fn track(self) -> Self {
        let shift = Tensor::zeros(self.shape(), &self.ids.device()).require_grad();
        Self { shift: Some(shift), ..self }
    }

    fn gradient(&self, gradients: &Gradients) -> Option<Tensor<2>> {
        let [rows, tokens, width] = self.shape();
        Some(self.shift.as_ref()?.grad(gradients)?.reshape([rows, tokens * width]))
    }

    fn shift(&self, delta: Tensor<2>) -> Self {
        Self { shift: Some(delta.reshape(self.shape())), ..self.clone() }
    }

    fn flatten(&self) -> Option<Tensor<2>> {
        None
    }
}
