use super::*;

const KIND: Kind = Kind::Snapshot;

/// Changes one byte of the header and puts the checksum right again.
fn with_byte(at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = seal(KIND, b"abc");
    bytes[at] = byte;
    let sum = checksum(&bytes[..CHECKED_HEADER], &bytes[HEADER..]).to_le_bytes();
    bytes[CHECKED_HEADER..HEADER].copy_from_slice(&sum);
    bytes
}

#[track_caller]
fn check(bytes: &[u8], expected: &str) {
    assert_eq!(open(KIND, bytes).unwrap_err().to_string(), expected);
}

#[test]
fn errors_say_what_was_found_and_expected() {
    check(b"", "cut off: found 0 bytes, expected 20");
    check(b"RSPL", "cut off: found 4 bytes, expected 20");
    check(b"{\"data\": 1}", "not a respool file: it begins with bytes [7b, 22, 64, 61], expected \"RSPL\"");
    check(&with_byte(4, 2), "this is a journal entry, expected snapshot");
    check(&with_byte(4, 9), "this is an unknown kind 9, expected snapshot");
    let newer = "snapshot format 2.0 is not known: this build reads 1.x; use the build that wrote it";
    check(&with_byte(6, 2), newer);
    check(&with_byte(5, 7), "cannot unpack the payload: codec 7 is not known, expected 0 (raw) or 1 (zstd)");
    check(&with_byte(5, ZSTD), "cannot unpack the payload: the unpacked length is missing");
    check(&with_byte(8, 4), "cut off: found 23 bytes, expected 24");
    let mut damaged = seal(KIND, b"abc");
    damaged[HEADER] ^= 1;
    assert!(open(KIND, &damaged).unwrap_err().to_string().starts_with("damaged: the checksum is "));
}

#[test]
fn large_payloads_are_packed_and_unpacked() {
    let text: Vec<u8> = (0..20_000_u32).flat_map(|n| (n / 5).to_le_bytes()).collect();
    let bytes = seal(KIND, &text);
    assert!(bytes.len() < text.len() / 2);
    assert_eq!(bytes[5], ZSTD);
    assert_eq!(open(KIND, &bytes).unwrap().payload, text);
}

/// They would look like a bomb.
#[test]
fn payloads_that_pack_too_well_are_stored_as_they_are() {
    let zeros = vec![0; 1 << 20];
    let bytes = seal(KIND, &zeros);
    assert_eq!(bytes[5], RAW);
    assert_eq!(open(KIND, &bytes).unwrap().payload, zeros);
}

#[track_caller]
fn check_packed(length: u64, content: &[u8], expected: &str) {
    let mut body = length.to_le_bytes().to_vec();
    body.extend(zstd::bulk::compress(content, LEVEL).unwrap());
    assert_eq!(unpack(&body).unwrap_err().to_string(), expected);
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; 10 << 20];
    let packed = zstd::bulk::compress(&zeros, LEVEL).unwrap().len() as u64 + 8;
    let refused = format!(
        "cannot unpack the payload: it says that it unpacks to {} bytes, expected at most {}",
        10 << 20,
        packed * MAX_RATIO
    );
    check_packed(10 << 20, &zeros, &refused);
    check_packed(1000, &zeros, "cannot unpack the payload: it unpacks to 1001 bytes or more, expected 1000");
    check_packed(1000, b"short", "cannot unpack the payload: it unpacks to 5 bytes or more, expected 1000");
}

/// Old reader, new data: fields that a newer minor version appended are ignored.
#[test]
fn only_a_newer_minor_version_may_append_fields() {
    let snapshot = crate::samples::snapshots().remove(0);
    let mut payload = open(KIND, &crate::encode(&snapshot)).unwrap().payload;
    payload.extend([1, 2, 3]);
    let mut bytes = seal(KIND, &payload);
    let same = crate::decode(&bytes).unwrap_err().to_string();
    assert!(same.starts_with("the payload is not snapshot format 1.0: "), "{same}");
    bytes[7] = KIND.version().1 + 1;
    let sum = checksum(&bytes[..CHECKED_HEADER], &bytes[HEADER..]).to_le_bytes();
    bytes[CHECKED_HEADER..HEADER].copy_from_slice(&sum);
    assert_eq!(crate::decode(&bytes).unwrap(), snapshot);
}
