//! How a kernel becomes an operation on Burn's tensors, with its gradient.
//!
//! A kernel is a [`Kernel`]: a forward and a backward pass on arrays. The rest (Burn's backend
//! extension, the autodiff graph, what is kept for the backward pass) is the same for all of them
//! and stands here once.

use std::fmt::Debug;
use std::sync::Arc;

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_flex::FlexTensor;

use crate::array::Array;

/// A fused operation on arrays.
pub(crate) trait Kernel: Debug + Send + Sync + 'static {
    /// The output of `inputs`. With `keep`, also what [`backward`](Self::backward) will ask for.
    fn forward(&self, inputs: &[Array], keep: bool) -> (FlexTensor, Vec<FlexTensor>);

    /// The gradients of the inputs that `wanted` names, from what was kept and the gradient of
    /// the output.
    fn backward(
        &self,
        kept: &[Array],
        gradient: &Array,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>>;
}

/// A kernel on its way through Burn's dispatch.
pub type SharedKernel = Arc<dyn Opaque>;

/// Keeps the kernels' own interface out of the extension trait, which Burn needs public.
pub trait Opaque: Debug + Send + Sync + 'static {
    #[doc(hidden)]
    fn forward(&self, inputs: Vec<FlexTensor>, keep: bool) -> (FlexTensor, Vec<FlexTensor>);
    #[doc(hidden)]
    fn backward(
        &self,
        kept: Vec<FlexTensor>,
        gradient: FlexTensor,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>>;
}

impl<K: Kernel> Opaque for K {
    fn forward(&self, inputs: Vec<FlexTensor>, keep: bool) -> (FlexTensor, Vec<FlexTensor>) {
        let inputs: Vec<Array> = inputs.into_iter().map(Array::new).collect();
        Kernel::forward(self, &inputs, keep)
    }

    fn backward(
        &self,
        kept: Vec<FlexTensor>,
        gradient: FlexTensor,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        let kept: Vec<Array> = kept.into_iter().map(Array::new).collect();
        Kernel::backward(self, &kept, &Array::new(gradient), wanted)
    }
}

/// Backends that can run a kernel.
pub trait Runs: Backend {
    #[doc(hidden)]
    fn run(
        kernel: &SharedKernel,
        inputs: Vec<FloatTensor<Self>>,
        keep: bool,
    ) -> (FloatTensor<Self>, Vec<FloatTensor<Self>>);
    #[doc(hidden)]
    fn run_backward(
        kernel: &SharedKernel,
        kept: Vec<FloatTensor<Self>>,
        gradient: FloatTensor<Self>,
        wanted: &[bool],
    ) -> Vec<Option<FloatTensor<Self>>>;
}

impl Runs for Flex {
    fn run(
        kernel: &SharedKernel,
        inputs: Vec<FlexTensor>,
        keep: bool,
    ) -> (FlexTensor, Vec<FlexTensor>) {
        kernel.forward(inputs, keep)
    }

    fn run_backward(
        kernel: &SharedKernel,
        kept: Vec<FlexTensor>,
        gradient: FlexTensor,
        wanted: &[bool],
    ) -> Vec<Option<FlexTensor>> {
        kernel.backward(kept, gradient, wanted)
    }
}

/// The backward pass of any kernel with `N` inputs.
#[derive(Debug)]
struct KernelBackward;

