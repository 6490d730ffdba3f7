//! What a rollout is asked to do.

use std::collections::BTreeMap;

use super::{
    limits::{Limits, Options},
    message::Message,
    seam::{Json, RolloutId},
};

mirror!(
    struct RolloutSpec {
        id: RolloutId,
        task_id: String,
        group_id: String,
        sample_index: u32,
        agent_name: String,
        kind: LoopKind,
        seed: u64,
        messages: Vec<Message>,
        tools: Vec<ToolSpec>,
        tools_kwargs: BTreeMap<String, Json>,
        interaction: Option<InteractionSpec>,
        template_args: Json,
        sampling: Sampling,
        limits: Limits,
        options: Options,
        data_source: String,
        ground_truth: Option<Json>,
        extra_info: Json,
    }
);

mirror!(
    struct Sampling {
        temperature: Option<f32>,
        top_p: Option<f32>,
        top_k: Option<i32>,
        min_p: Option<f32>,
        repetition_penalty: Option<f32>,
        presence_penalty: Option<f32>,
        frequency_penalty: Option<f32>,
        min_new_tokens: Option<u32>,
        stop: Vec<String>,
        stop_token_ids: Vec<u32>,
        ignore_eos: bool,
    }
);

mirror!(
    struct ToolSpec {
        name: String,
        schema: Json,
        replay: Replay,
        session: SessionPolicy,
    }
);

mirror!(
    struct InteractionSpec {
        name: String,
        kwargs: Json,
    }
);

mirror!(
    enum LoopKind {
        Tools,
        SingleTurn,
    }
);
mirror!(
    enum Replay {
        Pure,
        Keyed,
        Once,
    }
);
mirror!(
    enum SessionPolicy {
        Stateless,
        Reattach,
        Rebuild,
        Lost,
    }
);
