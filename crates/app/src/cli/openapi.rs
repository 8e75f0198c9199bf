//! The command `openapi`, and the flags that it shares with `serve`.

use clap::Args;
use petstore_http::Settings;

use super::{service_url, values};

/// What a deployment is called, and where it is reached.
#[derive(Debug, Args)]
pub(crate) struct DeploymentArgs {
    /// Name of this deployment, for logs and the OpenAPI document.
    #[arg(long, value_name = "NAME", value_parser = values::environment)]
    environment: Option<String>,

    /// Where production is reached, for the OpenAPI document; ends in /v1.
    #[arg(long, value_name = "URL", value_parser = service_url::parse)]
    public_url: Option<String>,

    /// Where staging is reached, for the OpenAPI document; ends in /v1.
    #[arg(long, value_name = "URL", value_parser = service_url::parse)]
    staging_url: Option<String>,
}

impl DeploymentArgs {
    /// The settings that these flags decide, the others being the defaults.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            environment: self.environment.clone(),
            public_url: self.public_url.clone(),
            staging_url: self.staging_url.clone(),
            ..Settings::default()
        }
    }
}
