//! Limits and options.

mirror!(
    struct Limits {
        prompt_length: u32,
        response_length: u32,
        context_length: Option<u32>,
        turn_length: Option<u32>,
        max_assistant_turns: Option<u32>,
        max_user_turns: Option<u32>,
        max_parallel_calls: u32,
        max_tool_response_length: u32,
        max_attempts: u32,
    }
);

mirror!(
    struct Options {
        compat: Compat,
        truncate_side: TruncateSide,
        prompt_overflow: PromptOverflow,
        partial_rollout: bool,
        partial_off: PartialOff,
        tool_interrupt: ToolInterrupt,
        reward_on_infrastructure: bool,
    }
);

mirror!(
    struct Compat {
        continuation: ContinuationMode,
        calls_over_limit: CallsOverLimit,
        malformed_calls: MalformedCalls,
        failed_call_reward: FailedCallReward,
        truncate_keep_old: bool,
        terminating_reply_tokens: TerminatingReplyTokens,
        control_tokens: ControlTokens,
    }
);

mirror!(
    enum TruncateSide {
        Left,
        Middle,
        Right,
    }
);
mirror!(
    enum PromptOverflow {
        Fail,
        CutLeft,
        CutRight,
    }
);
mirror!(
    enum ToolInterrupt {
        Finish,
        Detach,
    }
);
mirror!(
    enum PartialOff {
        Finish,
        Restart,
    }
);
mirror!(
    enum CallsOverLimit {
        Answer,
        Drop,
    }
);
mirror!(
    enum MalformedCalls {
        Answer,
        Drop,
    }
);
mirror!(
    enum FailedCallReward {
        None,
        Zero,
    }
);
mirror!(
    enum TerminatingReplyTokens {
        Omit,
        Append,
    }
);
mirror!(
    enum ContinuationMode {
        Template,
        Reference,
    }
);
mirror!(
    enum ControlTokens {
        Plain,
        Parse,
    }
);
