#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| sngp_fuzz::server::infer_request(data));
