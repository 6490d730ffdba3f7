//! The engine against its rules (tables) and its properties.

mod broken;
mod properties;
