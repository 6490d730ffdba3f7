//! Panics of what others wrote.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// Runs what others wrote, so that a panic in it is its caller's to judge and nobody else's end.
///
/// # Errors
/// What the panic said.
pub async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("no message").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_says_what_it_said() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        assert_eq!(caught::<()>(async { panic!("a bug") }).await, Err("a bug".to_owned()));
        assert_eq!(caught::<()>(async { panic!("bug {}", 7) }).await, Err("bug 7".to_owned()));
        let odd = async { std::panic::panic_any(7) };
        assert_eq!(caught::<()>(odd).await, Err("no message".to_owned()));
    }
}
