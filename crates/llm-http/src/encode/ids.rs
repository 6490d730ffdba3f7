//! Token ids as decimal text: nearly all bytes of a request.

use respool_core::Token;

/// Three digits and a comma, for the last three digits of an id.
const LAST: [[u8; 4]; 1000] = table(false);

/// The digits of a number without leading zeros, and how many there are.
const FIRST: [[u8; 4]; 1000] = table(true);

const fn table(is_first: bool) -> [[u8; 4]; 1000] {
    let mut table = [[0; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        let digits = [number / 100, number / 10 % 10, number % 10];
        let skip = match number {
            _ if !is_first => 0,
            0..10 => 2,
            10..100 => 1,
            _ => 0,
        };
        let mut at = 0;
        while at + skip < 3 {
            table[number][at] = b'0' + digits[at + skip] as u8;
            at += 1;
        }
        table[number][3] = if is_first { at as u8 } else { b',' };
        number += 1;
    }
    table
}

/// Appends the ids, each with a comma after it.
pub(super) fn push_ids(body: &mut Vec<u8>, ids: &[Token]) {
    // Written in blocks, so that the vector need not look at its capacity for every id.
    const LONGEST: usize = 12;
    let mut block = [0_u8; 1024];
    let mut at = 0;
    for &id in ids {
        if at + LONGEST > block.len() {
            body.extend_from_slice(&block[..at]);
            at = 0;
        }
        at += write_id(&mut block[at..at + LONGEST], id);
    }
    body.extend_from_slice(&block[..at]);
}

/// Writes an id and a comma; how many bytes that took.
fn write_id(block: &mut [u8], id: Token) -> usize {
    let (high, low) = (id as usize / 1000, id as usize % 1000);
    if high == 0 {
        let first = FIRST[low];
        let len = usize::from(first[3]);
        block[..4].copy_from_slice(&first);
        block[len] = b',';
        return len + 1;
    }
    if let Some(first) = FIRST.get(high) {
        let len = usize::from(first[3]);
        block[..4].copy_from_slice(first);
        block[len..len + 4].copy_from_slice(&LAST[low]);
        return len + 4;
    }
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(id).as_bytes();
    block[..digits.len()].copy_from_slice(digits);
    block[digits.len()] = b',';
    digits.len() + 1
}
