//! Builds one self-contained document per page from the files in `assets/`, and a content security policy that allows
//! only the script and the style of the page, by their hashes.
//!
//! A page is `frame.html` around the `page.html` of its folder, with `shared/base.css`, `page.css`, and `main.js` after
//! the modules that it imports. Each module becomes a function that returns its exports. So a module may use only
//! `import { a, b } from './c.js';` on one line, and `export` before a declaration.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// The folders in `assets/` and the titles of their pages. The name of a folder is the path of its page. The service
/// redirects `/` to the first page.
const PAGES: [(&str, &str); 2] = [("docs", "API reference"), ("catalogue", "Catalogue")];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    let assets = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("assets");
    let table = PAGES.iter().map(|(name, title)| page(&assets, name, title));
    let table = table.collect::<Outcome<String>>()?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("pages.rs"), format!("[{table}]"))?;
    Ok(())
}

/// Returns the entry of a page for the table in `src/lib.rs`.
fn page(assets: &Path, name: &str, title: &str) -> Outcome<String> {
    let folder = assets.join(name);
    let style = text(&assets.join("shared/base.css"))? + &text(&folder.join("page.css"))?;
    let mut script = String::new();
    append_module(&folder.join("main.js"), &mut Vec::new(), &mut script)?;
    let icon = text(&assets.join("shared/icon.svg"))?;
    let link = format!("href=\"{name}\"");
    let html = text(&assets.join("shared/frame.html"))?
        .replacen(&link, &format!("{link} aria-current=\"page\""), 1)
        .replace("{{page}}", &text(&folder.join("page.html"))?)
        .replace("{{key}}", &text(&assets.join("shared/key.html"))?)
        .replace("{{title}}", title)
        .replace("{{version}}", &env::var("CARGO_PKG_VERSION")?)
        .replace("{{icon}}", &STANDARD.encode(&icon))
        .replace("{{paw}}", icon.trim())
        .replace("{{style}}", &style)
        .replace("{{script}}", &script);
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        hash(&script),
        hash(&style)
    );
    let parts = html.split("{{environment}}").collect::<Vec<_>>();
    Ok(format!("Source {{ path: \"/{name}\", policy: {policy:?}, parts: {parts:?} }},"))
}

/// Appends the module at `path` to `script`, after the modules that it imports. `done` lists the appended modules.
fn append_module(path: &Path, done: &mut Vec<PathBuf>, script: &mut String) -> Outcome<()> {
    let path = fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if done.contains(&path) {
        return Ok(());
    }
    done.push(path.clone());
    let (mut body, mut exports) = (String::new(), Vec::new());
    for line in text(&path)?.lines() {
        let import = line.strip_prefix("import ").and_then(|rest| rest.split_once(" from '"));
        if let Some((names, from)) = import {
            let from = path.with_file_name("").join(from.trim_end_matches("';"));
            append_module(&from, done, script)?;
            writeln!(body, "const {names} = {};", variable(&from)?)?;
        } else if let Some(declaration) = line.strip_prefix("export ") {
            let mut words = declaration.split([' ', '(', ';']);
            let is_name = |word: &&str| !["async", "function", "const", "class"].contains(word);
            exports.push(words.find(is_name).unwrap_or_default().to_owned());
            writeln!(body, "{declaration}")?;
        } else {
            writeln!(body, "{line}")?;
        }
    }
    let exports = exports.join(", ");
    if exports.is_empty() {
        *script += &body;
    } else {
        let name = variable(&path)?;
        write!(script, "const {name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n")?;
    }
    Ok(())
}

/// Returns the name of the variable for the exports of the module at `path`.
fn variable(path: &Path) -> Outcome<String> {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    Ok(format!("{}_module", name.ok_or("the file name of a module must be UTF-8")?))
}

fn text(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Returns the source expression for an element with this content (CSP 3, section 2.3.1).
fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}
