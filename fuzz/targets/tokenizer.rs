#![no_main]
// The library catches panics of the tokenizer's parser, which libFuzzer's hook would not let it.
libfuzzer_sys::fuzz_target!(
    init: drop(std::panic::take_hook()),
    |data: &[u8]| sngp_fuzz::models::tokenizer(data)
);
