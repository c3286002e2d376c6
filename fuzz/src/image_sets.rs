//! Image sets in the formats they are published in.

use sngp_lab::dataset::image::{
    Cifar100Labels, DIGITS, Images, Result, Split, read_cifar10, read_cifar100, read_idx, read_svhn,
};

use crate::with_file;

fn check(images: Result<Images>) {
    if let Ok(images) = images {
        let size = images.channels * images.height * images.width;
        assert_eq!(images.pixels.len(), images.len() * size);
        assert!(images.labels.iter().all(|&label| label < images.names.len()));
    }
}

/// MNIST's files: the same bytes as images, and as labels.
pub fn idx(data: &[u8]) {
    with_file("images", data, |images| {
        check(read_idx(images, images, &DIGITS));
        // One image of one pixel, so that the labels are looked at.
        let one = [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 7];
        with_file("one", &one, |one| check(read_idx(one, images, &DIGITS)));
        with_file("label", &[0, 0, 8, 1, 0, 0, 0, 1, 7], |label| {
            check(read_idx(images, label, &DIGITS));
        });
    });
}

/// SVHN's MATLAB files.
pub fn mat(data: &[u8]) {
    with_file("test_32x32.mat", data, |path| check(read_svhn(path)));
}

/// CIFAR's archives, and the batches in them.
pub fn cifar(data: &[u8]) {
    with_file("cifar.tar.gz", data, |path| {
        check(read_cifar10(path, Split::Test));
        check(read_cifar100(path, Split::Test, Cifar100Labels::Fine));
    });
    with_file("test_batch.bin", data, |path| {
        let folder = path.parent().expect("a folder");
        let names = DIGITS.join("\n");
        std::fs::write(folder.join("batches.meta.txt"), names).expect("a file to write to");
        check(read_cifar10(folder, Split::Test));
    });
}
