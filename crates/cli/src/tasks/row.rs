//! One row: the columns of the reference's datasets.

use std::collections::BTreeMap;

use respool_core::{JsonText, Message};
use serde::Deserialize;

use super::{
    BadRow, Ignored,
    columns::{BadField, Columns},
    message::RowMessage,
};
use crate::config::SamplingSection;

/// What a row says.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) messages: Vec<Message>,
    pub(crate) data_source: String,
    pub(crate) agent_name: Option<String>,
    pub(crate) ground_truth: Option<JsonText>,
    /// The whole column as it is written.
    pub(crate) extra_info: JsonText,
    /// `extra_info.answer`: the reference solution.
    pub(crate) answer: Option<String>,
    /// `create_kwargs` by tool name.
    pub(crate) tools_kwargs: BTreeMap<String, JsonText>,
    pub(crate) interaction: Option<RowInteraction>,
    pub(crate) sampling: SamplingSection,
}

/// `extra_info.interaction_kwargs`.
#[derive(Debug)]
pub(crate) struct RowInteraction {
    pub(crate) name: Option<String>,
    /// All of it as it is written.
    pub(crate) kwargs: JsonText,
}

/// A name, as datasets write it.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a string or an integer")]
enum Id {
    Text(String),
    Number(i64),
}

/// Columns of the reference's datasets that say nothing about a rollout.
const UNUSED: [&str; 1] = ["ability"];

impl Row {
    /// The row and its task's name.
    pub(super) fn parse(line: &[u8], number: u64, ignored: &mut Ignored) -> Result<(String, Self), BadRow> {
        let bad = |task_id, BadField { field, reason }| BadRow { task_id, line: number, field, reason };
        let mut columns = Columns::of_line(line.trim_ascii()).map_err(|field| bad(None, field))?;
        let id = task_id(&mut columns, number).map_err(|field| bad(None, field))?;
        let row = Self::of(&mut columns).map_err(|field| bad(Some(id.clone()), field))?;
        for column in columns.rest().filter(|column| !UNUSED.contains(&column.as_str())) {
            ignored.add(format!("column `{column}`"), number);
        }
        Ok((id, row))
    }

    fn of(columns: &mut Columns) -> Result<Self, BadField> {
        let prompt: Option<Vec<RowMessage>> = columns.take("prompt")?;
        let messages: Vec<Message> = prompt.unwrap_or_default().into_iter().map(Message::from).collect();
        if messages.is_empty() {
            return Err(BadField::new("prompt", "expected a list of at least one message"));
        }
        let ground_truth = columns.object("reward_model")?.take_json("ground_truth")?;
        columns.forget("reward_model");
        let extra = columns.object("extra_info")?;
        let extra_info = columns.take_json("extra_info")?.unwrap_or_else(JsonText::empty_object);
        Ok(Self {
            messages,
            data_source: columns.take("data_source")?.unwrap_or_default(),
            agent_name: columns.take("agent_name")?,
            ground_truth,
            answer: extra.peek("answer").and_then(|text| serde_json::from_str(text).ok()),
            tools_kwargs: tools_kwargs(&extra)?,
            interaction: interaction(&extra)?,
            extra_info,
            sampling: columns.take("sampling")?.unwrap_or_default(),
        })
    }
}

/// The row's own name, else `data_source/split/index`, else the number of its line.
fn task_id(columns: &mut Columns, line: u64) -> Result<String, BadField> {
    for name in ["task_id", "uid"] {
        if let Some(id) = columns.take::<Id>(name)? {
            return match id.text() {
                id if id.is_empty() => Err(BadField::new(name, "expected a name, found an empty string")),
                id => Ok(id),
            };
        }
    }
    let mut extra = columns.object("extra_info")?;
    let source = columns.peek("data_source").and_then(|text| serde_json::from_str::<String>(text).ok());
    Ok(match (source, extra.take::<Id>("split")?, extra.take::<Id>("index")?) {
        (Some(source), Some(split), Some(index)) => format!("{source}/{}/{}", split.text(), index.text()),
        _ => line.to_string(),
    })
}

impl Id {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// As in the reference only `create_kwargs` says something to a tool.
fn tools_kwargs(extra: &Columns) -> Result<BTreeMap<String, JsonText>, BadField> {
    let all = extra.object("tools_kwargs")?;
    let mut by_tool = BTreeMap::new();
    for tool in all.names() {
        let kwargs = all.object(&tool)?.take_json("create_kwargs")?.unwrap_or_else(JsonText::empty_object);
        if !kwargs.is_object() {
            return Err(BadField::new(
                format!("{}.create_kwargs", all.path_of(&tool)),
                "expected a JSON object",
            ));
        }
        by_tool.insert(tool, kwargs);
    }
    Ok(by_tool)
}

fn interaction(extra: &Columns) -> Result<Option<RowInteraction>, BadField> {
    let Some(text) = extra.peek("interaction_kwargs").map(str::to_owned) else { return Ok(None) };
    let name = extra.object("interaction_kwargs")?.take("name")?;
    let kwargs = JsonText::new(text)
        .map_err(|error| BadField::new(extra.path_of("interaction_kwargs"), error.to_string()))?;
    Ok((kwargs.as_str() != "{}").then_some(RowInteraction { name, kwargs }))
}
