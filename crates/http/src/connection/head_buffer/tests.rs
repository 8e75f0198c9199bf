use std::sync::Arc;

use proptest::prelude::*;
use tokio::{io::ReadBuf, sync::Semaphore};

use super::{CONTINUATION, END_HEADERS, HEADERS, HeadBuffer, MAX_HEAD};

const DATA: u8 = 0;
const MAX: usize = MAX_HEAD as usize;

fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
    let size = u32::try_from(length).unwrap().to_be_bytes();
    [&size[1..], &[kind, flags, 0, 0, 0, 1], &vec![b'x'; length]].concat()
}

fn buffer(oversized: usize) -> HeadBuffer {
    HeadBuffer::new(Arc::new(Semaphore::new(oversized)))
}

/// All that may be given to h2, taken in pieces.
fn released(buffer: &mut HeadBuffer) -> Vec<u8> {
    let mut released = Vec::new();
    loop {
        let mut space = [0; 1000];
        let mut target = ReadBuf::new(&mut space);
        if !buffer.release(&mut target) {
            return released;
        }
        released.extend_from_slice(target.filled());
    }
}

#[test]
fn an_unfinished_head_is_held_back_until_its_last_frame_is_whole() {
    let mut buffer = buffer(0);
    let (first, last) = (frame(HEADERS, 0, 5000), frame(CONTINUATION, END_HEADERS, 3000));
    let before = frame(DATA, 1, 100);
    buffer.push(&[&before[..], &first[..]].concat()).unwrap();
    assert_eq!(released(&mut buffer), before);
    buffer.push(&last[..last.len() - 1]).unwrap();
    assert!(released(&mut buffer).is_empty());
    buffer.push(b"x").unwrap();
    assert_eq!(released(&mut buffer), [&first[..], &last[..]].concat());
    assert_eq!(buffer.bytes.capacity(), 0, "the memory is given back");
}

#[test]
fn a_connection_holds_one_head_of_16_kib_at_the_most() {
    let endless = [frame(HEADERS, 0, 16_000), frame(CONTINUATION, 0, 385)];
    let empty = [&[frame(HEADERS, 0, 0)], &vec![frame(CONTINUATION, 0, 0); 2000][..]].concat();
    for frames in [&endless[..], &empty] {
        let mut buffer = buffer(0);
        assert!(buffer.push(&frames.concat()).is_err());
        assert!(buffer.bytes.capacity() <= MAX + 9 + 385, "{}", buffer.bytes.capacity());
    }
    // A whole head of that size is for h2 to refuse or take.
    buffer(0).push(&frame(HEADERS, END_HEADERS, MAX)).unwrap();
}

#[test]
fn a_head_that_is_too_large_goes_to_h2_while_few_others_do() {
    let oversized = Arc::new(Semaphore::new(1));
    let [mut first, mut second] = [(); 2].map(|()| HeadBuffer::new(Arc::clone(&oversized)));
    let start = [frame(HEADERS, 0, 16_000), frame(CONTINUATION, 0, 1000)].concat();
    first.push(&start).unwrap();
    assert_eq!(released(&mut first), start);
    assert!(second.push(&start).is_err());
    // Its end makes room for the next.
    first.push(&frame(CONTINUATION, END_HEADERS, 10)).unwrap();
    HeadBuffer::new(oversized).push(&start).unwrap();
}

#[test]
fn what_breaks_into_a_head_is_shown_to_h2() {
    for intruder in [frame(DATA, 0, 10), frame(HEADERS, 0, 10)] {
        let mut buffer = buffer(0);
        let all = [frame(HEADERS, 0, 100), intruder].concat();
        buffer.push(&all).unwrap();
        assert_eq!(released(&mut buffer), all);
    }
}

proptest! {
    #[test]
    fn no_byte_is_lost_or_moved_however_the_frames_are_cut(
        frames in prop::collection::vec((0_u8..10, 0_u8..8, 0_usize..300), 1..20),
        cuts in prop::collection::vec(1_usize..200, 1..50),
    ) {
        let frames = frames.into_iter().map(|(kind, flags, length)| frame(kind, flags, length));
        let all = frames.chain([frame(CONTINUATION, END_HEADERS, 0)]).collect::<Vec<_>>().concat();
        let mut buffer = buffer(0);
        let (mut rest, mut received) = (&all[..], Vec::new());
        for cut in cuts.into_iter().cycle() {
            let (piece, next) = rest.split_at(cut.min(rest.len()));
            buffer.push(piece).unwrap();
            received.extend(released(&mut buffer));
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(received, all);
    }
}
