//! Where published data sets come from, and what they must be.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use flate2::bufread::GzDecoder;
use sngp::{Error, Result};

/// A published set.
#[derive(Debug)]
pub struct Origin {
    /// What it is called here.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// What may be done with it, as the publisher says.
    pub licence: &'static str,
    /// The publisher's page.
    pub page: &'static str,
    /// Its files.
    pub files: &'static [Published],
}

/// A file of a published set.
#[derive(Debug)]
pub struct Published {
    /// Its address, of a fixed revision where there are several.
    pub url: &'static str,
    /// Its size.
    pub bytes: u64,
    /// Its hash.
    pub sha256: &'static str,
    /// Where it belongs in a folder of data sets.
    pub path: &'static str,
    /// The folder in it that is unpacked, where it is an archive.
    pub unpacked: Option<&'static str>,
}

impl Origin {
    /// The set of a name.
    ///
    /// ```
    /// use sngp_lab::dataset::Origin;
    ///
    /// let clinc = Origin::find("clinc").unwrap();
    /// assert_eq!(clinc.files[0].path, "clinc/data_full.json");
    /// assert!(Origin::find("imagenet").is_err());
    /// ```
    pub fn find(name: &str) -> Result<&'static Self> {
        ORIGINS.iter().find(|origin| origin.name == name).ok_or_else(|| {
            let known = ORIGINS.iter().map(|origin| origin.name).collect::<Vec<_>>().join(", ");
            Error::Data(format!("there is no data set `{name}`; known: {known}"))
        })
    }

    /// What has to be fetched.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

impl Published {
    /// Whether it was unpacked into a folder before.
    pub fn is_unpacked(&self, folder: &Path) -> bool {
        self.unpacked.is_some_and(|unpacked| folder.join(unpacked).is_dir())
    }

    /// Unpacks the archive, which is thrown away then. The folder in it is whole or not there.
    pub fn unpack(&self, folder: &Path) -> Result<()> {
        let Some(unpacked) = self.unpacked else { return Ok(()) };
        let path = folder.join(self.path);
        let at = Error::io(&path);
        let unpack = || {
            let file = BufReader::new(File::open(&path)?);
            let beside = tempfile::tempdir_in(folder)?;
            // Names that lead out of the folder are passed over.
            if self.path.ends_with(".gz") {
                tar::Archive::new(GzDecoder::new(file)).unpack(beside.path())?;
            } else {
                tar::Archive::new(file).unpack(beside.path())?;
            }
            fs::rename(beside.path().join(unpacked), folder.join(unpacked))?;
            fs::remove_file(&path)
        };
        unpack().map_err(at)
    }
}

