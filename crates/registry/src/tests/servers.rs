//! Servers that only take a version.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt;
use respool_core::{Fault, PolicyVersion};
use respool_llm::{ControlFuture, Health, ServerManager, WeightSync};
use respool_stack::GenerateService;

#[derive(Debug, Default)]
pub(super) struct Servers {
    pub(super) version: AtomicU64,
}

fn done<'a, T: Send + 'a>(value: T) -> ControlFuture<'a, T> {
    std::future::ready(Ok(value)).boxed()
}

impl ServerManager for Servers {
    fn generate(&self) -> GenerateService {
        GenerateService::new(tower::service_fn(|_| async {
            Err(Fault::terminal("these servers generate nothing"))
        }))
    }

    fn version(&self) -> PolicyVersion {
        PolicyVersion(self.version.load(Ordering::Relaxed))
    }

    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()> {
        self.version.store(version.0, Ordering::Relaxed);
        done(())
    }

    fn pause(&self, _: WeightSync) -> ControlFuture<'_, ()> {
        done(())
    }

    fn continue_generation(&self) -> ControlFuture<'_, ()> {
        done(())
    }

    fn abort_all(&self) -> ControlFuture<'_, ()> {
        done(())
    }

    fn health(&self) -> ControlFuture<'_, Health> {
        done(Health::default())
    }
}
