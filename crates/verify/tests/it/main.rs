//! The checks of services, on services that pass and on ones that do not.

mod resume;
mod seams;
