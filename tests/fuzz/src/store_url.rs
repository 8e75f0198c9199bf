#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| petstore::fuzz::store_url(data));
