//! The model folder against everything that can happen to it: an error that names the cause,
//! never a panic and never a wrong model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    assert_sentence, contents, device, fit, refused, test_points, tiny_config, two_classes,
};
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use sha2::{Digest, Sha256};
use sngp::backbone::{Backbone, ResFfn, ResFfnConfig};
use sngp::method::{Deterministic, ExactGp, Method, Sngp};
use sngp::model::{Estimator, FitOptions, Model, load_any};
use sngp::{Error, Pass, Result};
use tempfile::TempDir;

const FILES: [&str; 4] = ["config.json", "labels.json", "manifest.json", "model.safetensors"];

/// A saved model in a folder of its own.
struct Saved {
    _root: TempDir,
    root: PathBuf,
    folder: PathBuf,
}

impl Saved {
    fn new(method: impl Into<Method>) -> Self {
        Self::of(&fit(&tiny_config(method), &two_classes()))
    }

    fn of(model: &Model<ResFfn>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("model");
        model.save(&folder).unwrap();
        Self { root: root.path().to_path_buf(), _root: root, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn load(&self) -> Result<Model<ResFfn>> {
        Model::load(&self.folder, &device())
    }

    /// Refused by both ways of loading, with an error that names the cause.
    fn assert_refused(&self, cause: &str) {
        let error = refused(cause, self.load());
        assert_sentence(&error, cause);
        let error = refused(cause, load_any(&self.folder, &device()));
        assert_sentence(&error, cause);
    }

    /// Writes the manifest that the changed files would have.
    fn recompute_hashes(&self) {
        let path = self.file("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for (name, hash) in manifest["files"].as_object_mut().unwrap() {
            let digest = Sha256::digest(fs::read(self.file(name)).unwrap());
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            *hash = Value::String(hex);
        }
        fs::write(path, serde_json::to_vec(&manifest).unwrap()).unwrap();
    }

    fn edit_json(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&fs::read(self.file(name)).unwrap()).unwrap();
        change(&mut value);
        fs::write(self.file(name), serde_json::to_vec(&value).unwrap()).unwrap();
    }

    fn edit_tensors(&self, change: impl FnOnce(&mut BTreeMap<String, RawTensor>)) {
        let path = self.file("model.safetensors");
        let bytes = fs::read(&path).unwrap();
        let mut tensors: BTreeMap<String, RawTensor> = SafeTensors::deserialize(&bytes)
            .unwrap()
            .tensors()
            .into_iter()
            .map(|(name, view)| (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec())))
            .collect();
        change(&mut tensors);
        let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
            (name, TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        });
        fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
        self.recompute_hashes();
    }
}

type RawTensor = (Dtype, Vec<usize>, Vec<u8>);

fn zeros(dtype: Dtype, shape: &[usize]) -> RawTensor {
    let size = if dtype == Dtype::F64 { 8 } else { 4 };
    (dtype, shape.to_vec(), vec![0; size * shape.iter().product::<usize>()])
}

#[test]
fn a_model_has_four_files() {
    let saved = Saved::new(Sngp {});
    assert!(contents(&saved.folder).keys().eq(FILES.iter()));
    assert!(saved.load().is_ok());
}

#[test]
fn a_truncated_file_is_refused() {
    for name in FILES {
        let saved = Saved::new(Deterministic {});
        let bytes = fs::read(saved.file(name)).unwrap();
        for keep in [0, 1, bytes.len() / 2, bytes.len() - 3] {
            fs::write(saved.file(name), &bytes[..keep]).unwrap();
            saved.assert_refused(name);
        }
    }
}

#[test]
fn a_flipped_byte_is_refused_wherever_it_is() {
    for name in ["config.json", "labels.json", "model.safetensors"] {
        let saved = Saved::new(Sngp {});
        let bytes = fs::read(saved.file(name)).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len().div_ceil(50)) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x20;
            fs::write(saved.file(name), damaged).unwrap();
            saved.assert_refused(name);
        }
    }
    // A manifest has no hash of its own: a change in it does not match the files any more, or
    // changes nothing (white space), but never gives another model.
    let saved = Saved::new(Sngp {});
    let expected = saved.load().unwrap().predict(&test_points()).unwrap();
    let bytes = fs::read(saved.file("manifest.json")).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x01;
        fs::write(saved.file("manifest.json"), damaged).unwrap();
        if let Ok(model) = saved.load() {
            assert_eq!(model.predict(&test_points()).unwrap(), expected, "byte {at}");
        }
    }
}

#[test]
fn a_hand_edited_config_is_refused() {
    let saved = Saved::new(Sngp {});
    saved.edit_json("config.json", |config| config["model"]["seed"] = 5.into());
    saved.assert_refused("changed or damaged");
}

