//! The protocol of docs/protocol.md for one function, `unwind`. No crates.
//!
//! The lines that come are written so that no JSON reader is needed: no spaces, no key twice in a line.
#![allow(dead_code)]

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

const READ_AHEAD: usize = 1024;

/// A program file that is mapped. A run-time address minus `bias` is the address that the file says.
pub struct Image {
    pub path: String,
    pub bias: u64,
    pub start: u64,
    pub end: u64,
    /// `"a32":"r11-clang","thumb":"r7"`: how its frame pointers were built.
    pub frame_records: String,
}

#[derive(Default)]
pub struct Session {
    pub arch: String,
    pub word: u64,
    /// The bits of a return address that are its signature.
    pub pac_mask: u64,
    pub images: Vec<Image>,
    pc: String,
    sp: String,
}

/// The machine before an instruction: all that you get. A register that is missing is unknown.
pub struct Snapshot<'a> {
    pub session: &'a Session,
    pub registers: HashMap<String, u64>,
    pub pc: u64,
    pub sp: u64,
    pieces: [(u64, Vec<u8>); 2],
}

/// One frame. What is not claimed is not judged.
#[derive(Default)]
pub struct Frame {
    pub pc: u64,
    pub cfa: Option<u64>,
    /// A signal interrupted this frame, so that pc is no return address.
    pub interrupted: bool,
    pub registers: Vec<(&'static str, u64)>,
}

/// How a backtrace ends: with the claim that the last frame is the outermost one, or with the reason to stop.
pub enum End {
    Root,
    Stopped(String),
}

impl Snapshot<'_> {
    /// The bytes at an address: fewer where what is mapped ends before, none where nothing is mapped.
    pub fn read(&mut self, address: u64, size: usize) -> Vec<u8> {
        for (start, data) in &self.pieces {
            if let Some(at) = address.checked_sub(*start).map(|at| at as usize) {
                if at <= data.len() && size <= data.len() - at {
                    return data[at..at + size].to_vec();
                }
            }
        }
        let ahead = size.max(READ_AHEAD);
        write(&format!("{{\"type\":\"read\",\"address\":\"{:#x}\",\"size\":{}}}", address, ahead));
        let data = bytes(value(&next_line().expect("bytes"), "bytes"));
        self.pieces[1] = (address, data.clone());
        data[..size.min(data.len())].to_vec()
    }

    /// The word at an address, where it can be read.
    pub fn word_at(&mut self, address: u64) -> Option<u64> {
        let size = self.session.word as usize;
        let data = self.read(address, size);
        (data.len() == size).then(|| data.iter().rev().fold(0, |number, byte| number << 8 | *byte as u64))
    }

    pub fn image_at(&self, address: u64) -> Option<&Image> {
        self.session.images.iter().find(|image| image.start <= address && address < image.end)
    }

    /// Bytes of an image's file. (Its path may be opened just as well, on the same machine.)
    pub fn read_file(&mut self, image: usize, offset: u64, size: usize) -> Vec<u8> {
        write(&format!("{{\"type\":\"read_file\",\"image\":{},\"offset\":{},\"size\":{}}}", image, offset, size));
        bytes(value(&next_line().expect("bytes"), "bytes"))
    }
}

fn next_line() -> Option<String> {
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line).expect("UTF-8");
    (length > 0).then(|| line)
}

fn write(line: &str) {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|_| out.write_all(b"\n")).and_then(|_| out.flush()).expect("a reader");
}

/// What stands behind `"key":`, up to the end of the line.
fn value<'a>(line: &'a str, key: &str) -> &'a str {
    let pattern = format!("\"{}\":", key);
    let at = line.find(&pattern).unwrap_or_else(|| panic!("a line lacks {}", key));
    &line[at + pattern.len()..]
}

/// A text without its quotes; only paths have escapes.
fn text(from: &str) -> String {
    let mut out = String::new();
    let mut rest = from[1..].chars();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => match rest.next() {
                Some('u') => {
                    let code: String = rest.by_ref().take(4).collect();
                    out.push(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).unwrap_or('?'));
                }
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => break,
            },
            other => out.push(other),
        }
    }
    out
}

