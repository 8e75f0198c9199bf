//! The programs of the installed PostgreSQL server, and the user that runs them.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::programs;

/// The user that runs the server if this process is root: PostgreSQL refuses to run as root.
const USER: &str = "postgres";

/// Returns a command that runs a program of PostgreSQL as a permitted user, in a folder that this user may enter.
pub(crate) fn program(name: &str) -> Result<Command, String> {
    let path = folder()?.join(name);
    let mut command = as_server_user(&path);
    command.current_dir("/").stdin(Stdio::null());
    Ok(command)
}

/// Returns a command that runs as [`USER`] if this process is root.
pub(crate) fn as_server_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    // `setpriv` is part of util-linux, so every Debian has it. `setpriv` neither asks PAM nor forks.
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
    command
}

/// Changes the owner of a path to the user that runs the server.
pub(crate) fn hand_over(path: &Path) -> Result<(), String> {
    if is_root() {
        run(Command::new("chown").arg(USER).arg(path))?;
    }
    Ok(())
}

/// Runs a command to its end. Returns its standard output. The error contains its error output.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("cannot run {shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown} failed ({}): {}", output.status, complaint.trim()))
}

/// Runs SQL in the database of a URL. Returns the rows as text, with `|` between the columns.
pub(crate) fn sql(url: &str, sql: &str) -> Result<String, String> {
    run_all(url, &[sql])
}

/// Runs statements, each in a transaction of its own, until one fails. Returns all rows as text.
pub(crate) fn run_all(url: &str, statements: &[&str]) -> Result<String, String> {
    let beside = folder().map(|folder| folder.join("psql"));
    let psql = beside.ok().filter(|path| path.exists()).unwrap_or_else(|| "psql".into());
    let mut command = Command::new(psql);
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
    command.args(statements.iter().flat_map(|sql| ["-c", sql])).arg(url);
    run(command.env("PGCONNECT_TIMEOUT", "5"))
}

/// Returns the path of the program `name`.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    programs::find(name)
}

pub(crate) fn folder() -> Result<PathBuf, String> {
    let missing = "PostgreSQL is not installed: install it (in Debian: postgresql), or set";
    programs::postgres().ok_or_else(|| format!("{missing} {}", programs::FOLDER))
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| run(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0"))
}
