//! The release binary of petstore, as users build it.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    console::note,
    failure::{Context as _, Failure, Outcome},
};

/// The root of the workspace that this program was built from.
pub(crate) fn workspace() -> &'static Path {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).unwrap_or_else(|| Path::new("."))
}

/// Builds the release binary, by the README's own flags; where it lies.
pub(crate) fn petstore() -> Outcome<PathBuf> {
    note("building the release binary of petstore");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--locked", "--bin", "petstore"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace())
        .stderr(Stdio::inherit())
        .output()
        .cannot("run cargo build")?;
    if !output.status.success() {
        return Err(Failure::new("cargo build failed"));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages).ok_or_else(|| Failure::new("cargo build names no executable"))
}

fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = messages.filter(|message| message["target"]["name"] == "petstore");
    found.find_map(|message| Some(message["executable"].as_str()?.into()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{executable, workspace};

    #[test]
    fn the_executable_is_found_among_the_messages_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"bytes"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"petstore"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"petstore"},"executable":"/t/petstore"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/t/petstore")));
        assert!(workspace().join("Cargo.lock").exists());
    }
}
