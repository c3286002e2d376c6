use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sngp_records::image::Picture;

use super::error::{ImageError, Result};
use super::images::Images;
use super::source::io_error;

/// Reads a folder with a sub-folder of PNG and JPEG files a class, as `[3, side, side]`.
///
/// Without `names` the classes are the sub-folders in sorted order. Give a test set the names of
/// its training set: a class without test images would otherwise shift those after it. Images are
/// sorted by class, then by file name; hidden files and folders are skipped, as are files beside
/// the class folders. See [`read_image_files`] for what becomes of an image.
///
/// # Errors
///
/// Where there is no class folder or one without images, one is none of `names`, or a file in it
/// is no image.
///
/// ```
/// use sngp_lab::dataset::image::read_image_folder;
///
/// let folder = std::env::temp_dir().join(format!("sngp-folder-{}", std::process::id()));
/// for class in ["dark", "light"] {
///     std::fs::create_dir_all(folder.join(class))?;
///     image::RgbImage::new(40, 30).save(folder.join(class).join("1.png"))?;
/// }
/// let images = read_image_folder(&folder, None, 32)?;
/// assert_eq!((images.len(), images.height, images.width), (2, 32, 32));
/// assert_eq!(images.names, ["dark", "light"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_image_folder(
    folder: impl AsRef<Path>,
    names: Option<&[String]>,
    side: usize,
) -> Result<Images> {
    let folder = folder.as_ref();
    let classes: Vec<PathBuf> = entries(folder)?.into_iter().filter(|path| path.is_dir()).collect();
    if classes.is_empty() {
        return Err(ImageError::Empty { path: folder.to_owned(), what: "class folder" });
    }
    let names = match names {
        Some(names) => names.to_vec(),
        None => classes.iter().map(|path| name(path)).collect(),
    };
    let (mut paths, mut labels) = (Vec::new(), Vec::new());
    for class in classes {
        let files = entries(&class)?;
        if files.is_empty() {
            return Err(ImageError::Empty { path: class, what: "image" });
        }
        let label = names.iter().position(|known| *known == name(&class));
        let label = label.ok_or(ImageError::UnknownClass { path: class, known: names.len() })?;
        labels.resize(labels.len() + files.len(), label);
        paths.extend(files);
    }
    read_image_files(&paths, &labels, &names, side)
}

/// Reads PNG and JPEG files with their labels, e.g. of a table of paths, as `[3, side, side]`.
///
/// An image is turned upright as its EXIF data says, its largest centred square is cut out (so
/// that nothing is stretched) and scaled to `side`; grey is copied to all three channels and
/// transparency dropped.
///
/// # Errors
///
/// Where a file is no image or a gigantic one, or a label stands for none of `names`. Of several
/// bad files the first of the list is named.
///
/// ```
/// use sngp_lab::dataset::image::read_image_files;
///
/// let path = std::env::temp_dir().join(format!("sngp-file-{}.png", std::process::id()));
/// image::GrayImage::from_pixel(9, 9, image::Luma([50])).save(&path)?;
/// let images = read_image_files(&[path.clone()], &[1], &["no", "yes"], 2)?;
/// assert_eq!(images.image(0), [50; 12]);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_image_files(
    paths: &[PathBuf],
    labels: &[usize],
    names: &[impl AsRef<str>],
    side: usize,
) -> Result<Images> {
    if paths.len() != labels.len() {
        return Err(ImageError::UnequalLists { paths: paths.len(), labels: labels.len() });
    }
    let pixel_side = u32::try_from(side).ok().filter(|&side| side > 0).ok_or(ImageError::NoSide)?;
    if let Some((path, &label)) = paths.iter().zip(labels).find(|(_, label)| **label >= names.len())
    {
        return Err(ImageError::UnknownLabel { path: path.clone(), label, classes: names.len() });
    }
    // All results first: rayon's own short cut would name whichever bad file came up first.
    let read = |path: &PathBuf| Ok(Picture::read(path)?.square(pixel_side));
    let decoded: Vec<Result<Vec<u8>>> = paths.par_iter().map(read).collect();
    let decoded: Vec<Vec<u8>> = decoded.into_iter().collect::<Result<_>>()?;
    Ok(Images {
        pixels: decoded.concat(),
        channels: 3,
        height: side,
        width: side,
        labels: labels.to_vec(),
        names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
    })
}

/// What a folder holds, sorted by name, without what is hidden.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        paths.push(entry.map_err(io_error(folder))?.path());
    }
    paths.retain(|path| !name(path).starts_with('.'));
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{GrayImage, ImageFormat, Luma};

    use super::super::testing::{Scratch, assert_says};
    use super::*;

    fn png(grey: u8) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let image = GrayImage::from_pixel(3, 3, Luma([grey]));
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    fn folder() -> Scratch {
        let folder = Scratch::new().with("b/2.png", png(2)).with("b/10.png", png(10));
        let folder = folder.with("a/x.PNG", png(1)).with("a/.DS_Store", "junk");
        folder.with(".cache/x.png", "junk").with("README.md", "beside")
    }

    #[test]
    fn classes_and_files_are_sorted_and_hidden_ones_skipped() {
        let images = read_image_folder(folder(), None, 1).unwrap();
        assert_eq!(images.names, ["a", "b"]);
        assert_eq!(images.labels, [0, 1, 1]);
        assert_eq!(images.pixels, [1, 1, 1, 10, 10, 10, 2, 2, 2]);
    }

    #[test]
    fn given_names_keep_their_numbers() {
        let names = ["a", "aa", "b"].map(String::from);
        let images = read_image_folder(folder(), Some(&names), 1).unwrap();
        assert_eq!(images.labels, [0, 2, 2]);
        let unknown = read_image_folder(folder(), Some(&names[..2]), 1);
        assert_says(unknown, "/b is none of the 2 known classes");
    }

    #[test]
    fn wrong_folders_are_named() {
        let text = folder().with("a/notes.txt", "hello").with("b/bad.png", "hello");
        assert_says(read_image_folder(&text, None, 1), "a/notes.txt is no usable image: ");
        let nested = folder().with("a/more/x.png", png(1));
        assert_says(read_image_folder(&nested, None, 1), "a/more");
        assert_says(read_image_folder(Scratch::new(), None, 1), "holds no class folder");
        let empty = folder().with("c/.hidden", "");
        assert_says(read_image_folder(&empty, None, 1), "/c holds no image");
        assert_says(read_image_folder("/nowhere", None, 1), "cannot read /nowhere");
    }

    #[test]
    fn wrong_lists_are_refused() {
        let paths = [folder().path.join("a/x.PNG")];
        let read = |labels: &[usize], side| read_image_files(&paths, labels, &["a"], side);
        assert_says(read(&[], 1), "1 paths but 0 labels");
        assert_says(read(&[1], 1), "x.PNG: label 1 is none of the 1 classes");
        assert_says(read(&[0], 0), "images of side 0");
    }
}
