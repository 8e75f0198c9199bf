//! The command `healthcheck`: asks whether the service on this machine is ready, for container images without curl.

use std::{io, time::Duration};

use clap::Args;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_util::either::Either;

use crate::{
    cli::values::{self, LISTEN, ListenAddress},
    system::Failure,
};

const REQUEST: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
const READY: &[u8] = b"HTTP/1.1 200 ";
/// The size limit of a response, in bytes.
const MAX_ANSWER: u64 = 16 * 1024;

/// The flags of `healthcheck`.
#[derive(Debug, Args)]
pub(crate) struct HealthcheckArgs {
    /// Address and port of the service, or unix:PATH; the first of several is asked
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN, value_delimiter = ',')]
    pub(crate) listen: Vec<ListenAddress>,

    /// Time limit for the response
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = values::timeout)]
    pub(crate) timeout: Duration,
}

/// Succeeds if the service is ready. Asks the first of several addresses.
pub(crate) async fn run(args: HealthcheckArgs) -> Result<(), Failure> {
    let [address, ..] = &*args.listen else { return Err(Failure::usage("--listen is empty")) };
    let why = match timeout(args.timeout, ask(address)).await {
        Ok(Ok(answer)) if answer.starts_with(READY) => return Ok(()),
        Ok(Ok(answer)) => {
            let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
            format!("it answers '{}'", String::from_utf8_lossy(line))
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("there was no answer within {:?}", args.timeout),
    };
    Err(Failure::runtime(format!("the service at {address} is not ready: {why}")))
}

async fn ask(place: &ListenAddress) -> io::Result<Vec<u8>> {
    let mut stream = match place {
        ListenAddress::Tcp(address) => Either::Left(TcpStream::connect(address).await?),
        ListenAddress::Unix(path) => Either::Right(UnixStream::connect(path).await?),
    };
    stream.write_all(REQUEST).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer).await?;
    Ok(answer)
}
