//! Services made for a target.

/// Makes a service for a target (a rollout, a server, a tool). Infallible and immediate: what can
/// fail or has to wait is in the service.
///
/// Every function from target to service is one.
pub trait NewService<Target> {
    /// What it makes.
    type Service;

    /// Makes a service for this target.
    fn new_service(&self, target: Target) -> Self::Service;
}

impl<F, Target, S> NewService<Target> for F
where
    F: Fn(Target) -> S,
{
    type Service = S;

    fn new_service(&self, target: Target) -> S {
        self(target)
    }
}
