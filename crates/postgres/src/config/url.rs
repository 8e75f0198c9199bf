//! The part of the URL in front of the `?`: user, password, hosts and database.

use petstore_storage::url::{HostPort, InvalidUrl, decode, decode_name};
use tokio_postgres::Config;

const FORM: &str = "write postgres://USER:PASSWORD@HOST[:PORT][,HOST…]/DATABASE";
const NO_USER: &str = "no user is named; write postgres://USER:PASSWORD@HOST/DATABASE";
const NO_DATABASE: &str = "no database is named; write postgres://USER:PASSWORD@HOST/DATABASE";
/// The port of a host without one.
const DEFAULT_PORT: u16 = 5432;

/// Parses `postgres://USER[:PASSWORD]@HOST[:PORT][,HOST[:PORT]…]/DATABASE` into `driver`. Returns the hosts.
pub(super) fn parse_address(url: &str, driver: &mut Config) -> Result<Vec<HostPort>, InvalidUrl> {
    let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
    let rest = rest.ok_or(InvalidUrl::new(FORM))?;
    // The password may contain an @ that is not encoded, so the last @ counts.
    let (credential, place) = rest.rsplit_once('@').ok_or(InvalidUrl::new(NO_USER))?;
    let (user, password) =
        credential.split_once(':').map_or((credential, None), |(u, p)| (u, Some(p)));
    let (hosts, database) = place.split_once('/').ok_or(InvalidUrl::new(NO_DATABASE))?;
    if database.contains(':') {
        return Err(InvalidUrl::encoding("database"));
    }
    let hosts = HostPort::parse_all(hosts, DEFAULT_PORT, FORM)?;
    driver.user(decode_name(user, "user")?).dbname(decode_name(database, "database")?);
    if user.is_empty() {
        return Err(InvalidUrl::new(NO_USER));
    }
    if database.is_empty() {
        return Err(InvalidUrl::new(NO_DATABASE));
    }
    if let Some(password) = password {
        driver.password(decode(password, "password")?);
    }
    Ok(hosts)
}
