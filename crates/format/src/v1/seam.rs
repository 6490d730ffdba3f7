//! Names, checked texts and faults: small values that everything else is made of.

use std::time::Duration;

use respool_core as core;
use serde::{Deserialize, Serialize};

use super::Mirror;
use crate::error::Invalid;

mirror!(
    struct EffectId {
        turn: u32,
        slot: u32,
        attempt: u32,
    }
);

mirror!(
    struct Fault {
        class: Class,
        message: String,
    }
);

mirror!(
    enum Class {
        Transient,
        Overloaded { after: Option<Span> },
        Terminal,
    }
);

mirror!(
    struct DialectError {
        message: String,
    }
);

/// A mirror that wraps one value and cannot fail.
macro_rules! wrapper {
    ($Name:ident($Inner:ty)) => {
        #[derive(Serialize, Deserialize)]
        pub(crate) struct $Name($Inner);

        impl Mirror<core::$Name> for $Name {
            fn store(core::$Name(value): &core::$Name) -> Self {
                Self(*value)
            }

            fn load(self) -> Result<core::$Name, Invalid> {
                Ok(core::$Name(self.0))
            }
        }
    };
}

wrapper!(RolloutId(u128));
wrapper!(PolicyVersion(u64));
wrapper!(Fingerprint([u8; 32]));

/// A [`core::JsonText`]; checked again when it is loaded.
#[derive(Serialize, Deserialize)]
pub(crate) struct Json(String);

impl Mirror<core::JsonText> for Json {
    fn store(core: &core::JsonText) -> Self {
        Self(core.as_str().to_owned())
    }

    fn load(self) -> Result<core::JsonText, Invalid> {
        core::JsonText::new(self.0).map_err(|error| Invalid::new("", error))
    }
}

/// A [`Duration`].
#[derive(Serialize, Deserialize)]
pub(crate) struct Span {
    seconds: u64,
    nanoseconds: u32,
}

impl Mirror<Duration> for Span {
    fn store(core: &Duration) -> Self {
        Self { seconds: core.as_secs(), nanoseconds: core.subsec_nanos() }
    }

    fn load(self) -> Result<Duration, Invalid> {
        let Self { seconds, nanoseconds } = self;
        if nanoseconds >= 1_000_000_000 {
            return Err(Invalid::new(
                "nanoseconds",
                format!("found {nanoseconds}, expected less than a second"),
            ));
        }
        Ok(Duration::new(seconds, nanoseconds))
    }
}
