//! The engine against its rules (tables) and its properties.

mod broken;
mod budgets;
mod calls;
mod properties;
mod replies;
mod scene;
mod turns;
mod versions;