impl<B: Runs, const N: usize> Backward<B, N> for KernelBackward {
    type State = (SharedKernel, Vec<FloatTensor<B>>);

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let (kernel, kept) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let gradients = B::run_backward(&kernel, kept, gradient, &wanted);
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                grads.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Kernels by the number of their inputs: what Burn's dispatch sees of them.
macro_rules! arities {
    ($($name:ident($count:literal: $($input:ident),+);)+) => {
        /// Fused operations of one to five tensors.
        #[backend_extension(Flex, Autodiff)]
        pub trait Fused: Backend {
            $(
                #[doc(hidden)]
                fn $name(
                    kernel: SharedKernel, $($input: FloatTensor<Self>),+
                ) -> FloatTensor<Self>;
            )+
        }

        impl Fused for Flex {
            $(
                fn $name(kernel: SharedKernel, $($input: FlexTensor),+) -> FlexTensor {
                    kernel.forward(vec![$($input),+], false).0
                }
            )+
        }

        impl<B: Fused + Runs, C: CheckpointStrategy> Fused for Autodiff<B, C> {
            $(
                fn $name(
                    kernel: SharedKernel, $($input: FloatTensor<Self>),+
                ) -> FloatTensor<Self> {
                    let nodes = [$($input.node()),+];
                    let inputs = vec![$($input.into_primitive()),+];
                    let prepared =
                        <KernelBackward as Backward<B, $count>>::prepare::<C>(KernelBackward, nodes);
                    match prepared.compute_bound().stateful() {
                        OpsKind::Tracked(prepared) => {
                            let (output, kept) = B::run(&kernel, inputs, true);
                            prepared.finish((kernel, kept), output)
                        }
                        OpsKind::UnTracked(prepared) => {
                            prepared.finish(B::run(&kernel, inputs, false).0)
                        }
                    }
                }
            )+
        }
    };
}

arities! {
    fused_1(1: a);
    fused_2(2: a, b);
    fused_3(3: a, b, c);
    fused_4(4: a, b, c, d);
    fused_5(5: a, b, c, d, e);
}

/// Runs a kernel on one tensor.
pub(crate) fn apply_1<const A: usize, const O: usize>(
    kernel: impl Kernel,
    a: Tensor<A>,
) -> Tensor<O> {
    Tensor::from_dispatch(Dispatch::fused_1(Arc::new(kernel), a.into_dispatch()))
}

/// Runs a kernel on two tensors.
pub(crate) fn apply_2<const A: usize, const B: usize, const O: usize>(
    kernel: impl Kernel,
    a: Tensor<A>,
    b: Tensor<B>,
) -> Tensor<O> {
    let output = Dispatch::fused_2(Arc::new(kernel), a.into_dispatch(), b.into_dispatch());
    Tensor::from_dispatch(output)
}

/// Runs a kernel on three tensors.
pub(crate) fn apply_3<const A: usize, const B: usize, const C: usize, const O: usize>(
    kernel: impl Kernel,
    a: Tensor<A>,
    b: Tensor<B>,
    c: Tensor<C>,
) -> Tensor<O> {
    Tensor::from_dispatch(Dispatch::fused_3(
        Arc::new(kernel),
        a.into_dispatch(),
        b.into_dispatch(),
        c.into_dispatch(),
    ))
}

/// Runs a kernel on four tensors.
pub(crate) fn apply_4<
    const A: usize,
    const B: usize,
    const C: usize,
    const D: usize,
    const O: usize,
>(
    kernel: impl Kernel,
    a: Tensor<A>,
    b: Tensor<B>,
    c: Tensor<C>,
    d: Tensor<D>,
) -> Tensor<O> {
    Tensor::from_dispatch(Dispatch::fused_4(
        Arc::new(kernel),
        a.into_dispatch(),
        b.into_dispatch(),
        c.into_dispatch(),
        d.into_dispatch(),
    ))
}

/// Runs a kernel on five tensors.
pub(crate) fn apply_5<
    const A: usize,
    const B: usize,
    const C: usize,
    const D: usize,
    const E: usize,
    const O: usize,
>(
    kernel: impl Kernel,
    a: Tensor<A>,
    b: Tensor<B>,
    c: Tensor<C>,
    d: Tensor<D>,
    e: Tensor<E>,
) -> Tensor<O> {
    Tensor::from_dispatch(Dispatch::fused_5(
        Arc::new(kernel),
        a.into_dispatch(),
        b.into_dispatch(),
        c.into_dispatch(),
        d.into_dispatch(),
        e.into_dispatch(),
    ))
}
