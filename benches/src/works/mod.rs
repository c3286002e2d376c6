//! The works, each a closure that does it once.

mod encoder;
mod posterior;
mod res_ffn;
mod training;
mod wide_resnet;

use anyhow::Result;

/// Does a work once.
pub type Work = Box<dyn FnMut() -> Result<()>>;

/// Prepares a work.
type Make = fn() -> Result<Work>;

/// All works by their names.
pub const WORKS: [(&str, Make); 16] = [
    ("resffn_train_b128", res_ffn::train),
    ("resffn_predict_b1", || res_ffn::predict(1)),
    ("resffn_predict_b256", || res_ffn::predict(256)),
    ("wrn28_10_predict_b1", || wide_resnet::predict(1, true)),
    ("wrn28_10_predict_b16", || wide_resnet::predict(16, true)),
    ("wrn28_10_deterministic_b1", || wide_resnet::predict(1, false)),
    ("wrn28_10_deterministic_b16", || wide_resnet::predict(16, false)),
    ("wrn16_4_train_b32", wide_resnet::train),
    ("minilm_forward_32x32", || encoder::forward(encoder::minilm(), 32, 32)),
    ("minilm_train_32x32", encoder::train),
    ("minilm_forward_1x12", || encoder::forward(encoder::minilm(), 1, 12)),
    ("bert_base_forward_1x32", || encoder::forward(encoder::bert_base(), 1, 32)),
    ("minilm_sngp_1x12", || encoder::predict(true)),
    ("minilm_deterministic_1x12", || encoder::predict(false)),
    ("laplace_update_256x1024", posterior::update),
    ("cholesky_1024", posterior::finish),
];
