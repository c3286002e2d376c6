//! Published weights under their published names.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};

use super::family::Names;
use crate::backbone::Bert;
use crate::model::tensors::Tensors;
use crate::nn::{Dense, LayerNorm};
use crate::{Error, Result};

/// Published weights by their names, taken one by one.
pub(super) struct Weights<'a> {
    pub tensors: Tensors,
    /// Models with a head of their own keep the encoder under the family's name.
    pub prefix: &'a str,
    pub device: &'a Device,
}

impl Weights<'_> {
    /// Replaces the encoder's weights.
    pub fn fill(&mut self, network: &mut Bert, names: &Names) -> Result<()> {
        let encoder = &mut network.encoder;
        let embeddings = &mut encoder.embeddings;
        embeddings.words = self.table("embeddings.word_embeddings.weight", &embeddings.words)?;
        embeddings.positions =
            self.table("embeddings.position_embeddings.weight", &embeddings.positions)?;
        if let Some(types) = &mut embeddings.types {
            *types = self.table("embeddings.token_type_embeddings.weight", types)?;
        }
        self.norm("embeddings.LayerNorm", &mut embeddings.norm)?;
        if let Some(bias) = &mut encoder.relative_bias {
            *bias = self.table("encoder.relative_attention_bias.weight", bias)?;
        }
        for (index, layer) in encoder.transformer.layers.iter_mut().enumerate() {
            let path = |name: &str| format!("{}.{index}.{name}", names.layers);
            let qkv = [path(names.query), path(names.key), path(names.value)];
            layer.qkv = self.dense(&qkv, &layer.qkv)?;
            layer.context = self.dense(&[path(names.context)], &layer.context)?;
            self.norm(&path(names.attention_norm), &mut layer.attention_norm)?;
            layer.up = self.dense(&[path(names.up)], &layer.up)?;
            layer.down = self.dense(&[path(names.down)], &layer.down)?;
            self.norm(&path(names.output_norm), &mut layer.output_norm)?;
        }
        Ok(())
    }

    fn full_name(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_string() } else { format!("{}.{name}", self.prefix) }
    }

    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains(&self.full_name(name))
    }

    fn take(&mut self, name: &str, expected: &[usize]) -> Result<Vec<f32>> {
        let name = self.full_name(name);
        let (shape, values) = self.tensors.take_f32(&name)?;
        if shape == expected {
            return Ok(values);
        }
        let what = format!("tensor `{name}` (does config.json belong to these weights?)");
        Err(Error::shape(what, format!("{expected:?}"), format!("{shape:?}")))
    }

    fn table(&mut self, name: &str, old: &Param<Tensor<2>>) -> Result<Param<Tensor<2>>> {
        let shape = old.lazy_shape().to_vec();
        let values = self.take(name, &shape)?;
        Ok(Param::from_data(TensorData::new(values, shape), self.device))
    }

    fn norm(&mut self, name: &str, norm: &mut LayerNorm) -> Result<()> {
        for (part, parameter) in [("weight", &mut norm.gamma), ("bias", &mut norm.beta)] {
            let shape = parameter.lazy_shape().to_vec();
            let values = self.take(&format!("{name}.{part}"), &shape)?;
            *parameter = Param::from_data(TensorData::new(values, shape), self.device);
        }
        Ok(())
    }

    /// Published layers are `[outputs, inputs]`; ours are transposed, and may be several side by
    /// side.
    pub fn dense(&mut self, names: &[impl AsRef<str>], old: &Dense) -> Result<Dense> {
        let shape = old.linear.weight.lazy_shape().to_vec();
        let (inputs, outputs) = (shape[0], shape[1]);
        let part = outputs / names.len();
        let mut weight = vec![0.0; inputs * outputs];
        let mut bias = Vec::with_capacity(outputs);
        for (index, name) in names.iter().enumerate() {
            let name = name.as_ref();
            let rows = self.take(&format!("{name}.weight"), &[part, inputs])?;
            for (output, row) in rows.chunks_exact(inputs).enumerate() {
                for (input, value) in row.iter().enumerate() {
                    weight[input * outputs + index * part + output] = *value;
                }
            }
            bias.extend(self.take(&format!("{name}.bias"), &[part])?);
        }
        let weight = TensorData::new(weight, [inputs, outputs]);
        Ok(Dense::from(burn::nn::Linear {
            weight: Param::from_data(weight, self.device),
            bias: Some(Param::from_data(TensorData::new(bias, [outputs]), self.device)),
        }))
    }
}
