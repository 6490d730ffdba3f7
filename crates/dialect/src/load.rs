//! Reading a model folder.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use crate::format::tool_format_names;
use crate::named::{self, Templates};
use crate::template::TemplateError;
use crate::tiktoken;

/// A model folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A field of a file is not as expected.
    #[error("{file}: {field}: expected {expected}, found {found}")]
    Field {
        /// The file's name.
        file: &'static str,
        /// The field.
        field: String,
        /// What was expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// A line of tiktoken ranks is not as expected.
    #[error("{file}:{line}: expected the bytes of a token in base64, a space and its rank, found {found:?}")]
    Rank {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is there.
        found: String,
    },
    /// tiktoken ranks leave one out, or have one twice.
    #[error(
        "{file}: expected the ranks from 0 on, each once; {missing} is missing, or one before it is there twice"
    )]
    RankGap {
        /// The file's name.
        file: String,
        /// The first rank that is not there.
        missing: u32,
    },
    /// Nothing says how texts are split into words before tiktoken ranks are applied.
    #[error(
        "{file}: how texts are split into words is not known for tokenizer_class {class}; known are {known}; give the \
         regular expression of the model's own tokenizer code as model.split_pattern"
    )]
    UnknownSplit {
        /// The file's name.
        file: String,
        /// `tokenizer_class` of the model folder.
        class: String,
        /// The classes that are known.
        known: String,
    },
    /// The tokenizer cannot be built.
    #[error("tokenizer.json: {0}")]
    Tokenizer(String),
    /// The template cannot be compiled.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The option `template_name` names no template of the folder.
    #[error("template_name = \"{name}\": the model folder has no such chat template; it has {known}")]
    UnknownTemplate {
        /// The name.
        name: String,
        /// What there is.
        known: String,
    },
    /// The option `tool_format` names no format.
    #[error("tool_format = \"{0}\" is not known; known are auto, {known}", known = known_formats())]
    UnknownToolFormat(String),
    /// The option `tool_results = harmony` is given for another format.
    #[error("tool_results = \"harmony\" is for the tool-call format gpt_oss, found {0}")]
    NotHarmony(&'static str),
    /// The format cannot be told from the template.
    #[error(
        "chat template {0} writes tool calls in a format that is not known; name one of {known} (in a configuration: model.format)",
        known = known_formats()
    )]
    UnclearToolFormat(String),
    /// The option `continuation = reference` cannot work with this template.
    #[error("continuation = reference: chat template {template}: {reason}; use continuation = template")]
    Reference {
        /// The template's name.
        template: String,
        /// What is wrong.
        reason: String,
    },
}

fn known_formats() -> String {
    tool_format_names().collect::<Vec<_>>().join(", ")
}

/// The texts that make a dialect.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// A name for messages, such as the model folder's.
    pub name: &'a str,
    /// `tokenizer.json`.
    pub tokenizer: &'a str,
    /// `tokenizer_config.json`.
    pub tokenizer_config: &'a str,
    /// `chat_template.jinja`; without it the template is in `tokenizer_config.json`.
    pub chat_template: Option<&'a str>,
    /// Name and source of the files in `additional_chat_templates`.
    pub additional_templates: &'a [(String, String)],
    /// `generation_config.json`.
    pub generation_config: Option<&'a str>,
    /// `config.json` of the model, whose `architectures` may tell the tool-call format.
    pub model_config: Option<&'a str>,
}

/// The files of a model folder.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) tokenizer: String,
    pub(crate) tokenizer_config: String,
    pub(crate) chat_template: Option<String>,
    pub(crate) additional_templates: Vec<(String, String)>,
    pub(crate) generation_config: Option<String>,
    pub(crate) model_config: Option<String>,
}

