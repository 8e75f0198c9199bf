//! The flag of `serve` for OpenTelemetry.

use clap::Args;

/// Where spans go.
#[derive(Debug, Args)]
pub(crate) struct OtlpArgs {
    /// Export each request as a span, by OTLP over HTTP, to the collector at this URL; /v1/traces is added
    /// to it [default: none].
    #[arg(long, value_name = "URL", value_parser = parse)]
    pub(crate) otlp_endpoint: Option<String>,
}

/// Reads the base address of a collector: what the specification of OTLP calls the endpoint.
fn parse(text: &str) -> Result<String, String> {
    let host =
        text.strip_prefix("http://").filter(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#@".contains(&byte));
    if host.is_none() || !plain {
        return Err(
            "the URL begins with http://, like http://127.0.0.1:4318: run a collector on this \
                    machine or in a trusted network"
                .to_owned(),
        );
    }
    Ok(text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_collector_is_reached_by_plain_http() {
        for text in ["http://127.0.0.1:4318", "http://collector", "http://collector/otlp"] {
            assert_eq!(parse(text).as_deref(), Ok(text));
        }
        assert_eq!(parse("http://collector/").as_deref(), Ok("http://collector"));
        for text in [
            "",
            "collector:4318",
            "https://collector",
            "http://",
            "http:///x",
            "http://a b",
            "http://u@h",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
