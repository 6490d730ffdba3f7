//! A model family's dialect from its Hugging Face files.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use minijinja::value::Value;
use respool_core::{
    Chat, Continuation, ContinuationMode, ControlTokens, Dialect, DialectError, Encoded, Fingerprint,
    JsonText, ParsedTurn, Token, ToolCall, ToolSpec,
};

use crate::auto::{self, FormatEvidence};
use crate::continuation::{Next, Turns};
use crate::fingerprint;
use crate::format::{ToolFormat, Unwritable, tool_format, write_turn};
use crate::load::{Config, Files, LoadError, Parts};
use crate::memo::Memo;
use crate::messages::{self, ReasoningFields};
use crate::opaque::{Guarded, Opaque, unused_letters};
use crate::options::{DialectOptions, ToolResults};
use crate::probe;
use crate::report::ContinuationReport;
use crate::shortcut::Shortcuts;
use crate::template::{RenderInput, Scene, Template};
use crate::turn_reader;
use crate::vocabulary::Vocabulary;

/// A dialect from a model folder: `tokenizer.json` (or tiktoken ranks), `tokenizer_config.json`,
/// `chat_template.jinja` and `generation_config.json`.
pub struct HfDialect {
    pub(crate) name: String,
    pub(crate) options: DialectOptions,
    pub(crate) vocabulary: Vocabulary,
    template: Template,
    tool_template: Option<Template>,
    /// Names of all templates of the folder.
    template_names: Vec<String>,
    pub(crate) fields: ReasoningFields,
    special_tokens: Vec<(String, String)>,
    stop_tokens: Vec<Token>,
    format: &'static dyn ToolFormat,
    evidence: FormatEvidence,
    /// Ids of the format's markers that are one token each, in order, and their spellings.
    markers: Vec<Token>,
    pub(crate) single_tokens: Arc<[String]>,
    fingerprint: Fingerprint,
    report: ContinuationReport,
    shortcuts: Shortcuts,
    prompts: Memo,
    /// Ids of the system text that `continuation = reference` cuts off.
    pub(crate) reference_prefix: usize,
}

impl HfDialect {
    /// Reads a model folder.
    ///
    /// # Errors
    /// If a file is missing or not as expected, the template does not compile, or an option does
    /// not fit it; the message names file and field, or the option.
    pub fn load(folder: &Path, options: DialectOptions) -> Result<Self, LoadError> {
        let files = Files::read(folder, options.split_pattern.as_deref())?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        let parts = Parts {
            name: &name,
            tokenizer: &files.tokenizer,
            tokenizer_config: &files.tokenizer_config,
            chat_template: files.chat_template.as_deref(),
            additional_templates: &files.additional_templates,
            generation_config: files.generation_config.as_deref(),
            model_config: files.model_config.as_deref(),
        };
        Self::from_parts(&parts, options)
    }

