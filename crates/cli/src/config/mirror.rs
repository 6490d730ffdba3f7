//! Core knows no serde: its choices are mirrored here by the names that the file uses.

/// An enum with the variants of another one, in snake case in the file.
macro_rules! mirror {
    ($mirror:ident of $core:ident { $($variant:ident),+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(crate) enum $mirror { $($variant),+ }

        impl From<$mirror> for $core {
            fn from(mirror: $mirror) -> Self {
                match mirror { $($mirror::$variant => Self::$variant),+ }
            }
        }
    };
}

pub(super) use mirror;
