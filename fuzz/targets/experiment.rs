#![no_main]
libfuzzer_sys::fuzz_target!(init: sngp_fuzz::let_guards_catch(), |data: &[u8]| sngp_fuzz::models::experiment(data));
