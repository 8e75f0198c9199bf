//! Generates the client from the document that the environment variable `OPENAPI_3_0` names.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=OPENAPI_3_0");
    let path = env::var("OPENAPI_3_0")?;
    println!("cargo::rerun-if-changed={path}");
    let document = serde_json::from_str(&fs::read_to_string(path)?)?;
    let client = progenitor::Generator::default().generate_tokens(&document)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("petstore.rs"), client.to_string())?;
    Ok(())
}