/// A number: `"0x12"` or `12`; null is zero.
fn number(from: &str) -> u64 {
    match from.strip_prefix("\"0x") {
        Some(digits) => {
            let end = digits.find('"').expect("a quote");
            u64::from_str_radix(&digits[..end], 16).expect("hexadecimal")
        }
        None => {
            let end = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
            from[..end].parse().unwrap_or(0)
        }
    }
}

fn bytes(from: &str) -> Vec<u8> {
    let digits = from[1..].split('"').next().expect("a quote").as_bytes();
    let digit = |c: u8| (c as char).to_digit(16).expect("hexadecimal") as u8;
    digits.chunks(2).map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
}

/// `"name":"value"` pairs between braces.
fn pairs(from: &str) -> Vec<(String, String)> {
    let inside = from[1..].split('}').next().expect("a brace");
    let pair = |one: &str| one.split_once(':').map(|(a, b)| (a.trim_matches('"').to_string(), b.to_string()));
    inside.split(',').filter_map(pair).collect()
}

fn session(line: &str) -> Session {
    let mut images = Vec::new();
    for _ in 0..number(value(line, "images")) {
        let image = next_line().expect("an image");
        images.push(Image {
            path: text(value(&image, "path")),
            bias: number(value(&image, "bias")),
            start: number(value(&image, "start")),
            end: number(value(&image, "end")),
            frame_records: value(&image, "frame_records").trim_matches(|c| "{}\n".contains(c)).to_string(),
        });
    }
    Session {
        arch: text(value(line, "arch")),
        word: number(value(line, "word")),
        pac_mask: number(value(line, "pac_mask")),
        images,
        pc: text(value(line, "pc")),
        sp: text(value(line, "sp")),
    }
}

fn quoted(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}

fn frame(said: &Frame) -> String {
    let mut out = format!("{{\"pc\":\"{:#x}\"", said.pc);
    if let Some(cfa) = said.cfa {
        out += &format!(",\"cfa\":\"{:#x}\"", cfa);
    }
    if said.interrupted {
        out += ",\"interrupted\":true";
    }
    let registers: Vec<String> = said.registers.iter().map(|(n, v)| format!("\"{}\":\"{:#x}\"", n, v)).collect();
    if !registers.is_empty() {
        out += &format!(",\"registers\":{{{}}}", registers.join(","));
    }
    out + "}"
}

/// Answer until the input ends.
pub fn serve(unwind: fn(&mut Snapshot) -> (Vec<Frame>, End), name: &str, version: &str, arches: &[&str]) {
    let mut current = Session::default();
    while let Some(line) = next_line() {
        match text(value(&line, "type")).as_str() {
            "hello" => {
                let arches: Vec<String> = arches.iter().map(|arch| quoted(arch)).collect();
                let (name, version) = (quoted(name), quoted(version));
                write(&format!(
                    "{{\"type\":\"hello\",\"protocol\":1,\"name\":{},\"version\":{},\"arches\":[{}]}}",
                    name,
                    version,
                    arches.join(",")
                ));
            }
            "session" => {
                current = session(&line);
                write("{\"type\":\"ready\"}");
            }
            "snapshot" => {
                let registers: HashMap<String, u64> =
                    pairs(value(&line, "registers")).into_iter().map(|(name, v)| (name, number(&v))).collect();
                let stack = (number(value(&line, "stack_address")), bytes(value(&line, "stack")));
                let (pc, sp) = (registers[&current.pc], registers[&current.sp]);
                let mut at = Snapshot { session: &current, registers, pc, sp, pieces: [stack, (0, Vec::new())] };
                let (frames, end) = unwind(&mut at);
                let frames: Vec<String> = frames.iter().map(frame).collect();
                let end = match end {
                    End::Root => "\"root\":true".to_string(),
                    End::Stopped(reason) => format!("\"stopped\":{}", quoted(&reason)),
                };
                let id = number(value(&line, "id"));
                write(&format!("{{\"type\":\"frames\",\"id\":{},\"frames\":[{}],{}}}", id, frames.join(","), end));
            }
            other => panic!("a line of type {}", other),
        }
    }
}