#[test]
fn a_missing_file_is_refused() {
    for name in FILES {
        let saved = Saved::new(Deterministic {});
        fs::remove_file(saved.file(name)).unwrap();
        saved.assert_refused(name);
    }
    // Gone from the manifest as well.
    for name in ["config.json", "labels.json", "model.safetensors"] {
        let saved = Saved::new(Deterministic {});
        fs::remove_file(saved.file(name)).unwrap();
        saved.edit_json("manifest.json", |manifest| {
            manifest["files"].as_object_mut().unwrap().remove(name);
        });
        let error = refused(name, saved.load());
        assert_sentence(&error, name);
    }
    let error = refused("nothing", Model::<ResFfn>::load("/no/such/folder", &device()));
    assert_sentence(&error, "/no/such/folder");
}

#[test]
fn other_versions_and_formats_are_refused() {
    let saved = Saved::new(Deterministic {});
    saved.edit_json("manifest.json", |manifest| manifest["format_version"] = 3.into());
    saved.assert_refused("version is 3");
    // An older one is read.
    let saved = Saved::new(Deterministic {});
    saved.edit_json("manifest.json", |manifest| manifest["format_version"] = 1.into());
    saved.load().unwrap();
    let saved = Saved::new(Deterministic {});
    saved.edit_json("manifest.json", |manifest| manifest["format"] = "other".into());
    saved.assert_refused("other");
}

#[test]
fn tensors_that_do_not_fit_are_refused_whatever_the_manifest_says() {
    for method in [Method::from(Sngp {}), Deterministic {}.into(), ExactGp {}.into()] {
        let model = fit(&tiny_config(method.clone()), &two_classes());
        let names: Vec<String> = {
            let bytes = fs::read(Saved::of(&model).file("model.safetensors")).unwrap();
            let tensors = SafeTensors::deserialize(&bytes).unwrap();
            tensors.names().into_iter().map(str::to_string).collect()
        };
        for name in &names {
            let short = name.rsplit('.').next().unwrap();
            let refuse = |change: fn(&mut BTreeMap<String, RawTensor>, &str), cause: &str| {
                let saved = Saved::of(&model);
                saved.edit_tensors(|tensors| change(tensors, name));
                let error = refused(&format!("{method}, {name}, {cause}"), saved.load());
                assert!(matches!(error, Error::Corrupt { .. }), "{name}: {error}");
                assert_sentence(&error, "model.safetensors");
                error.to_string()
            };
            let message = refuse(|tensors, name| drop(tensors.remove(name)), "missing");
            assert!(message.contains(short) && message.contains("missing"), "{message}");
            refuse(
                |tensors, name| {
                    let (dtype, mut shape, _) = tensors[name].clone();
                    shape[0] += 1;
                    tensors.insert(name.to_string(), zeros(dtype, &shape));
                },
                "one row more",
            );
            refuse(
                |tensors, name| {
                    let (dtype, shape, _) = tensors[name].clone();
                    let axes = [shape.as_slice(), &[1]].concat();
                    tensors.insert(name.to_string(), zeros(dtype, &axes));
                },
                "one axis more",
            );
            refuse(
                |tensors, name| {
                    let (dtype, _, bytes) = tensors.get_mut(name).unwrap();
                    match *dtype {
                        Dtype::F64 => bytes[..8].copy_from_slice(&f64::NAN.to_le_bytes()),
                        _ => bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes()),
                    }
                },
                "NaN",
            );
            refuse(
                |tensors, name| {
                    let (dtype, shape, _) = tensors[name].clone();
                    let other = if dtype == Dtype::F64 { Dtype::F32 } else { Dtype::F64 };
                    tensors.insert(name.to_string(), zeros(other, &shape));
                },
                "another type",
            );
        }
        let saved = Saved::of(&model);
        saved.edit_tensors(|tensors| {
            tensors.insert("stowaway".to_string(), zeros(Dtype::F32, &[2]));
        });
        saved.assert_refused("stowaway");
    }
}

/// Precision and factors agree with each other, but not with the network's features.
#[test]
fn a_posterior_of_another_size_is_refused() {
    for (matrices, dimension) in [(1, 5), (2, 64)] {
        let saved = Saved::new(Sngp {});
        saved.edit_tensors(|tensors| {
            let packed = dimension * (dimension + 1) / 2;
            let name = |part: &str| format!("members.0.posterior.{part}");
            tensors.insert(name("precision"), zeros(Dtype::F64, &[matrices, packed]));
            tensors.insert(name("factors"), zeros(Dtype::F32, &[matrices, dimension, dimension]));
        });
        saved.assert_refused("posterior");
    }
}

/// A Gaussian-process head whose posterior was taken out everywhere.
#[test]
fn a_missing_posterior_is_refused() {
    let saved = Saved::new(Sngp {});
    saved.edit_json("config.json", |config| config["posteriors"] = serde_json::json!([]));
    saved.edit_tensors(|tensors| tensors.retain(|name, _| !name.contains("posterior")));
    saved.assert_refused("posterior");
}

