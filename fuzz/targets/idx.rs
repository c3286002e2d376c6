#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| sngp_fuzz::image_sets::idx(data));
