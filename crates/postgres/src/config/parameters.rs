//! Reads what stands behind the `?`.

use std::time::Duration;

use super::{InvalidUrl, Parameters, SslMode, url::decode};

/// Every parameter there is.
pub(super) const NAMES: [&str; 10] = [
    "sslmode",
    "sslrootcert",
    "connect_timeout",
    "statement_timeout",
    "call_timeout",
    "pool_timeout",
    "tcp_user_timeout",
    "pool_size",
    "target_session_attrs",
    "schema",
];

const DURATION: &str = "it is a time from 1ms to 1h such as 3s or 500ms";
/// The longest time that a parameter may have.
const LONGEST: Duration = Duration::from_hours(1);
/// The largest pool.
const MOST_CONNECTIONS: usize = 1000;
/// The longest name of a schema, in bytes: PostgreSQL cuts off the rest.
const SCHEMA_BYTES: usize = 63;

pub(super) fn parse(query: &str) -> Result<Parameters, InvalidUrl> {
    let mut parameters = Parameters::default();
    let mut seen = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
            return Err(InvalidUrl::UnknownParameter(name.to_owned()));
        };
        if seen.contains(&name) {
            return Err(InvalidUrl::RepeatedParameter(name));
        }
        seen.push(name);
        let value = decode(value, name)?;
        set(&mut parameters, name, &value).map_err(|allowed| InvalidUrl::Value {
            name,
            value,
            allowed,
        })?;
    }
    Ok(parameters)
}

/// Sets one parameter; what would be right if `value` is not.
fn set(parameters: &mut Parameters, name: &str, value: &str) -> Result<(), &'static str> {
    let seconds = |value| duration(value, Duration::from_secs);
    let millis = |value| duration(value, Duration::from_millis);
    match name {
        "sslmode" => parameters.ssl_mode = ssl_mode(value)?,
        "sslrootcert" if value.is_empty() => return Err("it is the path of a PEM file"),
        "sslrootcert" => parameters.root_certificates = Some(value.into()),
        "connect_timeout" => parameters.connect_timeout = seconds(value)?,
        "statement_timeout" => parameters.statement_timeout = millis(value)?,
        "call_timeout" => parameters.call_timeout = millis(value)?,
        "pool_timeout" => parameters.pool_timeout = millis(value)?,
        "tcp_user_timeout" => parameters.tcp_user_timeout = millis(value)?,
        "pool_size" => parameters.pool_size = pool_size(value)?,
        "target_session_attrs" => parameters.read_write = read_write(value)?,
        _ => parameters.schema = Some(schema(value)?),
    }
    Ok(())
}

fn ssl_mode(value: &str) -> Result<SslMode, &'static str> {
    match value {
        "disable" => Ok(SslMode::Disable),
        "prefer" => Ok(SslMode::Prefer),
        "require" | "verify-full" => Ok(SslMode::VerifyFull),
        _ => Err("it is disable, prefer, require or verify-full"),
    }
}

fn read_write(value: &str) -> Result<bool, &'static str> {
    match value {
        "read-write" => Ok(true),
        "any" => Ok(false),
        _ => Err("it is read-write or any"),
    }
}

fn pool_size(value: &str) -> Result<usize, &'static str> {
    let size = value.parse().ok().filter(|size| (1..=MOST_CONNECTIONS).contains(size));
    size.ok_or("it is a number of connections from 1 to 1000")
}

fn schema(value: &str) -> Result<String, &'static str> {
    let reserved = value.is_empty() || value.starts_with("pg_") || value.len() > SCHEMA_BYTES;
    if reserved {
        return Err("it is a name of 1 to 63 bytes that does not begin with pg_");
    }
    Ok(value.to_owned())
}

fn duration(value: &str, bare: impl Fn(u64) -> Duration) -> Result<Duration, &'static str> {
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = value[..value.len() - unit.len()].parse().map_err(|_| DURATION)?;
    // Before it is multiplied, so that nothing overflows.
    let number = Some(number).filter(|number| *number <= 3_600_000).ok_or(DURATION)?;
    let duration = match unit {
        "" => bare(number),
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "min" => Duration::from_secs(number * 60),
        _ => return Err(DURATION),
    };
    if duration.is_zero() || duration > LONGEST { Err(DURATION) } else { Ok(duration) }
}
