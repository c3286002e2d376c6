/// Labelled images of one size, as bytes.
///
/// ```
/// use sngp_lab::dataset::image::Images;
///
/// let grey = Images {
///     pixels: vec![0, 50, 100, 150, 7, 7, 7, 7],
///     channels: 1,
///     height: 2,
///     width: 2,
///     labels: vec![1, 0],
///     names: vec!["flat".into(), "steep".into()],
/// };
/// assert_eq!(grey.image(0), [0, 50, 100, 150]);
/// assert_eq!(grey.to_rgb().image(1), [7; 12]);
/// assert_eq!(grey.select(&[1]).labels, [0]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// Bytes `[n, channels, height, width]`.
    pub pixels: Vec<u8>,
    /// 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// Rows of an image.
    pub height: usize,
    /// Columns of an image.
    pub width: usize,
    /// The class of every image, an index into `names`.
    pub labels: Vec<usize>,
    /// The names of the classes.
    pub names: Vec<String>,
}

impl Images {
    /// How many images there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Bytes of one image.
    pub fn image_len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// The bytes `[channels, height, width]` of one image.
    ///
    /// # Panics
    ///
    /// Where there is no such image.
    pub fn image(&self, index: usize) -> &[u8] {
        &self.pixels[index * self.image_len()..][..self.image_len()]
    }

    /// The images of these indices, in this order.
    ///
    /// # Panics
    ///
    /// Where one of them does not exist.
    pub fn select(&self, indices: &[usize]) -> Self {
        let mut pixels = Vec::with_capacity(indices.len() * self.image_len());
        indices.iter().for_each(|&index| pixels.extend_from_slice(self.image(index)));
        let labels = indices.iter().map(|&index| self.labels[index]).collect();
        Self { pixels, labels, names: self.names.clone(), ..*self }
    }

    /// The same images with three channels: grey ones get three equal channels.
    pub fn to_rgb(&self) -> Self {
        if self.channels != 1 {
            return self.clone();
        }
        let pixels = (0..self.len()).flat_map(|index| self.image(index).repeat(3)).collect();
        Self {
            pixels,
            channels: 3,
            labels: self.labels.clone(),
            names: self.names.clone(),
            ..*self
        }
    }
}
