//! What sentence-transformers writes beside an encoder.

use std::path::PathBuf;

use serde_json::Value as Json;

use crate::backbone::Pooling;
use crate::files::read_json;
use crate::{Error, Result};

/// Where the pooling is described unless the list of modules says otherwise.
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
        if let Some((path, modules)) = json(MODULES)? {
            recipe.normalized = normalized(&modules).map_err(|why| Error::corrupt(path, why))?;
        }
        let config = json(POOLING)?;
        if let Some((path, config)) = &config {
            recipe.pooling = pooling(config).map_err(|why| Error::corrupt(path, why))?;
        }
        if let Some((path, prompts)) = json(PROMPTS)? {
            recipe.prompt = prompt(&prompts).map_err(|why| Error::corrupt(path, why))?;
        }
        if let Some((path, config)) = &config
            && config["include_prompt"] == false
            && !recipe.prompt.is_empty()
        {
            let reason = "a prompt that is left out of the pooling is not supported".to_string();
            return Err(Error::corrupt(path, reason));
        }
        Ok(recipe)
    }
}

/// Whether vectors are divided by their lengths: what comes after the transformer.
fn normalized(modules: &Json) -> Result<bool, String> {
    let mut normalized = false;
    for module in modules.as_array().ok_or("it is no list of modules")? {
        let kind = module["type"].as_str().unwrap_or_default();
        match kind.rsplit('.').next().unwrap_or_default() {
            "Transformer" => {}
            "Pooling" => match module["path"].as_str() {
                None | Some("1_Pooling") => {}
                Some(other) => {
                    return Err(format!("the pooling is in {other}, and read from {POOLING} only"));
                }
            },
            "Normalize" => normalized = true,
            other => {
                return Err(format!(
                    "the module {other} comes after the transformer and is not supported; an ONNX \
                     file that it was exported with can be, by the name of its output"
                ));
            }
        }
    }
    Ok(normalized)
}

/// The prompt that is meant where nobody names one.
fn prompt(config: &Json) -> Result<String, String> {
    match &config["default_prompt_name"] {
        Json::Null => Ok(String::new()),
        name => name
            .as_str()
            .and_then(|name| config["prompts"][name].as_str())
            .map(str::to_string)
            .ok_or_else(|| format!("it has no prompt called {name}")),
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
    match &config[WAY] {
        Json::Null => {}
        Json::String(way) => ways.push(way),
        Json::Array(several) => ways.extend(several.iter().map(|way| way.as_str().unwrap_or("?"))),
        other => return Err(format!("`{WAY}` is {other}")),
    }
    match ways[..] {
        ["pooling_mode_mean_tokens" | "mean"] | [] => Ok(Pooling::Mean),
        ["pooling_mode_cls_token" | "cls"] => Ok(Pooling::FirstToken),
        _ => Err(format!("{} is not supported", ways.join(", "))),
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
            (POOLING, r#"{"pooling_mode": ["cls", "mean"]}"#, "cls, mean"),
            (POOLING, r#"{"pooling_mode": 3}"#, "pooling_mode"),
            (MODULES, r#"[{"type": "sentence_transformers.models.Dense"}]"#, "Dense"),
            (MODULES, r#"[{"type": "x.Pooling", "path": "2_Pooling"}]"#, "2_Pooling"),
            (MODULES, r#"{"type": "x.Pooling"}"#, "no list"),
            (PROMPTS, r#"{"prompts": {}, "default_prompt_name": "query"}"#, "query"),
            (PROMPTS, "{", PROMPTS),
        ] {
            let error = recipe(&[(file, text)]).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
