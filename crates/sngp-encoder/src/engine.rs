//! The engine that computes a graph, behind what it may do wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ndarray::Array2;
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};

/// A graph with one output of a vector a row, ready to run.
pub struct Engine {
    model: Model,
    output: NodeId,
    threads: Arc<ThreadPool>,
}

/// What goes into a graph.
pub enum Input {
    /// `[rows, tokens]`.
    Integers([usize; 2], Vec<i32>),
    /// `[rows, a, b, c]`.
    Numbers([usize; 4], Vec<f32>),
}

impl Engine {
    /// Loads a graph that was checked; the error is a sentence about the file.
    pub fn load(bytes: Vec<u8>) -> Result<Self, String> {
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = catch_unwind(AssertUnwindSafe(|| options.load(bytes)))
            .map_err(|_| "its graph contradicts itself".to_string())?
            .map_err(|error| format!("its graph cannot be run: {error}"))?;
        let [output] = model.output_ids() else {
            return Err("its graph has not one output".to_string());
        };
        let output = *output;
        let threads = Arc::new(ThreadPool::with_num_threads(rayon::current_num_threads()));
        Ok(Self { model, output, threads })
    }

    /// The output for some rows; the error is a sentence about them.
    pub fn run(&self, inputs: Vec<(&str, Input)>) -> Result<Array2<f32>, String> {
        let mut given = Vec::with_capacity(inputs.len());
        for (name, input) in inputs {
            let id = self.model.find_node(name);
            let id = id.ok_or_else(|| format!("the encoder's graph has no input `{name}`"))?;
            let value = match input {
                Input::Integers(shape, values) => Value::from(NdTensor::from_data(shape, values)),
                Input::Numbers(shape, values) => Value::from(NdTensor::from_data(shape, values)),
            };
            given.push((id, value.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(self.threads.clone()));
        let run = || self.model.run(given, &[self.output], Some(options));
        let mut made = catch_unwind(AssertUnwindSafe(run))
            .map_err(|_| "the encoder's graph does not take such a row".to_string())?
            .map_err(|error| format!("the encoder cannot be run: {error}"))?;
        let made: Tensor<f32> = made
            .swap_remove(0)
            .try_into()
            .map_err(|_| "the encoder's features are no numbers".to_string())?;
        let [rows, width] = made.shape()[..] else {
            return Err("the encoder's features are no vectors".to_string());
        };
        let values = made.into_data();
        Array2::from_shape_vec((rows, width), values).map_err(|error| error.to_string())
    }
}
