//! `respool check`.

use std::{path::Path, process::ExitCode};

use anyhow::bail;

use super::{FAILED, execute::runtime};
use crate::{
    args::CheckArgs,
    config::Config,
    dialect::given_dialect,
    screen,
    servers::{self, Checked},
};

pub(super) fn command(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let (mut config, _) = Config::find(args.config.as_deref(), Path::new(""))?;
    config.servers.set(&args.servers);
    if config.servers.urls.is_empty() {
        bail!("no server to check; name one with --server URL, or in the configuration as servers.urls");
    }
    config.model.path = args.model.clone().or(config.model.path);
    let dialect = given_dialect(&config)?;
    let model = config.model.path.as_deref();
    let checked = runtime()?.block_on(servers::check(&config.servers, dialect.as_ref(), model));
    let mut code = ExitCode::SUCCESS;
    for checked in &checked {
        if checked.is_err() {
            code = ExitCode::from(FAILED);
        }
        screen::say(&if args.json { as_json(checked)? } else { as_text(checked) });
    }
    Ok(code)
}

fn as_json(checked: &Checked) -> anyhow::Result<String> {
    let value = match checked {
        Ok((_, report)) => serde_json::json!({ "server": report.url, "fit": true, "report": report }),
        Err(error) => serde_json::json!({
            "server": error.server(), "fit": false, "error": error.kind().as_str(), "reason": error.message(),
        }),
    };
    Ok(serde_json::to_string(&value)?)
}

fn as_text(checked: &Checked) -> String {
    match checked {
        Ok((_, report)) => report.to_string(),
        Err(error) => format!("{}: not fit for use\n  {}: {}", error.server(), error.kind(), error.message()),
    }
}