    /// Builds a dialect from the texts of its files.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_parts(parts: &Parts<'_>, options: DialectOptions) -> Result<Self, LoadError> {
        let config = Config::read(parts)?;
        let chosen = config.templates.choose(&options)?;
        let template = Template::new(parts.name, &chosen.template, options.clock)?;
        let tool_template = chosen.tool_template.as_deref();
        let tool_template =
            tool_template.map(|source| Template::new(parts.name, source, options.clock)).transpose()?;
        let vocabulary = Vocabulary::new(parts.tokenizer.as_bytes()).map_err(LoadError::Tokenizer)?;
        let writes_calls = tool_template.as_ref().unwrap_or(&template);
        let (format, evidence) = choose_format(&options, writes_calls, config.architecture.as_deref())?;
        if options.tool_results == ToolResults::Harmony && format.name() != "gpt_oss" {
            return Err(LoadError::NotHarmony(format.name()));
        }
        let markers = turn_reader::single_tokens(format, |text| {
            vocabulary.controls().spelled(text).map(|control| control.id)
        });
        let mut dialect = Self {
            name: parts.name.to_owned(),
            stop_tokens: stop_tokens(&config, &vocabulary, format)?,
            fingerprint: fingerprint::of(parts, &config, &chosen, &options, format.name()),
            special_tokens: config.special_tokens,
            fields: ReasoningFields::of(&chosen.template),
            options,
            vocabulary,
            template,
            tool_template,
            template_names: chosen.names,
            format,
            evidence,
            markers: markers.iter().map(|(id, _)| *id).collect(),
            single_tokens: markers.into_iter().map(|(_, spelling)| spelling).collect(),
            report: ContinuationReport::default(),
            shortcuts: Shortcuts::default(),
            prompts: Memo::default(),
            reference_prefix: 0,
        };
        match dialect.options.continuation {
            ContinuationMode::Template => {
                dialect.report = ContinuationReport::of(&dialect);
                dialect.shortcuts = probe::shortcuts(&dialect);
            }
            ContinuationMode::Reference => dialect.reference_prefix = dialect.measure_reference_prefix()?,
        }
        Ok(dialect)
    }

    /// How the template takes new messages, as found at load. With `continuation = reference` it is
    /// not asked and both are append-only.
    #[must_use]
    pub fn continuations(&self) -> &ContinuationReport {
        &self.report
    }

    #[cfg(test)]
    pub(crate) fn shortcuts(&self) -> &Shortcuts {
        &self.shortcuts
    }

    /// The chat template for chats with or without tools.
    #[must_use]
    pub fn template(&self, with_tools: bool) -> &Template {
        self.tool_template.as_ref().filter(|_| with_tools).unwrap_or(&self.template)
    }

    /// The variables such as `bos_token` that templates see.
    #[must_use]
    pub fn special_tokens(&self) -> &[(String, String)] {
        &self.special_tokens
    }

    /// The tool-call format.
    #[must_use]
    pub fn tool_format(&self) -> &'static dyn ToolFormat {
        self.format
    }

    /// Why it has this tool-call format.
    #[must_use]
    pub fn format_evidence(&self) -> &FormatEvidence {
        &self.evidence
    }

    /// The names of the model folder's chat templates: `default` where there is one without a name.
    #[must_use]
    pub fn template_names(&self) -> &[String] {
        &self.template_names
    }

    /// The id of a token by its spelling.
    #[must_use]
    pub fn token(&self, spelling: &str) -> Option<Token> {
        self.vocabulary.id_of(spelling)
    }

    /// The ids of a text, control tokens found wherever they are spelled out, none added.
    ///
    /// # Errors
    /// If the tokenizer fails on it.
    pub fn encode_text(&self, text: &str) -> Result<Vec<Token>, DialectError> {
        self.vocabulary.encode(text).map_err(|error| self.tokenizer_error(&error))
    }

    /// The text of a turn as this family writes it: what it says, then calls; either may be missing.
    /// No stop token at its end.
    ///
    /// # Errors
    /// If it would not be read as it was meant: some calls have no written form, some texts look
    /// like calls, and in some families calls stand alone.
    pub fn write_turn(
        &self,
        said: &str,
        calls: &[ToolCall],
        tools: &Arc<[ToolSpec]>,
    ) -> Result<String, Unwritable> {
        write_turn(self.format, said, calls, tools)
    }

    /// As [`Dialect::encode_chat`], for messages as JSON, which can say more than ours: null
    /// content, arguments as text, fields of one family. `special_tokens` are the dialect's own.
    ///
    /// # Errors
    /// If the template refuses the messages.
    pub fn encode_json(&self, input: &RenderInput<'_>) -> Result<Encoded, DialectError> {
        let input = RenderInput { special_tokens: &self.special_tokens, ..*input };
        let (scene, messages) = input.values().map_err(|error| DialectError::new(error.to_string()))?;
        self.encode_values(&scene, &messages, input.add_generation_prompt)
    }

    /// As [`Dialect::encode_continuation`], for messages as JSON; the last of `input.messages` is
    /// the sampled turn.
    ///
    /// # Errors
    /// If the template refuses the messages.
    pub fn encode_continuation_json(
        &self,
        input: &RenderInput<'_>,
        new_messages: &JsonText,
        last_token: Option<Token>,
    ) -> Result<Encoded, DialectError> {
        let wrong = |error: crate::template::TemplateError| DialectError::new(error.to_string());
        let input = RenderInput { special_tokens: &self.special_tokens, ..*input };
        let (scene, mut prefix) = input.values().map_err(wrong)?;
        let turn = prefix.pop();
        let new = crate::template::messages(new_messages, input.string_arguments).map_err(wrong)?;
        self.encode_next(&Next { scene: &scene, turns: Turns { prefix, turn, new }, last_token })
    }

    /// Calls `then` with the continuation as the template sees it.
    pub(crate) fn with_next<T>(
        &self,
        continuation: &Continuation<'_>,
        then: impl FnOnce(&Next<'_>) -> Result<T, DialectError>,
    ) -> Result<T, DialectError> {
        let chat = &continuation.chat;
        let scene = self.scene(messages::tools(chat.tools), chat.template_args)?;
        let value = |message| messages::message(message, &self.fields);
        let mut prefix: Vec<Value> = chat.messages.iter().map(value).collect();
        let turn = prefix.pop();
        let new = continuation.new_messages.iter().map(value).collect();
        then(&Next { scene: &scene, turns: Turns { prefix, turn, new }, last_token: continuation.last_token })
    }

    pub(crate) fn scene(&self, tools: Value, args: &JsonText) -> Result<Scene, DialectError> {
        Scene::new(tools, &self.special_tokens, args).map_err(|error| DialectError::new(error.to_string()))
    }

    fn encode_values(
        &self,
        scene: &Scene,
        messages: &[Value],
        generation_prompt: bool,
    ) -> Result<Encoded, DialectError> {
        let [bracket, _] = unused_letters(messages.iter().chain(scene.context.0.values()))
            .map_err(|_| DialectError::new("the messages use every letter of the cuneiform block"))?;
        let mut opaque = Opaque::new(self.vocabulary.controls(), bracket);
        let messages = self.hidden(&mut opaque, messages);
        let text = self
            .template_for(scene)
            .render_values(scene, messages, generation_prompt)
            .map_err(|error| DialectError::new(error.to_string()))?;
        let tokens = self.prompts.tokens(opaque.reveal(&text), |prompt| self.encode_guarded(prompt))?;
        Ok(Encoded { tokens, changes: Vec::new() })
    }

    pub(crate) fn template_for(&self, scene: &Scene) -> &Template {
        self.template(scene.context.0.get("tools").is_some_and(Value::is_true))
    }

    /// The messages as the template sees them: control strings hidden with `control_tokens = plain`.
    pub(crate) fn hidden(&self, opaque: &mut Opaque<'_>, messages: &[Value]) -> Vec<Value> {
        match self.options.control_tokens {
            ControlTokens::Plain => messages.iter().map(|message| opaque.hide_message(message)).collect(),
            ControlTokens::Parse => messages.to_vec(),
        }
    }

    pub(crate) fn encode_guarded(&self, guarded: &Guarded) -> Result<Vec<Token>, DialectError> {
        self.vocabulary.encode_guarded(guarded).map_err(|error| self.tokenizer_error(&error))
    }

    fn tokenizer_error(&self, error: &str) -> DialectError {
        DialectError::new(format!("tokenizer {}: {error}", self.name))
    }

    /// Whether it is a control token.
    pub(crate) fn is_control(&self, token: Token) -> bool {
        self.vocabulary.controls().iter().any(|control| control.id == token)
    }

    pub(crate) fn is_single_marker(&self, token: Token) -> bool {
        self.markers.binary_search(&token).is_ok()
    }
}

