//! What is between camera and object, and light.

mod brightness;
mod fog;
mod snow;
mod spatter;

pub(super) use brightness::Brightness;
pub(super) use fog::Fog;
pub(super) use snow::Snow;
pub(super) use spatter::Spatter;
