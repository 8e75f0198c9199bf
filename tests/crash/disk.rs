//! A file system for one test, on a simulated disk whose power can be cut.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use petstore_testing::{or_skip_without, say_skipped};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::support::wait;

const SIZE: &str = "64M";

/// A Perl script that stops ext4 at once, without writing its journal (`FS_IOC_SHUTDOWN` with
/// `FS_SHUTDOWN_FLAGS_NOLOGFLUSH`). Data that was not synchronized is lost, as in a power cut.
const CUT: &str = r#"
    my $flags = pack("L", 2);
    open(my $folder, "<", $ARGV[0]) or die $!;
    ioctl($folder, 0x8004587d, $flags) or die $!;
"#;

/// An ext4 file system in an image, mounted on a folder.
pub(crate) struct Disk {
    folder: TempDir,
}

impl Disk {
    /// Makes and mounts a disk. Prints the reason and returns `None` without root or without loop devices.
    ///
    /// No package can provide root or loop devices, so the test is skipped even with `PETSTORE_TEST_ALL=1`. `.ci/run`
    /// lists the skipped tests at its end. Any other error fails the test with `PETSTORE_TEST_ALL=1`.
    pub(crate) fn new_or_skip() -> Option<Self> {
        if let Some(missing) = missing() {
            say_skipped(missing);
            return None;
        }
        or_skip_without("an ext4 on a loop device", Self::new())
    }

    fn new() -> Result<Self, String> {
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(disk.mount_point()).unwrap();
        let image = disk.image();
        run(Command::new("truncate").args(["--size", SIZE]).arg(&image))?;
        run(Command::new("mkfs.ext4").arg("-q").arg(&image))?;
        disk.mount()?;
        Ok(disk)
    }

    /// Returns the mount point.
    pub(crate) fn mount_point(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn mount(&self) -> Result<(), String> {
        run(Command::new("mount").args(["-o", "loop"]).arg(self.image()).arg(self.mount_point()))
    }

    /// Cuts the power: nothing is written any more, and every access fails.
    pub(crate) fn cut(&self) {
        run(Command::new("perl").args(["-e", CUT]).arg(self.mount_point())).unwrap();
    }

    /// Restores the power: mounts the file system again. No process may have a file open.
    pub(crate) fn restore(&self) {
        run(Command::new("umount").arg(self.mount_point())).unwrap();
        // The kernel releases the loop device a moment later, and writes to the image until then.
        wait::until("the loop device is released", || !self.is_in_use());
        self.mount().unwrap();
    }

    /// Returns whether a loop device has the image open.
    fn is_in_use(&self) -> bool {
        let image = self.image();
        let devices = fs::read_dir("/sys/block").unwrap();
        let files = devices.filter_map(|device| {
            fs::read_to_string(device.ok()?.path().join("loop/backing_file")).ok()
        });
        files.into_iter().any(|file| Path::new(file.trim_end()) == image)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The disk may not be mounted.
        let _ = run(Command::new("umount").args(["--quiet", "--lazy"]).arg(self.mount_point()));
    }
}

/// Returns the first requirement of a disk that this machine does not meet.
fn missing() -> Option<&'static str> {
    if !geteuid().is_root() {
        return Some("root");
    }
    let control = File::options().read(true).write(true).open("/dev/loop-control");
    control.is_err().then_some("a kernel with loop devices (/dev/loop-control)")
}

/// Runs a program. An error has the name of the program and its standard error.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
