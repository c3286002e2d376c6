//! What sentence-transformers writes beside an encoder.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::backbone::Pooling;
use crate::files::read_json;
use crate::{Error, Result};

const POOLING: &str = "1_Pooling/config.json";
const MODULES: &str = "modules.json";
const PROMPTS: &str = "config_sentence_transformers.json";

/// How a sentence becomes one vector, as the files beside an encoder say it: the mean of its tokens
/// and no more where they say nothing.
///
/// ```
/// use sngp::backbone::Pooling;
/// use sngp::text::SentenceRecipe;
///
/// let recipe = SentenceRecipe::read(|_name| None)?;
/// assert_eq!(recipe.pooling, Pooling::Mean);
/// # Ok::<(), sngp::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentenceRecipe {
    /// How the vectors of tokens become one.
    pub pooling: Pooling,
    /// Whether it is divided by its length.
    pub normalized: bool,
    /// What every sentence begins with.
    pub prompt: String,
}

impl SentenceRecipe {
    /// The files that are looked for.
    pub const FILES: [&str; 3] = [POOLING, MODULES, PROMPTS];

    /// Reads the files that `find` finds.
    pub fn read(find: impl Fn(&str) -> Option<PathBuf>) -> Result<Self> {
        let json = |name: &str| match find(name) {
            Some(path) => read_json::<Json>(&path).map(|json| Some((path, json))),
            None => Ok(None),
        };
        let mut recipe = Self::default();
        if let Some((path, config)) = json(POOLING)? {
            let refused = |modes: String| Error::corrupt(path, format!("{modes} is not supported"));
            recipe.pooling = pooling(&config).map_err(refused)?;
        }
        if let Some((path, modules)) = json(MODULES)? {
            for module in modules.as_array().into_iter().flatten() {
                let kind = module["type"].as_str().unwrap_or_default();
                match kind.rsplit('.').next().unwrap_or_default() {
                    "Transformer" | "Pooling" => {}
                    "Normalize" => recipe.normalized = true,
                    other => {
                        let reason = format!(
                            "the module {other} comes after the transformer and is not supported; an \
                             ONNX file that it was exported with can be, by the name of its output"
                        );
                        return Err(Error::corrupt(path, reason));
                    }
                }
            }
        }
        if let Some((_, config)) = json(PROMPTS)?
            && let Some(name) = config["default_prompt_name"].as_str()
        {
            recipe.prompt = config["prompts"][name].as_str().unwrap_or_default().to_string();
        }
        Ok(recipe)
    }
}

/// By one flag a way, or by the way's name, as newer versions write it.
fn pooling(config: &Json) -> Result<Pooling, String> {
    const WAY: &str = "pooling_mode";
    let flags = config.as_object().into_iter().flatten();
    let mut ways: Vec<&str> = flags
        .filter(|(name, value)| name.starts_with(WAY) && **value == true)
        .map(|(name, _)| name.as_str())
        .collect();
    ways.extend(config[WAY].as_str());
    match ways[..] {
        ["pooling_mode_mean_tokens" | "mean"] | [] => Ok(Pooling::Mean),
        ["pooling_mode_cls_token" | "cls"] => Ok(Pooling::FirstToken),
        _ => Err(ways.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(files: &[(&str, &str)]) -> Result<SentenceRecipe> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        SentenceRecipe::read(|name| Some(folder.path().join(name)).filter(|path| path.is_file()))
    }

    #[test]
    fn files_are_believed() {
        let bge = recipe(&[
            (POOLING, r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#),
            (MODULES, r#"[{"type": "sentence_transformers.models.Normalize"}]"#),
        ]);
        let expected = SentenceRecipe {
            pooling: Pooling::FirstToken,
            normalized: true,
            prompt: String::new(),
        };
        assert_eq!(bge.unwrap(), expected);
        let newer = recipe(&[(POOLING, r#"{"pooling_mode": "cls"}"#)]).unwrap();
        assert_eq!(newer.pooling, Pooling::FirstToken);
        let prompts = r#"{"prompts": {"query": "query: ", "other": "-"}, "default_prompt_name":"#;
        let with =
            |name: &str| recipe(&[(PROMPTS, &format!("{prompts} {name}}}"))]).unwrap().prompt;
        assert_eq!(with("\"query\""), "query: ");
        assert_eq!(with("null"), "");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (file, text, hint) in [
            (POOLING, r#"{"pooling_mode_max_tokens": true}"#, "max_tokens"),
            (POOLING, r#"{"pooling_mode": "lasttoken"}"#, "lasttoken"),
            (
                POOLING,
                r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}"#,
                "cls_token, ",
            ),
            (MODULES, r#"[{"type": "sentence_transformers.models.Dense"}]"#, "Dense"),
            (PROMPTS, "{", PROMPTS),
        ] {
            let error = recipe(&[(file, text)]).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
