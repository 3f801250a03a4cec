//! An unwinder by frame pointers: follow the list of frame records. Build and try it:
//!
//!     rustc -O my_unwinder.rs
//!     testbed protocol --check --unwinder-cmd ./my_unwinder
//!     testbed run leaf_call --unwinder-cmd ./my_unwinder
//!
//! A record is two words: the caller's frame pointer, and the return address behind it.
mod testbed_host;

use testbed_host::{serve, End, Frame, Snapshot};

fn unwind(at: &mut Snapshot) -> (Vec<Frame>, End) {
    let name = if at.session.arch == "x86_64" { "rbp" } else { "x29" };
    let word = at.session.word;
    let mut frames = vec![Frame { pc: at.pc, ..Frame::default() }];
    let mut lowest = at.sp;
    let mut fp = match at.registers.get(name) {
        Some(value) => *value,
        None => return (frames, End::Stopped("the frame pointer is unknown".into())),
    };
    while fp != 0 {
        if fp < lowest || fp % word != 0 || fp > u64::MAX - 2 * word {
            return (frames, End::Stopped("the frame pointer leads nowhere".into()));
        }
        let (saved, pc) = match (at.word_at(fp), at.word_at(fp + word)) {
            (Some(saved), Some(pc)) => (saved, pc & !at.session.pac_mask),
            _ => return (frames, End::Stopped("the frame record cannot be read".into())),
        };
        if at.image_at(pc.wrapping_sub(1)).is_none() {
            return (frames, End::Stopped("the return address lies in no program".into()));
        }
        if frames.len() == 1024 {
            return (frames, End::Stopped("too many frames".into()));
        }
        frames.push(Frame { pc, registers: vec![(name, saved)], ..Frame::default() });
        lowest = fp + 2 * word;
        fp = saved;
    }
    (frames, End::Root) // the outermost frame has a frame pointer of zero
}

fn main() {
    serve(unwind, "frame_pointers_in_rust", "1", &["x86_64", "arm64"]);
}
