//! The installed server: where its programs are, and how they are run.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::{programs, trouble::Trouble};

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

/// Where the program `name` is installed.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    programs::find(name)
}

pub(crate) fn folder() -> Result<PathBuf, Trouble> {
    let missing = "no server binaries are installed (in Debian: postgresql); or set";
    programs::postgres().ok_or_else(|| format!("{missing} {}", programs::FOLDER))
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| run(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0"))
}
