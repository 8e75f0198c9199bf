use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::Arc,
    sync::atomic::{AtomicBool, Ordering},
};

use petstore_domain::ServiceKey;

use super::{FAILURE_GRACE, POLL_INTERVAL, WatchedFiles, service_key as read, stamp};
use crate::system::Failure;

const KEY: &str = "a-key-of-24-characters-x";

fn from_file(content: &[u8]) -> Result<Option<ServiceKey>, Failure> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), content).unwrap();
    read(None, Some(file.path())).map(|(key, _)| key)
}

#[test]
fn a_key_comes_from_the_variable_or_from_the_file() {
    assert!(read(None, None).unwrap().0.is_none());
    assert!(read(Some(OsStr::new(KEY)), None).unwrap().0.is_some());
    for end in ["", "\n", "\r\n"] {
        assert!(from_file(format!("{KEY}{end}").as_bytes()).unwrap().is_some(), "{end:?}");
    }
    let both = read(Some(OsStr::new(KEY)), Some(Path::new("/nowhere/key")));
    assert!(matches!(both, Err(Failure::Usage(_))));
}

#[test]
fn an_invalid_key_is_wrong_usage_and_is_not_quoted() {
    for content in ["", "short", &format!("{KEY}\n\n"), &format!(" {KEY}")] {
        let from_variable = read(Some(OsStr::new(content)), None).map(|(key, _)| key);
        for (refusal, source) in [
            (from_variable, "PETSTORE_API_KEY does not"),
            (from_file(content.as_bytes()), "the API key file /"),
        ] {
            let Err(Failure::Usage(line)) = refusal else { panic!("{content:?}") };
            assert!(line.ends_with("16 to 1024 characters, all of them visible ASCII"));
            assert!(line.starts_with(source), "{line}");
            assert!(content.is_empty() || !line.contains(content.trim()), "{line}");
        }
    }
    assert!(matches!(from_file(b"\xff\xfe0123456789abcdef"), Err(Failure::Runtime(_))));
}

#[tokio::test(start_paused = true)]
async fn a_pair_fails_once_per_change_if_its_second_file_is_not_written() {
    // A mounted secret is a symbolic link, and only the target of the link changes.
    let (file, folder) = (tempfile::NamedTempFile::new().unwrap(), tempfile::tempdir().unwrap());
    let paths = vec![folder.path().join("link")];
    symlink(file.path(), &paths[0]).unwrap();
    let is_whole = Arc::new(AtomicBool::new(true));
    let whole = Arc::clone(&is_whole);
    let reload =
        move || whole.load(Ordering::Relaxed).then_some(()).ok_or(Failure::runtime("half"));
    let mut files = WatchedFiles::new(["it", "it"], paths.clone(), stamp(&paths), reload);
    let mut counts = Vec::new();
    // The file becomes usable after five polls, or never.
    for comes in [true, false] {
        is_whole.store(false, Ordering::Relaxed);
        fs::write(file.path(), format!("a{comes}")).unwrap();
        for poll in 0..20 {
            if comes && poll == 5 {
                fs::write(file.path(), "both").unwrap();
                is_whole.store(true, Ordering::Relaxed);
            }
            files.poll(false).await;
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        counts.push(*files.reloads.counts.borrow());
    }
    assert!(20 * POLL_INTERVAL > 2 * FAILURE_GRACE);
    assert_eq!(counts, [(1, 0, false), (2, 1, true)]);
}
