//! The installed server: where its programs are, and how they are run.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::trouble::Trouble;

/// Names the folder that holds `postgres`, `initdb` and the others.
const FOLDER: &str = "PETSTORE_TEST_POSTGRES_BIN";
/// Where Debian keeps its versions.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Whom root becomes: the server refuses to run as root.
const USER: &str = "postgres";

/// A program of PostgreSQL, run as a user that the server accepts, in a folder that this user may
/// enter.
pub(crate) fn program(name: &str) -> Result<Command, Trouble> {
    let path = folder()?.join(name);
    let mut command = as_server_user(&path);
    command.current_dir("/").stdin(Stdio::null());
    Ok(command)
}

/// A command, run by another user if this is root, for whom PostgreSQL's server does not run.
pub(crate) fn as_server_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    // util-linux has it, so every Debian has it; it neither asks PAM nor forks.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
    command
}

/// Gives a path to the user whom the server runs as.
pub(crate) fn hand_over(path: &Path) -> Result<(), Trouble> {
    if is_root() {
        run(Command::new("chown").arg(USER).arg(path))?;
    }
    Ok(())
}

/// Runs a command to its end; its standard output, or what it complained about.
pub(crate) fn run(command: &mut Command) -> Result<String, Trouble> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("cannot run {shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown} failed ({}): {}", output.status, complaint.trim()))
}

pub(crate) fn folder() -> Result<PathBuf, Trouble> {
    if let Some(folder) = env::var_os(FOLDER) {
        return Ok(folder.into());
    }
    newest_of_debian()
        .or_else(of_pg_config)
        .filter(|folder| folder.join("initdb").exists())
        .ok_or(format!("no server binaries are installed (in Debian: postgresql); or set {FOLDER}"))
}

fn newest_of_debian() -> Option<PathBuf> {
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let versions = fs::read_dir(DEBIAN).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let complete = versions.filter(|path| path.join("bin/initdb").exists());
    Some(complete.max_by_key(version)?.join("bin"))
}

fn of_pg_config() -> Option<PathBuf> {
    let folder = run(Command::new("pg_config").arg("--bindir")).ok()?;
    Some(folder.trim().into())
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| run(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0"))
}