impl Dialect for HfDialect {
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn stop_tokens(&self) -> &[Token] {
        &self.stop_tokens
    }

    fn encode_chat(&self, chat: &Chat<'_>) -> Result<Encoded, DialectError> {
        let scene = self.scene(messages::tools(chat.tools), chat.template_args)?;
        let messages: Vec<Value> =
            chat.messages.iter().map(|message| messages::message(message, &self.fields)).collect();
        self.encode_values(&scene, &messages, true)
    }

    fn encode_continuation(&self, continuation: &Continuation<'_>) -> Result<Encoded, DialectError> {
        match self.shortcuts.encode(self, continuation) {
            Some(encoded) => Ok(encoded),
            None => self.with_next(continuation, |next| self.encode_next(next)),
        }
    }

    fn parse_turn(&self, before: &[Token], turn: &[Token], tools: &[ToolSpec], complete: bool) -> ParsedTurn {
        turn_reader::parsed(self.turn_reader(before, tools), turn, complete)
    }

    fn token_bytes(&self, token: Token, out: &mut Vec<u8>) {
        out.extend_from_slice(self.vocabulary.bytes_of(token));
    }
}

impl fmt::Debug for HfDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HfDialect")
            .field("name", &self.name)
            .field("options", &self.options)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

fn choose_format(
    options: &DialectOptions,
    template: &Template,
    architecture: Option<&str>,
) -> Result<(&'static dyn ToolFormat, FormatEvidence), LoadError> {
    let name = options.tool_format.as_str();
    if let Some(format) = options.own_format.or_else(|| tool_format(name)) {
        return Ok((format, FormatEvidence::Option));
    }
    if name != "auto" {
        return Err(LoadError::UnknownToolFormat(name.to_owned()));
    }
    auto::tell(template.source(), architecture)
        .ok_or_else(|| LoadError::UnclearToolFormat(template.name().to_owned()))
}

/// `eos_token`, `eos_token_id` of the generation config, and the format's own, in this order.
fn stop_tokens(
    config: &Config,
    vocabulary: &Vocabulary,
    format: &dyn ToolFormat,
) -> Result<Vec<Token>, LoadError> {
    let mut stops = Vec::new();
    if let Some(eos) = config.special("eos_token") {
        stops.push(vocabulary.id_of(eos).ok_or_else(|| LoadError::Field {
            file: "tokenizer_config.json",
            field: "eos_token".to_owned(),
            expected: "a token of tokenizer.json",
            found: eos.to_owned(),
        })?);
    }
    stops.extend(&config.eos_ids);
    stops.extend(format.stop_tokens().iter().filter_map(|spelling| vocabulary.id_of(spelling)));
    let mut seen = std::collections::BTreeSet::new();
    stops.retain(|stop| seen.insert(*stop));
    if stops.is_empty() {
        return Err(LoadError::Field {
            file: "tokenizer_config.json",
            field: "eos_token".to_owned(),
            expected: "a token here, or eos_token_id in generation_config.json",
            found: "neither".to_owned(),
        });
    }
    Ok(stops)
}

#[cfg(test)]
mod tests;
