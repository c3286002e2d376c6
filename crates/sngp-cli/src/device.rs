//! Devices by name.

use anyhow::{Result, bail};
use burn::tensor::Device;

/// Makes the device with an index, or the default one without.
type Make = fn(Option<usize>) -> Device;

/// The devices this binary was built with.
fn known() -> Vec<(&'static str, Make)> {
    vec![
        ("cpu", |_| Device::flex()),
        #[cfg(feature = "wgpu")]
        ("wgpu", |index| Device::wgpu(kind(index))),
        #[cfg(feature = "cuda")]
        ("cuda", |index| Device::cuda(index.unwrap_or(0))),
        #[cfg(feature = "metal")]
        ("metal", |index| Device::metal(kind(index))),
        #[cfg(feature = "rocm")]
        ("rocm", |index| Device::rocm(index.unwrap_or(0))),
    ]
}

#[cfg(any(feature = "wgpu", feature = "metal"))]
fn kind(index: Option<usize>) -> burn::tensor::DeviceKind {
    index.map_or_else(Default::default, burn::tensor::DeviceKind::DiscreteGpu)
}

/// The device of a name, with an index behind a colon where there are several: `cuda:1`.
pub fn parse(text: &str) -> Result<Device> {
    let (name, index) = match text.split_once(':') {
        Some((name, index)) => (name, index.parse().ok()),
        None => (text, None),
    };
    let known = known();
    match known.iter().find(|(other, _)| *other == name) {
        Some((_, make)) if index.is_some() || !text.contains(':') => Ok(make(index)),
        _ => {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            bail!(
                "unknown device `{text}`; this binary knows: {}; \
                 others come with `--features wgpu|cuda|metal|rocm` when it is built",
                names.join(", ")
            )
        }
    }
}
