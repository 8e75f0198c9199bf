#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| petstore_json::fuzz::body(data));
