//! Who answers in the user's place, and what a trajectory is worth.
//!
//! [`Interactions`] gives the service that replies to the policy by the name of an
//! [`Interaction`]; [`Scripted`] is built in. [`Rewards`] scores finished rollouts by the name of
//! a [`Reward`] function; [`Gsm8k`] and [`ExactMatch`] are built in.
//!
//! It is deliberately not the rules: when a reply is wanted, what it does to the rollout, and
//! whether a rollout with an infrastructure error has a reward is said elsewhere.
//!
//! *Invariant:* nothing here keeps a rollout's state; a reply is a function of its request.
//!
//! ```
//! use respool_interact::{Gsm8k, Interactions, Rewards, Scripted, ScriptedReply};
//!
//! let hint = ScriptedReply { content: "not quite".to_owned(), score: Some(0.0), terminate: false };
//! let interactions = Interactions::new().with("teacher", Scripted::new([hint]))?;
//! assert_eq!(interactions.names().collect::<Vec<_>>(), ["teacher"]);
//! let _service = interactions.service();
//!
//! let rewards = Rewards::built_in().with("half", Gsm8k { score: 0.5, ..Gsm8k::flexible() })?;
//! assert!(rewards.check("half").is_ok());
//! assert_eq!(Gsm8k::strict().answer("so she has 18.\n#### 1,018"), Some("1,018"));
//! # Ok::<(), respool_interact::NameTaken>(())
//! ```

mod interaction;
mod scripted;

mod gsm8k;
mod number;
mod reward;

mod named;

pub use gsm8k::{ExactMatch, Gsm8k, Gsm8kMethod};
pub use interaction::{Interaction, Interactions, reply_index};
pub use named::NameTaken;
pub use reward::{Reward, RewardInput, Rewards};
pub use scripted::{Scripted, ScriptedReply};
