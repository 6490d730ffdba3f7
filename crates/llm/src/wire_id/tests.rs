use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

#[test]
fn ids_have_one_width_and_a_fresh_nonce() {
    let sent = AtomicU64::new(0);
    let ids = WireIds::new(move || sent.fetch_add(1, Ordering::Relaxed));
    assert_eq!(ids.next(RolloutId(0xab), 3), "000000000000000000000000000000ab-00000003-0000000000000000");
    let last = ids.next(RolloutId(u128::MAX), u32::MAX);
    assert_eq!(last, "ffffffffffffffffffffffffffffffff-ffffffff-0000000000000001");
}