impl Files {
    /// `split_pattern` is for folders with tiktoken ranks.
    pub(crate) fn read(folder: &Path, split_pattern: Option<&str>) -> Result<Self, LoadError> {
        let required = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(|error| LoadError::Read { path, error })
        };
        let optional = |name: &str| match required(name) {
            Ok(text) => Ok(Some(text)),
            Err(LoadError::Read { error, .. }) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let tokenizer_config = required(TOKENIZER_CONFIG)?;
        let tokenizer = match optional("tokenizer.json")? {
            Some(tokenizer) => tokenizer,
            None => match tiktoken::FILES.into_iter().find(|name| folder.join(name).is_file()) {
                Some(name) => {
                    let config = Json::Object(object(TOKENIZER_CONFIG, &tokenizer_config)?);
                    tiktoken::tokenizer_json(name, &required(name)?, &config, split_pattern)?
                }
                None => required("tokenizer.json")?,
            },
        };
        Ok(Self {
            tokenizer,
            tokenizer_config,
            chat_template: optional("chat_template.jinja")?,
            additional_templates: named::additional(folder)?,
            generation_config: optional("generation_config.json")?,
            model_config: optional("config.json")?,
        })
    }
}

/// What `tokenizer_config.json` and `generation_config.json` say.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Name and text, as templates see them.
    pub(crate) special_tokens: Vec<(String, String)>,
    pub(crate) templates: Templates,
    /// Ids that end a turn.
    pub(crate) eos_ids: Vec<u32>,
    /// The name of the model's architecture.
    pub(crate) architecture: Option<String>,
}

pub(crate) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
const GENERATION_CONFIG: &str = "generation_config.json";
const MODEL_CONFIG: &str = "config.json";

impl Config {
    pub(crate) fn read(parts: &Parts<'_>) -> Result<Self, LoadError> {
        let mut config = Self::default();
        let fields = object(TOKENIZER_CONFIG, parts.tokenizer_config)?;
        for name in
            ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
        {
            if let Some(text) = special_token(&fields, name)? {
                config.special_tokens.push((name.to_owned(), text));
            }
        }
        config.templates = Templates::read(fields.get("chat_template"), parts)?;
        if let Some(text) = parts.generation_config {
            config.eos_ids = eos_ids(object(GENERATION_CONFIG, text)?.get("eos_token_id"))?;
        }
        if let Some(text) = parts.model_config {
            config.architecture = architecture(object(MODEL_CONFIG, text)?.get("architectures"))?;
        }
        Ok(config)
    }

    /// The special token of that name.
    pub(crate) fn special(&self, name: &str) -> Option<&str> {
        self.special_tokens.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

pub(crate) fn wrong(file: &'static str, field: &str, expected: &'static str, found: &Json) -> LoadError {
    let mut found = found.to_string();
    if let Some((at, _)) = found.char_indices().nth(80) {
        found.truncate(at);
        found.push('…');
    }
    LoadError::Field { file, field: field.to_owned(), expected, found }
}

fn object(file: &'static str, text: &str) -> Result<Map<String, Json>, LoadError> {
    match serde_json::from_str(text) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(other) => Err(wrong(file, "the file", "a JSON object", &other)),
        Err(error) => Err(LoadError::Field {
            file,
            field: "the file".to_owned(),
            expected: "a JSON object",
            found: error.to_string(),
        }),
    }
}

/// A special token is a text, or an object that holds it as `content`.
fn special_token(fields: &Map<String, Json>, name: &str) -> Result<Option<String>, LoadError> {
    let field = match fields.get(name) {
        None | Some(Json::Null) => return Ok(None),
        Some(field) => field,
    };
    let text = field.as_str().or_else(|| field.get("content")?.as_str());
    let text =
        text.ok_or_else(|| wrong(TOKENIZER_CONFIG, name, "a text or an object with content", field))?;
    Ok(Some(text.to_owned()))
}

fn eos_ids(field: Option<&Json>) -> Result<Vec<u32>, LoadError> {
    let one = |id: &Json| {
        id.as_u64()
            .and_then(|id| u32::try_from(id).ok())
            .ok_or_else(|| wrong(GENERATION_CONFIG, "eos_token_id", "a token id or a list of them", id))
    };
    match field {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(ids)) => ids.iter().map(one).collect(),
        Some(id) => Ok(vec![one(id)?]),
    }
}

/// The first of a list of names.
fn architecture(field: Option<&Json>) -> Result<Option<String>, LoadError> {
    match field {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Array(names)) if names.iter().all(Json::is_string) => {
            Ok(names.first().and_then(Json::as_str).map(str::to_owned))
        }
        Some(other) => Err(wrong(MODEL_CONFIG, "architectures", "a list of names", other)),
    }
}
