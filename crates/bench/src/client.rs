//! A small client of HTTP/1.1, for the requests whose answers are looked at.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use crate::{
    failure::{Context as _, Failure, Outcome},
    request::Request,
};

/// How long an answer may take before the benchmark gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// One connection that is kept.
#[derive(Debug)]
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address).cannot(format_args!("connect to {address}"))?;
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        set.cannot("set up a connection")?;
        Ok(Self { stream: BufReader::with_capacity(4096, stream) })
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Outcome<Answer> {
        let doing = || format!("{} {}", request.method, request.path);
        let sent = self.stream.get_mut().write_all(request.to_http1().as_bytes());
        sent.cannot(format_args!("send {}", doing()))?;
        self.read().map_err(|failure| Failure::new(format!("{}: {failure}", doing())))
    }

    fn read(&mut self) -> Outcome<Answer> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| Failure::new(format!("not HTTP: '{first}'")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        if status != 304 && status != 204 {
            answer.body = vec![0; length.unwrap_or(0)];
            self.stream.read_exact(&mut answer.body).cannot("read the body of the answer")?;
        }
        Ok(answer)
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).cannot("read the head of the answer")?;
        if read == 0 {
            return Err(Failure::new("the connection was closed instead of an answer"));
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The address of the next page, if there is one.
    pub(crate) fn next(&self) -> Option<&str> {
        let link = self.header("link").filter(|link| link.contains("rel=\"next\""))?;
        Some(link.split_once('<')?.1.split_once('>')?.0)
    }
}
