//! The requests that a generator sends, prepared in files.

use std::{
    fmt::Write as _,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use crate::{
    failure::{Context as _, Failure, Outcome},
    generator::Tally,
    request::{Expect, Request},
};

/// Requests at a time on each connection of HTTP/2.
pub(crate) const STREAMS: usize = 10;

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    /// With prior knowledge.
    Http2,
}

/// Requests that are sent in turn.
#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) protocol: Protocol,
    /// At least one.
    pub(crate) requests: Vec<Request>,
    first: Request,
    folder: PathBuf,
}

impl Load {
    /// Its files go into `folder`, which exists.
    pub(crate) fn new(protocol: Protocol, requests: Vec<Request>, folder: &Path) -> Outcome<Self> {
        let first = requests.first().ok_or_else(|| Failure::new("a load without requests"))?;
        Ok(Self { protocol, first: first.clone(), requests, folder: folder.to_owned() })
    }

    pub(crate) const fn first(&self) -> &Request {
        &self.first
    }

    /// The script for wrk.
    pub(crate) fn script(&self) -> Outcome<PathBuf> {
        self.file("wrk.lua", || crate::generator::WRK_SCRIPT.to_owned())
    }

    /// Every request as bytes, each after its length.
    pub(crate) fn prepared(&self) -> Outcome<PathBuf> {
        self.file("requests", || {
            let mut text = String::new();
            for request in self.requests.iter().map(Request::to_http1) {
                let _ = writeln!(text, "{}\n{request}", request.len());
            }
            text
        })
    }

    /// Every address, one a line.
    pub(crate) fn urls(&self, address: SocketAddr) -> Outcome<PathBuf> {
        self.file(&format!("urls-{}", address.port()), || {
            let mut text = String::new();
            for request in &self.requests {
                let _ = writeln!(text, "http://{address}{}", request.path);
            }
            text
        })
    }

    /// Where a generator may leave the times of single requests.
    pub(crate) fn latencies(&self) -> PathBuf {
        self.folder.join("latencies")
    }

    /// Written once, as it is the same in every round.
    fn file(&self, name: &str, text: impl FnOnce() -> String) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        if !path.exists() {
            fs::write(&path, text()).cannot(format_args!("write {}", path.display()))?;
        }
        Ok(path)
    }

    /// Fails if a round had an answer of another kind than it should, or none.
    /// `constant`: the server refuses nothing.
    pub(crate) fn verify(&self, tally: &Tally, constant: bool) -> Outcome<()> {
        let Tally { requests, refused, broken, .. } = *tally;
        let refuses = self.first.expect == Expect::Refused && !constant;
        let wanted = if refuses { requests } else { 0 };
        if broken == 0 && refused == wanted && requests > 0 {
            return Ok(());
        }
        Err(Failure::new(format!(
            "WRONG ANSWERS under load to {} {}: of {requests} requests, {refused} were answered \
             with 400 or above (expected: {wanted}) and {broken} not at all",
            self.first.method, self.first.path
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Load, Protocol};
    use crate::{
        generator::Tally,
        request::{Expect, Request},
    };

    fn load(expect: Expect, folder: &tempfile::TempDir) -> Load {
        let requests = vec![Request::get("/a", "k", expect), Request::get("/bb", "k", expect)];
        Load::new(Protocol::Http1, requests, folder.path()).unwrap()
    }

    #[test]
    fn requests_are_written_with_their_lengths() {
        let folder = tempfile::tempdir().unwrap();
        let load = load(Expect::Pet, &folder);
        let text = fs::read_to_string(load.prepared().unwrap()).unwrap();
        let first = load.first().to_http1();
        assert!(text.starts_with(&format!("{}\n{first}\n{}\n", first.len(), first.len() + 1)));
    }

    #[test]
    fn an_unexpected_answer_fails_the_round() {
        let folder = tempfile::tempdir().unwrap();
        let tally =
            |requests, refused, broken| Tally { requests, refused, broken, ..Tally::default() };
        let good = load(Expect::Pet, &folder);
        assert!(good.verify(&tally(5, 0, 0), false).is_ok());
        for wrong in [tally(5, 1, 0), tally(5, 0, 1), tally(0, 0, 0)] {
            assert!(good.verify(&wrong, false).is_err());
        }
        let refused = load(Expect::Refused, &folder);
        assert!(refused.verify(&tally(5, 5, 0), false).is_ok());
        assert!(refused.verify(&tally(5, 4, 0), false).is_err());
        assert!(refused.verify(&tally(5, 0, 0), true).is_ok());
    }
}