/// All sets that can be fetched. Sizes and hashes are of the files of the named revisions; those of
/// archives are the ones that TensorFlow Datasets checks.
pub const ORIGINS: [Origin; 7] = [
    Origin {
        name: "clinc",
        summary: "CLINC-150: intents of a voice assistant, with sentences out of scope",
        licence: "CC BY 3.0",
        page: "https://github.com/clinc/oos-eval",
        files: &[Published {
            url: "https://raw.githubusercontent.com/clinc/oos-eval/828f8093932c8fe6ca7936c3d2e52903b1c523de/data/data_full.json",
            bytes: 2_495_390,
            sha256: "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
            path: "clinc/data_full.json",
            unpacked: None,
        }],
    },
    Origin {
        name: "banking77",
        summary: "BANKING77: 77 intents of a bank's customers",
        licence: "CC BY 4.0",
        page: "https://github.com/PolyAI-LDN/task-specific-datasets",
        files: &[
            Published {
                url: "https://raw.githubusercontent.com/PolyAI-LDN/task-specific-datasets/57ec275d8078af65b7731c2a98be812d844a6d6b/banking_data/train.csv",
                bytes: 839_073,
                sha256: "b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b",
                path: "banking77/train.csv",
                unpacked: None,
            },
            Published {
                url: "https://raw.githubusercontent.com/PolyAI-LDN/task-specific-datasets/57ec275d8078af65b7731c2a98be812d844a6d6b/banking_data/test.csv",
                bytes: 239_961,
                sha256: "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d",
                path: "banking77/test.csv",
                unpacked: None,
            },
        ],
    },
    Origin {
        name: "snips",
        summary: "SNIPS: seven intents of a voice assistant",
        licence: "CC0 1.0",
        page: "https://github.com/MiuLab/SlotGated-SLU",
        files: &[
            Published {
                url: "https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/61f0307c729b1fad479ef1de94aa5ac5dee601b0/data/snips/test/label",
                bytes: 10_120,
                sha256: "37a26da3ad079bb41c42c85a3a8f827eb47efec4c5917ce5d08f4b2736e4f830",
                path: "snips/test.label",
                unpacked: None,
            },
            Published {
                url: "https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/61f0307c729b1fad479ef1de94aa5ac5dee601b0/data/snips/test/seq.in",
                bytes: 33_121,
                sha256: "c1e341173fcea2951a8ca371956a6f81c76de87b9583c62eb87edd6158fa3a7c",
                path: "snips/test.seq.in",
                unpacked: None,
            },
            Published {
                url: "https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/61f0307c729b1fad479ef1de94aa5ac5dee601b0/data/snips/train/label",
                bytes: 184_532,
                sha256: "bfd7df6cf9dd76c5da5d8b61bc85f90386197bdd3d7510c1d324c051537b962f",
                path: "snips/train.label",
                unpacked: None,
            },
            Published {
                url: "https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/61f0307c729b1fad479ef1de94aa5ac5dee601b0/data/snips/train/seq.in",
                bytes: 617_079,
                sha256: "04ad1e3f2121d83c6478f9a4b17d2dbdc21d06d6127f73cb7af835ed733f9855",
                path: "snips/train.seq.in",
                unpacked: None,
            },
            Published {
                url: "https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/61f0307c729b1fad479ef1de94aa5ac5dee601b0/data/snips/valid/label",
                bytes: 9_900,
                sha256: "9c1dd041216f647bcfca838aaf1a48eb5781e4404256d31ff07cd38a5436c52f",
                path: "snips/valid.label",
                unpacked: None,
            },
            Published {
                url: "https://raw.githubusercontent.com/MiuLab/SlotGated-SLU/61f0307c729b1fad479ef1de94aa5ac5dee601b0/data/snips/valid/seq.in",
                bytes: 33_629,
                sha256: "64e0f6d8ad8aab3a3828164d7d53731a0993d3ca1aed437ceaca6d3d568d410e",
                path: "snips/valid.seq.in",
                unpacked: None,
            },
        ],
    },
    Origin {
        name: "cifar10",
        summary: "CIFAR-10: 60,000 images of ten classes, binary version",
        licence: "none stated",
        page: "https://www.cs.toronto.edu/~kriz/cifar.html",
        files: &[Published {
            url: "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            bytes: 170_052_171,
            sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            path: "cifar-10-binary.tar.gz",
            unpacked: Some("cifar-10-batches-bin"),
        }],
    },
    Origin {
        name: "cifar100",
        summary: "CIFAR-100: 60,000 images of a hundred classes, binary version",
        licence: "none stated",
        page: "https://www.cs.toronto.edu/~kriz/cifar.html",
        files: &[Published {
            url: "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            bytes: 168_513_733,
            sha256: "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
            path: "cifar-100-binary.tar.gz",
            unpacked: Some("cifar-100-binary"),
        }],
    },
    Origin {
        name: "svhn",
        summary: "SVHN: 26,032 cropped digits of house numbers, the test set",
        licence: "for non-commercial use",
        page: "http://ufldl.stanford.edu/housenumbers/",
        files: &[Published {
            url: "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
            bytes: 64_275_384,
            sha256: "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
            path: "svhn/test_32x32.mat",
            unpacked: None,
        }],
    },
    Origin {
        name: "cifar10c",
        summary: "CIFAR-10-C: the test images of CIFAR-10, corrupted in fifteen ways and four more",
        licence: "CC BY 4.0",
        page: "https://zenodo.org/records/2535967",
        files: &[Published {
            url: "https://zenodo.org/record/2535967/files/CIFAR-10-C.tar",
            bytes: 2_918_471_680,
            sha256: "c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
            path: "CIFAR-10-C.tar",
            unpacked: Some("CIFAR-10-C"),
        }],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn every_origin_is_complete_and_alone() {
        let mut paths = HashSet::new();
        for origin in &ORIGINS {
            assert!(origin.page.starts_with("http") && !origin.licence.is_empty());
            for file in origin.files {
                let digits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
                assert!(file.sha256.len() == 64 && file.sha256.bytes().all(digits), "{}", file.url);
                assert!(file.bytes > 0 && paths.insert(file.path), "{}", file.path);
                assert_eq!(file.path.contains(".tar"), file.unpacked.is_some(), "{}", file.path);
            }
        }
    }

    fn archive(folder: &Path, name: &str) -> Published {
        let file = File::create(folder.join("set.tar.gz")).unwrap();
        let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(3);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, &b"abc"[..]).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        let unpacked = Some("set");
        Published { url: "", bytes: 0, sha256: "", path: "set.tar.gz", unpacked }
    }

    #[test]
    fn an_archive_is_unpacked_whole_and_thrown_away() {
        let folder = tempfile::tempdir().unwrap();
        let published = archive(folder.path(), "set/part.bin");
        assert!(!published.is_unpacked(folder.path()));
        published.unpack(folder.path()).unwrap();
        assert!(published.is_unpacked(folder.path()));
        assert_eq!(fs::read(folder.path().join("set/part.bin")).unwrap(), b"abc");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left lying about");
        let folder = tempfile::tempdir().unwrap();
        let other = archive(folder.path(), "elsewhere/part.bin");
        assert!(other.unpack(folder.path()).is_err());
        assert!(!other.is_unpacked(folder.path()));
    }
}