#[test]
fn configurations_that_do_not_fit_are_refused_whatever_the_manifest_says() {
    type Change = fn(&mut Value);
    let changes: [(&str, &str, Change); 9] = [
        ("config.json", "outputs", |c| c["outputs"] = 3.into()),
        ("config.json", "method", |c| c["model"]["method"]["name"] = "no_such".into()),
        ("config.json", "unknown field", |c| c["surprise"] = 1.into()),
        ("config.json", "width", |c| c["backbone_config"]["width"] = 8.into()),
        ("config.json", "no width", |c| c["backbone_config"]["width"] = 0.into()),
        ("config.json", "hash", |c| c["posteriors"][0]["feature_map"] = "abc".into()),
        ("config.json", "ridge", |c| c["posteriors"][0]["ridge"] = (-1.0).into()),
        ("labels.json", "too many labels", |l| l.as_array_mut().unwrap().push("x".into())),
        ("labels.json", "no list", |l| *l = 5.into()),
    ];
    for (file, what, change) in changes {
        let saved = Saved::new(Sngp {});
        saved.edit_json(file, change);
        saved.recompute_hashes();
        let error = refused(what, saved.load());
        assert_sentence(&error, saved.folder.to_str().unwrap());
    }
}

/// The parts of a folder, to see that nothing came or went.
fn listing(folder: &Path) -> Vec<String> {
    contents(folder).into_keys().collect()
}

#[test]
fn saving_leaves_what_is_not_ours_alone() {
    let model = fit(&tiny_config(Deterministic {}), &two_classes());
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("thesis");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("chapter.txt"), "irreplaceable").unwrap();
    // Somebody else's manifest does not make it ours.
    for manifest in [None, Some("{}"), Some(r#"{"format": "other"}"#), Some("not json")] {
        if let Some(manifest) = manifest {
            fs::write(folder.join("manifest.json"), manifest).unwrap();
        }
        let before = contents(&folder);
        let error = refused("a foreign folder", model.save(&folder));
        assert!(matches!(error, Error::NotOurs(_)), "{error}");
        assert_sentence(&error, "thesis");
        assert_eq!(contents(&folder), before);
        assert_eq!(listing(root.path()), ["thesis"]);
    }
    // A file in the way is not a folder of ours either.
    let file = root.path().join("notes.txt");
    fs::write(&file, "irreplaceable").unwrap();
    refused("a file", model.save(&file));
    assert_eq!(fs::read(&file).unwrap(), b"irreplaceable");
    assert_eq!(listing(root.path()), ["notes.txt", "thesis"]);
}

#[test]
fn saving_over_a_model_replaces_it_and_leaves_nothing_behind() {
    let saved = Saved::new(Sngp {});
    assert_eq!(listing(&saved.root), ["model"]);
    let before = contents(&saved.folder);
    let other = fit(&tiny_config(Deterministic {}), &two_classes());
    other.save(&saved.folder).unwrap();
    assert_ne!(contents(&saved.folder), before);
    assert_eq!(contents(&saved.folder), crate::common::saved(&other));
    assert_eq!(listing(&saved.root), ["model"]);
    let loaded = saved.load().unwrap();
    assert_eq!(loaded.predict(&test_points()).unwrap(), other.predict(&test_points()).unwrap());

    // Into an empty folder, and below folders that are not there yet.
    let empty = saved.root.join("empty");
    fs::create_dir(&empty).unwrap();
    other.save(&empty).unwrap();
    other.save(saved.root.join("a/b/c")).unwrap();
    assert_eq!(contents(&saved.root.join("a/b/c")), contents(&empty));
    assert_eq!(listing(&saved.root.join("a/b")), ["c"]);
    assert_eq!(listing(&saved.root), ["a", "empty", "model"]);
}

/// Another backbone of the same tensors, to be told apart by name alone.
#[derive(Module, Debug)]
struct Other {
    lift: Linear,
}

impl sngp::spectral::SpectralLayers for Other {}

impl Backbone for Other {
    const NAME: &'static str = "other";
    type Config = ResFfnConfig;
    type Batch = Tensor<2>;

    fn build(config: &ResFfnConfig, device: &Device) -> Result<Self> {
        Ok(Self { lift: LinearConfig::new(config.inputs, config.width).init(device) })
    }

    fn forward(&self, batch: Tensor<2>, _: &mut Pass) -> Tensor<2> {
        self.lift.forward(batch)
    }

    fn width(config: &ResFfnConfig) -> usize {
        config.width
    }
}

#[test]
fn another_backbone_is_refused() {
    let saved = Saved::new(Deterministic {});
    let error = refused("another backbone", Model::<Other>::load(&saved.folder, &device()));
    assert_sentence(&error, "its backbone is `res_ffn`, not `other`");

    let estimator =
        Estimator::<Other>::new(tiny_config(Deterministic {}), crate::common::tiny_backbone());
    let model = estimator.fit(&two_classes(), FitOptions::new(&device())).unwrap();
    model.save(&saved.folder).unwrap();
    let error = refused("another backbone", saved.load());
    assert_sentence(&error, "its backbone is `other`, not `res_ffn`");
    // Not in the registry, so only who knows its type can load it.
    let error = refused("unknown backbone", load_any(&saved.folder, &device()));
    assert_sentence(&error, "res_ffn");
    assert!(Model::<Other>::load(&saved.folder, &device()).is_ok());
}
