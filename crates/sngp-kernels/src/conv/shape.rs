//! The sizes of a convolution.

/// A convolution of channels-last images `[batch, height, width, channels]` with square filters
/// `[filters, channels, kernel, kernel]`, zeros around the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvShape {
    pub batch: usize,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub filters: usize,
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
}

impl ConvShape {
    /// `floor((size + 2 padding - kernel) / stride) + 1`, or none if the kernel does not fit.
    fn output_size(&self, size: usize) -> usize {
        match (size + 2 * self.padding).checked_sub(self.kernel) {
            Some(room) => room / self.stride + 1,
            None => 0,
        }
    }

    pub fn output_height(&self) -> usize {
        self.output_size(self.height)
    }

    pub fn output_width(&self) -> usize {
        self.output_size(self.width)
    }

    /// Output pixels of one image.
    pub fn image_pixels(&self) -> usize {
        self.output_height() * self.output_width()
    }

    /// Output pixels of the batch.
    pub fn pixels(&self) -> usize {
        self.batch * self.image_pixels()
    }

    /// Inputs that an output pixel sees: `kernel * kernel * channels`.
    pub fn depth(&self) -> usize {
        self.kernel * self.kernel * self.channels
    }

    /// Values of one input image.
    pub fn image_len(&self) -> usize {
        self.height * self.width * self.channels
    }

    pub fn input_len(&self) -> usize {
        self.batch * self.image_len()
    }

    pub fn output_len(&self) -> usize {
        self.pixels() * self.filters
    }

    pub fn weight_len(&self) -> usize {
        self.filters * self.depth()
    }

    /// Multiply-adds of the plain sum.
    pub fn work(&self) -> usize {
        self.pixels() * self.depth() * self.filters
    }

    /// The time of the plain sum on one core, roughly.
    pub(crate) fn nanoseconds(&self) -> usize {
        self.work() / 32
    }

    /// Whether the output pixels are the input pixels, so that nothing has to be gathered.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.padding == 0
    }

    /// Whether Winograd's method applies: 3x3, every pixel, output as large as the input.
    pub fn is_same_3x3(&self) -> bool {
        self.kernel == 3 && self.stride == 1 && self.padding == 1
    }

    /// The convolution that the gradient of the input is, where the output is as large as the
    /// input: channels and filters change places.
    pub fn swapped(&self) -> Self {
        Self { channels: self.filters, filters: self.channels, ..*self }
    }
}
