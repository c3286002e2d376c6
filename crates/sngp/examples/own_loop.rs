//! A training loop of your own, with spectral normalization and a Laplace posterior dropped in.
//! Run it with `cargo run --release --example own_loop -p sngp`.
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::GradientsParams;
use burn::tensor::activation::{log_softmax, relu};
use burn::tensor::{Device, Int, Tensor};
use sngp::prelude::*;

#[derive(Module, Debug)]
struct Network {
    lift: Linear,
    block: Linear,
    output: GaussianProcess,
}

impl Network {
    fn forward(&self, input: Tensor<2>) -> GpOutput {
        let hidden = self.lift.forward(input);
        self.output.forward(hidden.clone() + relu(self.block.forward(hidden)))
    }
}

impl SpectralLayers for Network {
    fn spectral_layers(&mut self) -> Vec<SpectralLayer<'_>> {
        vec![SpectralLayer::dense("block", &mut self.block)]
    }
}

fn main() -> sngp::Result<()> {
    let (plain, device) = (Device::flex(), Device::flex().autodiff());
    // Two classes, on two circles around (2, 0) and (-2, 0).
    let side = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let points: [[f32; 2]; 200] =
        std::array::from_fn(|i| [2.0 * side(i) + (i as f32).cos(), (i as f32).sin()]);
    let labels = Tensor::<1, Int>::arange(0..200, &device).remainder_scalar(2).unsqueeze_dim(1);
    let mut network = Network {
        lift: LinearConfig::new(2, 32).init(&device).no_grad(),
        block: LinearConfig::new(32, 32).init(&device),
        output: GaussianProcessConfig::default().init(32, 2, 0, &device)?,
    };
    let mut norms = SpectralNormalization::start(&SpectralConfig::default(), &mut network, 0)?;
    let mut optimizer = Optimizer::AdamW.init(1e-4);
    for _ in 0..100 {
        let output = network.forward(Tensor::from_floats(points, &device));
        let loss = log_softmax(output.logits, 1).gather(1, labels.clone()).mean().neg();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = optimizer.step(0.01, network, gradients);
        norms.project(&mut network);
    }
    let network = network.valid();
    let mut laplace = network.output.laplace(Curvature::Gaussian);
    laplace.add(&network.forward(Tensor::from_floats(points, &plain)))?;
    let posterior = laplace.finish(1.0, &plain)?;
    let asked = Tensor::from_floats([[2.0, 1.0], [40.0, 40.0]], &plain);
    let answer = posterior.predict(&network.forward(asked), &Integration::default())?;
    println!("{:.3}\nvariances {:.3?}", answer.probabilities()?, answer.variance);
    Ok(())
}
