// Panics that are caught, past frames with destructors; and the same in a second thread.
use std::panic;

struct Mark(u32);
impl Drop for Mark {
    fn drop(&mut self) {
        std::hint::black_box(self.0);
    }
}

#[inline(never)]
fn deep(n: u32) -> u32 {
    let _here = Mark(n);
    if n == 0 {
        panic!("by hand");
    }
    deep(n - 1) + 1
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let here = panic::catch_unwind(|| deep(5)).is_err();
    let there = std::thread::spawn(|| deep(7)).join().is_err();
    println!("{here} {there}");
}
