//! How a core value becomes its mirror and back.

use std::{collections::BTreeMap, sync::Arc};

use crate::error::Invalid;

/// A serializable copy of the core value `Core`.
pub(crate) trait Mirror<Core>: Sized {
    /// Copies every field.
    fn store(core: &Core) -> Self;
    /// Copies every field back, and checks what the core type promises.
    fn load(self) -> Result<Core, Invalid>;
}

/// Declares the mirror of a core type of the same name, with its fields or variants in written
/// order. Both directions destructure without `..`, so a field or variant that core has and the
/// mirror has not does not compile.
macro_rules! mirror {
    (struct $Name:ident { $($field:ident: $Type:ty),* $(,)? }) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        pub(crate) struct $Name { $($field: $Type),* }

        impl $crate::v1::Mirror<respool_core::$Name> for $Name {
            fn store(core: &respool_core::$Name) -> Self {
                let respool_core::$Name { $($field),* } = core;
                Self { $($field: $crate::v1::Mirror::store($field)),* }
            }

            fn load(self) -> Result<respool_core::$Name, $crate::error::Invalid> {
                let Self { $($field),* } = self;
                Ok(respool_core::$Name {
                    $($field: $crate::v1::Mirror::load($field).map_err(|e| e.within(stringify!($field)))?),*
                })
            }
        }
    };
    (enum $Name:ident {
        $($Variant:ident $(($inner:ident: $Inner:ty))? $({ $($field:ident: $Type:ty),* $(,)? })?),* $(,)?
    }) => {
        #[derive(serde::Serialize, serde::Deserialize)]
        pub(crate) enum $Name { $($Variant $(($Inner))? $({ $($field: $Type),* })?),* }

        impl $crate::v1::Mirror<respool_core::$Name> for $Name {
            fn store(core: &respool_core::$Name) -> Self {
                match core {
                    $(respool_core::$Name::$Variant $(($inner))? $({ $($field),* })? => Self::$Variant
                        $(($crate::v1::Mirror::store($inner)))?
                        $({ $($field: $crate::v1::Mirror::store($field)),* })?),*
                }
            }

            fn load(self) -> Result<respool_core::$Name, $crate::error::Invalid> {
                Ok(match self {
                    $(Self::$Variant $(($inner))? $({ $($field),* })? => respool_core::$Name::$Variant
                        $(($crate::v1::Mirror::load($inner)?))?
                        $({ $($field: $crate::v1::Mirror::load($field)
                            .map_err(|e| e.within(stringify!($field)))?),* })?),*
                })
            }
        }
    };
}

/// Values that are their own mirror. Floats are written by their bits.
macro_rules! own_mirror {
    ($($Type:ty),*) => { $(
        impl Mirror<Self> for $Type {
            fn store(core: &Self) -> Self {
                core.clone()
            }

            fn load(self) -> Result<Self, Invalid> {
                Ok(self)
            }
        }
    )* };
}

own_mirror!(bool, u32, u64, i32, f32, f64, String);

impl<C, M: Mirror<C>> Mirror<Option<C>> for Option<M> {
    fn store(core: &Option<C>) -> Self {
        core.as_ref().map(M::store)
    }

    fn load(self) -> Result<Option<C>, Invalid> {
        self.map(M::load).transpose()
    }
}

impl<C, M: Mirror<C>> Mirror<Vec<C>> for Vec<M> {
    fn store(core: &Vec<C>) -> Self {
        core.iter().map(M::store).collect()
    }

    fn load(self) -> Result<Vec<C>, Invalid> {
        let items = self.into_iter().enumerate();
        items.map(|(at, item)| item.load().map_err(|error| error.within(&format!("[{at}]")))).collect()
    }
}

impl<C, M: Mirror<C>> Mirror<BTreeMap<String, C>> for BTreeMap<String, M> {
    fn store(core: &BTreeMap<String, C>) -> Self {
        core.iter().map(|(key, value)| (key.clone(), M::store(value))).collect()
    }

    fn load(self) -> Result<BTreeMap<String, C>, Invalid> {
        self.into_iter()
            .map(|(key, value)| match value.load() {
                Ok(value) => Ok((key, value)),
                Err(error) => Err(error.within(&format!("[{key:?}]"))),
            })
            .collect()
    }
}

impl<A, B, M: Mirror<A>, N: Mirror<B>> Mirror<(A, B)> for (M, N) {
    fn store((a, b): &(A, B)) -> Self {
        (M::store(a), N::store(b))
    }

    fn load(self) -> Result<(A, B), Invalid> {
        Ok((self.0.load()?, self.1.load()?))
    }
}

impl<C, M: Mirror<C>> Mirror<Arc<C>> for M {
    fn store(core: &Arc<C>) -> Self {
        M::store(core)
    }

    fn load(self) -> Result<Arc<C>, Invalid> {
        M::load(self).map(Arc::new)
    }
}
