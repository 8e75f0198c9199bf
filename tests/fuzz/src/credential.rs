#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| petstore_http::fuzz::credential(data));
