//! A layer's weights in the form its kernel wants, kept with the layer.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use burn_flex::FlexTensor;

/// The place in a layer where its kernel keeps a prepared form of the weights: packed for a
/// product, transformed for Winograd's convolution.
///
/// It is found again by the identity of the weights, which it holds on to: a weight that is
/// replaced, or changed in place (Burn copies what is shared before it writes), is another one,
/// and prepared anew. So it can be cloned, mapped and trained with its layer without ever being
/// stale. Give it to a module as `#[module(skip)]`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sngp_kernels::{Activation, Prepared, linear};
///
/// let device = Device::flex();
/// let (kept, weight) = (Prepared::default(), Tensor::<2>::ones([2, 1], &device));
/// let x = Tensor::<2>::from_floats([[3.0, 4.0]], &device);
/// let y = linear(x.clone(), weight.clone(), None, Activation::Identity, None, Some(&kept));
/// assert_eq!(y.into_scalar::<f32>(), 7.0);
/// let y = linear(x, weight * 2.0, None, Activation::Identity, None, Some(&kept));
/// assert_eq!(y.into_scalar::<f32>(), 14.0);
/// ```
#[derive(Clone, Default)]
pub struct Prepared(Arc<RwLock<Option<Entry>>>);

struct Entry {
    source: FlexTensor,
    form: Arc<dyn Any + Send + Sync>,
}

impl Prepared {
    /// The kept form of `source`, made when it is not there.
    pub(crate) fn of<T: Send + Sync + 'static>(
        &self,
        source: &FlexTensor,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        {
            let entry = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(form) = entry.as_ref().and_then(|entry| entry.form_of(source)) {
                return form;
            }
        }
        let form = Arc::new(make());
        let entry = Entry { source: source.clone(), form: form.clone() };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        form
    }
}

impl Entry {
    fn form_of<T: Send + Sync + 'static>(&self, source: &FlexTensor) -> Option<Arc<T>> {
        let same = Arc::ptr_eq(&self.source.data_arc(), &source.data_arc())
            && self.source.layout().start_offset() == source.layout().start_offset()
            && self.source.layout().shape() == source.layout().shape()
            && self.source.layout().strides() == source.layout().strides();
        if same { self.form.clone().downcast().ok() } else { None }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}
