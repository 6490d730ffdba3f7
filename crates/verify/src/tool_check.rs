//! The seam of tools: one result, the same when it is asked again, whatever runs beside it.

use std::time::Duration;

use futures_util::future::join_all;
use proptest::{collection::vec, prelude::*, sample::select, test_runner::Config};
use respool_core::{
    Class, EffectId, JsonText, RolloutId, SessionAction, SessionPolicy, SessionRequest, ToolCall,
    ToolRequest, ToolResult,
};
use respool_stack::{SessionService, ToolService};
use tower::ServiceExt;

use crate::{CheckError, Clock, Violation, search::search, violation::Property};

/// How a tool service is checked.
#[derive(Clone, Debug)]
pub struct ToolConfig {
    /// How many cases, and where failures are kept.
    pub cases: Config,
    /// Calls to make: pure or keyed ones, for a `once` call is never repeated.
    pub calls: Vec<(String, JsonText)>,
    /// The task's arguments for creating a session.
    pub create_kwargs: JsonText,
    /// What the tools declare for a lost session.
    pub session: SessionPolicy,
    /// Releases the sessions, if there is one.
    pub sessions: Option<SessionService>,
    /// The latest moment at which a call is dropped.
    pub longest: Duration,
    /// By which clock the cases run.
    pub clock: Clock,
}

/// One call, and after which time it is dropped and asked again, if at all.
type Planned = ((String, JsonText), Option<Duration>);

/// Makes turns of calls in two fresh rollouts: in the first one after the other, in the second all
/// at once, some dropped midway and all asked again.
///
/// - Every call has a result; the service fails only in ways that may pass.
/// - A call asked again, or dropped and asked again, has the same result (metrics apart).
/// - Releasing sessions twice is no error.
///
/// # Errors
/// [`CheckError::Broken`] with the smallest turn that shows otherwise; [`CheckError::NotRun`] if there
/// are no calls to make.
pub fn check_tool_service(service: &ToolService, config: ToolConfig) -> Result<(), CheckError> {
    if config.calls.is_empty() {
        return Err(CheckError::NotRun("no calls are given, expected at least one".to_owned()));
    }
    let micros = u64::try_from(config.longest.as_micros()).unwrap_or(u64::MAX).max(1);
    let dropped = prop::option::of((0..micros).prop_map(Duration::from_micros));
    let strategy = (any::<u128>(), vec((select(config.calls.clone()), dropped), 1..5));
    let check = |(rollout, planned): (u128, Vec<Planned>)| {
        let check = Check { service, config: &config };
        let rollouts = [RolloutId(rollout), RolloutId(rollout.wrapping_add(1))];
        config.clock.run(check.both(rollouts, &planned))
    };
    search(config.cases.clone(), &strategy, check, |(_, planned)| format!("calls and drops: {planned:?}"))
}

struct Check<'a> {
    service: &'a ToolService,
    config: &'a ToolConfig,
}

impl Check<'_> {
    async fn both(&self, rollouts: [RolloutId; 2], planned: &[Planned]) -> Result<(), Violation> {
        let mut plain = Vec::with_capacity(planned.len());
        for (slot, (call, _)) in (0..).zip(planned) {
            plain.push(self.ask(self.request(rollouts[0], slot, 0, call)).await?);
        }
        let disturbed = (0..).zip(planned).map(|(slot, planned)| self.disturbed(rollouts[1], slot, planned));
        for ((call, _), (plain, disturbed)) in planned.iter().zip(plain.iter().zip(join_all(disturbed).await))
        {
            self.same(call, plain, &disturbed?)?;
        }
        for rollout in [rollouts[0], rollouts[1], rollouts[1]] {
            self.release(rollout).await?;
        }
        Ok(())
    }

    /// Drops the call midway if that is planned, then asks it twice.
    async fn disturbed(
        &self,
        rollout: RolloutId,
        slot: u32,
        (call, dropped): &Planned,
    ) -> Result<ToolResult, Violation> {
        if let Some(after) = dropped {
            let cut = tokio::time::timeout(*after, self.ask(self.request(rollout, slot, 0, call)));
            if let Ok(result) = cut.await {
                result?;
            }
        }
        let first = self.ask(self.request(rollout, slot, 1, call)).await?;
        let second = self.ask(self.request(rollout, slot, 2, call)).await?;
        self.same(call, &first, &second).map(|()| second)
    }

    async fn ask(&self, request: ToolRequest) -> Result<ToolResult, Violation> {
        let name = request.call.name.clone();
        self.service.clone().oneshot(request).await.map_err(|fault| {
            let hint = match fault.class {
                Class::Terminal => "; what a tool cannot do is a result, not a failure of the service",
                Class::Transient | Class::Overloaded { .. } => "",
            };
            Violation::new(
                Property::Answers,
                format!("the service failed for a call of {name}: {fault}{hint}"),
            )
        })
    }

    async fn release(&self, rollout: RolloutId) -> Result<(), Violation> {
        let Some(sessions) = self.config.sessions.clone() else { return Ok(()) };
        let request = SessionRequest { rollout, action: SessionAction::Release };
        let failed =
            |fault| Violation::new(Property::Answers, format!("the sessions were not released: {fault}"));
        sessions.oneshot(request).await.map_err(failed)
    }

    fn same(
        &self,
        call: &(String, JsonText),
        first: &ToolResult,
        second: &ToolResult,
    ) -> Result<(), Violation> {
        let bits = |result: &ToolResult| result.reward.map(f64::to_bits);
        if first.outcome == second.outcome && first.content == second.content && bits(first) == bits(second) {
            return Ok(());
        }
        let what = format!("{} with {} gives {first:?}, then {second:?}", call.0, call.1);
        Err(Violation::new(Property::ResumeEquivalence, what))
    }

    fn request(&self, rollout: RolloutId, slot: u32, attempt: u32, call: &(String, JsonText)) -> ToolRequest {
        let (name, arguments) = call.clone();
        ToolRequest {
            rollout,
            effect: EffectId { turn: 0, slot, attempt },
            call: ToolCall { id: format!("c0000000{slot}"), slot, name, arguments },
            create_kwargs: self.config.create_kwargs.clone(),
            session: self.config.session,
            history: Vec::new(),
        }
    }
}
