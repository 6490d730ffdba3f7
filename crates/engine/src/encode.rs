//! Making tokens of the messages that the present state waits to have encoded.

use respool_core::{
    AgentData, AgentState, Chat, Continuation, DialectError, Encoded, Event, InteractReply, Message, Role,
    ToolSlot,
};

use crate::{Engine, batch};

impl Engine {
    /// Renders and tokenizes what the present state wants encoded, and gives the event to step
    /// with; `None` if nothing is to be encoded.
    ///
    /// A pure function of the engine. It takes time that grows with [`Self::encode_bytes`]: clone
    /// the engine and call it on another thread where that is much.
    #[must_use]
    pub fn encode(&self) -> Option<Event> {
        let effect = self.encode_effect();
        let result = match &self.state {
            AgentState::Pending => self.dialect.encode_chat(&self.chat()),
            AgentState::ProcessingTools { slots } if slots.iter().all(ToolSlot::has_returned) => {
                self.encode_new(&batch::messages(slots))
            }
            AgentState::Interacting { reply: Some(reply), .. } => self.encode_new(&[reply_message(reply)]),
            AgentState::Generating { .. }
            | AgentState::ProcessingTools { .. }
            | AgentState::Interacting { reply: None, .. }
            | AgentState::Terminated(_) => return None,
        };
        Some(match result {
            Ok(encoded) => Event::Encoded { effect, encoded },
            Err(error) => Event::EncodeFailed { effect, error },
        })
    }

    /// Bytes of text that [`Self::encode`] would render.
    #[must_use]
    pub fn encode_bytes(&self) -> usize {
        let chat = chat_bytes(&self.data);
        match &self.state {
            AgentState::Pending => chat,
            AgentState::ProcessingTools { slots } => chat + batch::bytes(slots),
            AgentState::Interacting { reply, .. } => {
                chat + reply.as_ref().map_or(0, |reply| reply.content.text_len())
            }
            AgentState::Generating { .. } | AgentState::Terminated(_) => 0,
        }
    }

    fn encode_new(&self, new_messages: &[Message]) -> Result<Encoded, DialectError> {
        let last_token = self.data.transcript.tokens().last().copied();
        self.dialect.encode_continuation(&Continuation { chat: self.chat(), new_messages, last_token })
    }

    fn chat(&self) -> Chat<'_> {
        let spec = &self.data.spec;
        Chat { messages: &self.data.messages, tools: spec.prompt_tools(), template_args: &spec.template_args }
    }
}

fn chat_bytes(data: &AgentData) -> usize {
    let messages: usize = data.messages.iter().map(message_bytes).sum();
    let tools: usize = data.spec.prompt_tools().iter().map(|tool| tool.schema.as_str().len()).sum();
    messages + tools
}

fn message_bytes(message: &Message) -> usize {
    let reasoning = message.reasoning.as_ref().map_or(0, String::len);
    let calls: usize = message.tool_calls.iter().map(|call| call.arguments.as_str().len()).sum();
    message.content.text_len() + reasoning + calls
}

/// The message that a reply becomes.
pub(crate) fn reply_message(reply: &InteractReply) -> Message {
    Message::new(Role::User, reply.content.clone())
}
