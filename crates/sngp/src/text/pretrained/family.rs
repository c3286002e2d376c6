//! Families of encoders: the same network under different names.

/// What sets a family apart: how its weights are called, and what goes into the first vectors.
#[derive(Debug)]
pub(super) struct Family {
    /// What `model_type` calls it.
    pub kinds: &'static [&'static str],
    /// Models with a head of their own keep the encoder under this name.
    pub prefix: &'static str,
    pub names: Names,
    pub positions: Positions,
    /// Whether there is a table of token types.
    pub has_types: bool,
    /// Buckets of the relative position bias, where there is one.
    pub relative_buckets: Option<usize>,
    /// Keys of `config.json` that others call differently: theirs, and the usual ones.
    pub keys: &'static [(&'static str, &'static str)],
}

/// Where a family keeps the weights of a layer.
#[derive(Debug)]
pub(super) struct Names {
    pub layers: &'static str,
    pub query: &'static str,
    pub key: &'static str,
    pub value: &'static str,
    pub context: &'static str,
    pub attention_norm: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub output_norm: &'static str,
}

/// The row of the table of positions that the first token has.
#[derive(Debug)]
pub(super) enum Positions {
    /// The first one.
    FromZero,
    /// The one behind the padding token's id, which is this where the configuration has none.
    BehindPadding(usize),
    /// A fixed one, whatever the configuration says.
    From(usize),
}

const BERT_NAMES: Names = Names {
    layers: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    context: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    output_norm: "output.LayerNorm",
};

/// All that can be read.
pub(super) const FAMILIES: [Family; 4] = [
    Family {
        kinds: &["bert"],
        prefix: "bert",
        names: BERT_NAMES,
        positions: Positions::FromZero,
        has_types: true,
        relative_buckets: None,
        keys: &[],
    },
    Family {
        kinds: &["roberta", "xlm-roberta", "camembert"],
        prefix: "roberta",
        names: BERT_NAMES,
        positions: Positions::BehindPadding(1),
        has_types: true,
        relative_buckets: None,
        keys: &[],
    },
    Family {
        kinds: &["distilbert"],
        prefix: "distilbert",
        names: Names {
            layers: "transformer.layer",
            query: "attention.q_lin",
            key: "attention.k_lin",
            value: "attention.v_lin",
            context: "attention.out_lin",
            attention_norm: "sa_layer_norm",
            up: "ffn.lin1",
            down: "ffn.lin2",
            output_norm: "output_layer_norm",
        },
        positions: Positions::FromZero,
        has_types: false,
        relative_buckets: None,
        keys: &[
            ("dim", "hidden_size"),
            ("n_layers", "num_hidden_layers"),
            ("n_heads", "num_attention_heads"),
            ("hidden_dim", "intermediate_size"),
            ("activation", "hidden_act"),
            ("dropout", "hidden_dropout_prob"),
            ("attention_dropout", "attention_probs_dropout_prob"),
        ],
    },
    Family {
        kinds: &["mpnet"],
        prefix: "mpnet",
        names: Names {
            query: "attention.attn.q",
            key: "attention.attn.k",
            value: "attention.attn.v",
            context: "attention.attn.o",
            attention_norm: "attention.LayerNorm",
            ..BERT_NAMES
        },
        // Behind the padding's, which the published code takes to be 1.
        positions: Positions::From(2),
        has_types: false,
        // The published code takes this number for granted, whatever the configuration says.
        relative_buckets: Some(32),
        keys: &[],
    },
];

/// The `model_type`s that can be read.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.kinds.iter().copied())
}
