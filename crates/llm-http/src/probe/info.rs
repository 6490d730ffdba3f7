//! What a server says about itself.

use respool_llm::ModelInfo;
use serde_json::Value;

use super::Expectations;
use crate::{ClientError, Engine, ErrorKind, HttpServer};

/// The answer to a question that a server need not be able to answer.
async fn ask(server: &HttpServer, path: &str) -> Result<Option<Value>, ClientError> {
    match server.get(path).await {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::Connect | ErrorKind::Timeout) => Err(error),
        Err(_) => Ok(None),
    }
}

pub(super) async fn detect(server: &HttpServer) -> Result<Engine, ClientError> {
    for path in ["/model_info", "/get_model_info"] {
        if ask(server, path).await?.is_some_and(|info| info.get("model_path").is_some()) {
            return Ok(Engine::Sglang);
        }
    }
    if ask(server, "/version").await?.is_some_and(|info| info.get("version").is_some()) {
        return Ok(Engine::Vllm);
    }
    let owner = ask(server, "/v1/models")
        .await?
        .and_then(|models| models["data"][0]["owned_by"].as_str().map(str::to_owned));
    match owner.as_deref() {
        Some("sglang") => Ok(Engine::Sglang),
        Some("vllm") => Ok(Engine::Vllm),
        _ => Err(ClientError::new(
            ErrorKind::Unfit,
            server.shared.transport.base(),
            "answers neither /model_info (SGLang) nor /version (vLLM): give the URL of the engine itself, \
             or say which engine it is",
        )),
    }
}

/// What a server says about itself.
#[derive(Default)]
pub(super) struct Info {
    pub(super) version: Option<String>,
    /// Names and paths of its model; the first one is what requests call it.
    pub(super) models: Vec<String>,
    pub(super) context_length: Option<u64>,
    pub(super) weight_label: Option<String>,
}

impl Info {
    pub(super) fn check_model(
        &self,
        expected: &Expectations,
        url: &str,
    ) -> Result<Option<String>, ClientError> {
        let served = self.models.first().cloned();
        match (&expected.model, &served) {
            (Some(expected), Some(served)) if !self.models.contains(expected) => {
                let message = format!("serves the model {served}, expected {expected}");
                Err(ClientError::new(ErrorKind::Unfit, url, message))
            }
            // vLLM serves adapters beside their model.
            (Some(expected), _) => Ok(Some(expected.clone())),
            (None, _) => Ok(served),
        }
    }

    fn take_models(&mut self, models: Option<&Value>) {
        let models = models.and_then(|models| models.get("data")?.as_array()).into_iter().flatten();
        for model in models {
            let names = ["id", "root"].iter().filter_map(|key| model.get(key)?.as_str());
            self.models.extend(names.map(str::to_owned));
            self.context_length = self.context_length.or_else(|| model.get("max_model_len")?.as_u64());
        }
    }
}

fn text(value: Option<&Value>, key: &str) -> Option<String> {
    value?.get(key)?.as_str().map(str::to_owned)
}

pub(super) async fn sglang_info(server: &HttpServer) -> Result<Info, ClientError> {
    let model = ask(server, "/model_info").await?;
    let about = ask(server, "/server_info").await?;
    let models = ask(server, "/v1/models").await?;
    let mut info = Info {
        version: text(about.as_ref(), "version"),
        models: Vec::new(),
        context_length: about.as_ref().and_then(|about| about.get("context_length")?.as_u64()),
        weight_label: text(model.as_ref(), "weight_version"),
    };
    let names = ["served_model_name", "model_path"].iter().filter_map(|key| text(model.as_ref(), key));
    info.models.extend(names);
    info.take_models(models.as_ref());
    Ok(info)
}

pub(super) async fn vllm_info(server: &HttpServer) -> Result<Info, ClientError> {
    let mut info =
        Info { version: text(ask(server, "/version").await?.as_ref(), "version"), ..Info::default() };
    info.take_models(ask(server, "/v1/models").await?.as_ref());
    info.weight_label = text(ask(server, "/weight_info").await?.as_ref(), "weight_version");
    Ok(info)
}

impl HttpServer {
    pub(crate) async fn read_model_info(&self) -> Result<ModelInfo, ClientError> {
        let info = match self.api().engine() {
            Engine::Sglang => sglang_info(self).await?,
            Engine::Vllm => vllm_info(self).await?,
        };
        let Info { version, models, context_length, weight_label } = info;
        let name = models.into_iter().next();
        Ok(ModelInfo { name, context_length, engine_version: version, weight_label })
    }
}
