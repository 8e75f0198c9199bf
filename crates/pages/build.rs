//! Compresses the files under `assets/` once, and writes the table of them that `src/lib.rs`
//! includes. A file's address follows from where it lies: `assets/docs/index.html` is `/docs`, and
//! whatever lies beside it is below that.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

/// The folders under `assets/`, and where each is served. The page of the first is the first of the
/// table.
const FOLDERS: [(&str, &str); 4] = [
    ("docs", "/docs"),
    ("swagger-ui", "/docs/swagger-ui"),
    ("shared", "/docs/shared"),
    ("catalogue", "/catalogue"),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    let assets = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("assets");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut table = String::from("[\n");
    for (folder, address) in FOLDERS {
        let compressed = out.join(folder);
        fs::create_dir_all(&compressed)?;
        for file in files(&assets.join(folder))? {
            table += &entry(address, &file, &compressed)?;
        }
    }
    table.push(']');
    fs::write(out.join("files.rs"), table)?;
    Ok(())
}

/// The files of a folder, its page first.
fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = listed.map(|file| Ok(file?.path())).collect::<Outcome<Vec<_>>>()?;
    files.sort_by_key(|file| (!file.ends_with("index.html"), file.clone()));
    Ok(files)
}

/// The line of the table for `file`, whose compressed form is written to `folder`.
fn entry(address: &str, file: &Path, folder: &Path) -> Outcome<String> {
    let name = text(file.file_name().unwrap_or_default().as_ref())?;
    let media_type = media_type(name)?;
    let compressed = folder.join(format!("{name}.gz"));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&fs::read(file)?)?;
    let gzip = encoder.finish()?;
    fs::write(&compressed, &gzip)?;

    let path = match name {
        "index.html" => address.to_owned(),
        _ => format!("{address}/{name}"),
    };
    let (tag, content, gzip) = (tag(&gzip)?, text(file)?, text(&compressed)?);
    Ok(format!(
        "File {{ path: {path:?}, media_type: {media_type:?}, content_security_policy: POLICY, \
         tag: {tag:?}, content: include_bytes!({content:?}), gzip: include_bytes!({gzip:?}) }},\n"
    ))
}

fn text(path: &Path) -> Outcome<&str> {
    path.to_str().ok_or_else(|| format!("{}: not a name in UTF-8", path.display()).into())
}

fn media_type(name: &str) -> Outcome<&'static str> {
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    Ok(match extension {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        _ => return Err(format!("assets: build.rs has no media type for '{name}'").into()),
    })
}

/// Half a SHA-256 in hexadecimal. Of the compressed form, as that decides the other one too.
fn tag(gzip: &[u8]) -> Outcome<String> {
    let mut text = String::new();
    for byte in Sha256::digest(gzip).iter().take(16) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}
