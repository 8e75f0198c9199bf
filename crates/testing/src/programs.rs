//! The requirements of tests, and the programs that meet these requirements. `petstore-needs` compiles this file too:
//! its build script searches for the programs, and its macro names the packages to install.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A requirement: its name in `#[needs(…)]`, the programs that meet it, and Debian's packages with these programs.
pub(crate) type Need = (&'static str, &'static [&'static str], &'static str);

/// Every requirement of `#[needs(…)]`. No program meets the first two requirements: [`TEST_ALL`] meets `time`, and
/// nothing meets [`QUIET`].
pub(crate) const NEEDS: [Need; 14] = [
    ("time", &[], ""),
    (QUIET, &[], ""),
    ("postgres", &["initdb"], "postgresql"),
    ("pgbouncer", &["pgbouncer"], "pgbouncer"),
    (
        "cluster",
        &["initdb", "patroni", "etcd", "haproxy", "curl"],
        "postgresql patroni python3-etcd etcd-server haproxy curl",
    ),
    ("etcd", &["etcd"], "etcd-server"),
    ("nginx", &["nginx"], "nginx-light"),
    ("haproxy", &["haproxy"], "haproxy"),
    ("caddy", &["caddy"], "caddy"),
    ("chromium", &["chromium", "chromedriver"], "chromium chromium-driver"),
    ("promtool", &["promtool"], "prometheus"),
    ("curl", &["curl"], "curl"),
    ("ip", &["ip"], "iproute2"),
    ("ext4", &["mkfs.ext4"], "e2fsprogs"),
];

/// The requirement of a test that measures time. Such a test is ignored in every build. So with [`TEST_ALL`], where no
/// other test is ignored, `--ignored` selects exactly the tests that measure time.
pub(crate) const QUIET: &str = "quiet";
/// The environment variable for complete test runs. With the value `1`, a test with an unmet requirement fails, instead
/// of being ignored or skipped.
pub(crate) const TEST_ALL: &str = "PETSTORE_TEST_ALL";
/// The variable with the URL of a running PostgreSQL server that tests may use.
pub(crate) const EXTERNAL: &str = "PETSTORE_TEST_POSTGRES";
/// The variable with the folder of `postgres`, `initdb` and the other programs.
pub(crate) const FOLDER: &str = "PETSTORE_TEST_POSTGRES_BIN";
/// The folders in which packages install programs. Some of these folders are not on the PATH of every user.
pub(crate) const FOLDERS: [&str; 4] =
    ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
/// The folder of Debian's PostgreSQL versions.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Returns whether a test with an unmet requirement fails, instead of being ignored or skipped.
pub(crate) fn tests_all() -> bool {
    env::var(TEST_ALL).is_ok_and(|value| value == "1")
}

/// Returns whether this machine meets the requirement by its programs, or by a running server ([`EXTERNAL`]).
pub(crate) fn is_met((name, programs, _): &Need) -> bool {
    let external = *name == "postgres" && env::var_os(EXTERNAL).is_some();
    let installed = || programs.iter().all(|program| find(program).is_some());
    external || !programs.is_empty() && installed()
}

/// Returns the path of the program `name`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let fixed = FOLDERS.iter().map(PathBuf::from);
    let all = postgres().into_iter().chain(env::split_paths(&path)).chain(fixed);
    all.map(|folder| folder.join(name)).find(|program| is_program(program))
}

/// Returns the folder of PostgreSQL's server programs.
pub(crate) fn postgres() -> Option<PathBuf> {
    let named = env::var_os(FOLDER).map(PathBuf::from);
    let found = named.or_else(newest_of_debian).or_else(of_pg_config);
    found.filter(|folder| is_program(&folder.join("initdb")))
}

fn newest_of_debian() -> Option<PathBuf> {
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let versions = fs::read_dir(DEBIAN).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let complete = versions.filter(|path| is_program(&path.join("bin/initdb")));
    Some(complete.max_by_key(version)?.join("bin"))
}

fn of_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().into())
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
