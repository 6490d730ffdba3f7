//! Things that are picked by name, each registered once.

use std::{collections::BTreeMap, fmt};

use respool_core::Fault;

/// A name was registered twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("two {kind}s are named `{name}`, expected different names")]
pub struct NameTaken {
    /// What was registered: `interaction` or `reward function`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
}

pub(crate) struct Named<T: ?Sized> {
    kind: &'static str,
    items: BTreeMap<String, Box<T>>,
}

impl<T: ?Sized> Named<T> {
    pub(crate) const fn new(kind: &'static str) -> Self {
        Self { kind, items: BTreeMap::new() }
    }

    /// Names that are known to differ.
    pub(crate) fn of<const N: usize>(kind: &'static str, items: [(&str, Box<T>); N]) -> Self {
        let items = items.into_iter().map(|(name, item)| (name.to_owned(), item));
        Self { kind, items: items.collect() }
    }

    pub(crate) fn add(&mut self, name: &str, item: Box<T>) -> Result<(), NameTaken> {
        if self.items.contains_key(name) {
            return Err(NameTaken { kind: self.kind, name: name.to_owned() });
        }
        self.items.insert(name.to_owned(), item);
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Result<&T, Fault> {
        self.items.get(name).map(AsRef::as_ref).ok_or_else(|| {
            let known: Vec<_> = self.names().map(|known| format!("`{known}`")).collect();
            let kind = self.kind;
            Fault::terminal(match known.as_slice() {
                [] => format!("unknown {kind} `{name}`: none is registered"),
                known => format!("unknown {kind} `{name}`, expected one of {}", known.join(", ")),
            })
        })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.items.keys().map(String::as_str)
    }

    /// Runs what others wrote: a panic is that rollout's fault, and a number must be finite.
    pub(crate) async fn guarded<V>(
        &self,
        name: &str,
        work: impl Future<Output = Result<V, Fault>>,
        number: impl Fn(&V) -> Option<f64>,
    ) -> Result<V, Fault> {
        let kind = self.kind;
        let value = respool_stack::caught(work)
            .await
            .unwrap_or_else(|panic| Err(Fault::terminal(format!("{kind} `{name}` panicked: {panic}"))))?;
        match number(&value) {
            Some(number) if !number.is_finite() => {
                Err(Fault::terminal(format!("{kind} `{name}` gave {number}, expected a finite number")))
            }
            _ => Ok(value),
        }
    }
}

impl<T: ?Sized> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
