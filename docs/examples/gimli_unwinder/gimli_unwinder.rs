//! An unwinder by `.eh_frame`, which gimli reads, and by frame records where no table covers the code.
//! It was written from docs/protocol.md alone; `testbed_host.rs` is the one that testbed writes:
//!
//!     testbed protocol --example rust mine
//!     cp docs/examples/gimli_unwinder/* mine
//!     cd mine
//!     cargo build --release
//!     testbed score --unwinder-cmd target/release/gimli_unwinder
//!
//! With the crates of Debian (apt install librust-gimli-dev librust-object-dev), the third line is
//!
//!     cargo build --release --offline --config 'source.crates-io.replace-with="debian"' \
//!         --config 'source.debian.directory="/usr/share/cargo/registry"'
mod testbed_host;

use gimli::{BaseAddresses, CallFrameInstruction as Says, CfaRule, EhFrame, EndianSlice, EvaluationResult, Expression};
use gimli::{FrameDescriptionEntry, LittleEndian, Register, RegisterRule, UnwindContext, UnwindSection, Value};
use object::{Object, ObjectSection};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use testbed_host::{serve, End, Frame, Snapshot};

type Bytes = EndianSlice<'static, LittleEndian>;
type Fde = FrameDescriptionEntry<Bytes>;
type Registers = HashMap<&'static str, u64>;

/// The registers of an architecture; the place of a name in `numbered` is its DWARF number.
struct Arch {
    numbered: &'static [&'static str],
    kept: &'static [&'static str],
    fp: &'static str,
    sp: &'static str,
    ra: &'static str,
}

const X86_64: Arch = Arch {
    numbered: &[
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
    ],
    kept: &["rbx", "rbp", "r12", "r13", "r14", "r15"],
    fp: "rbp",
    sp: "rsp",
    ra: "", // in no register
};
const ARM64: Arch = Arch {
    numbered: &[
        "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
    ],
    kept: &["x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"],
    fp: "x29",
    sp: "sp",
    ra: "x30",
};

impl Arch {
    fn value(&self, known: &Registers, register: Register) -> Option<u64> {
        known.get(self.numbered.get(register.0 as usize)?).copied()
    }
}

/// One program file: each FDE by its function's first address, and from where on it says that there is no caller.
#[derive(Default)]
struct Table {
    functions: BTreeMap<u64, (Fde, u64)>,
    bases: BaseAddresses,
    section: Option<EhFrame<Bytes>>,
}

thread_local! { static TABLES: RefCell<HashMap<String, &'static Table>> = RefCell::default(); }

fn table(path: &str) -> &'static Table {
    let read = || Box::leak(Box::new(read_table(path).unwrap_or_default())) as &'static Table;
    TABLES.with(|tables| *tables.borrow_mut().entry(path.to_string()).or_insert_with(read))
}

fn read_table(path: &str) -> Option<Table> {
    let file = object::File::parse(&*std::fs::read(path).ok()?.leak()).ok()?;
    let address = |name| file.section_by_name(name).map_or(0, |section| section.address());
    let bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")).set_text(address(".text"));
    let bytes = file.section_by_name(".eh_frame")?.uncompressed_data().ok()?.into_owned().leak();
    let section = EhFrame::new(bytes, LittleEndian);
    let mut functions = BTreeMap::new();
    let mut entries = section.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        if let gimli::CieOrFde::Fde(partial) = entry {
            if let Ok(fde) = partial.parse(EhFrame::cie_from_offset) {
                let without_caller = without_caller(&section, &bases, &fde);
                functions.insert(fde.initial_address(), (fde, without_caller));
            }
        }
    }
    Some(Table { functions, bases, section: Some(section) })
}

/// Where an FDE begins to say that the return address is undefined: gimli's rows say so of any register without a rule.
fn without_caller(section: &EhFrame<Bytes>, bases: &BaseAddresses, fde: &Fde) -> u64 {
    let mut address = fde.initial_address();
    for mut instructions in [fde.cie().instructions(section, bases), fde.instructions(section, bases)] {
        while let Ok(Some(said)) = instructions.next() {
            match said {
                Says::Undefined { register } if register == fde.cie().return_address_register() => return address,
                Says::AdvanceLoc { delta } => address += delta as u64 * fde.cie().code_alignment_factor(),
                Says::SetLoc { address: to } => address = to,
                _ => {}
            }
        }
    }
    u64::MAX
}

/// One step: the frame's CFA; its caller's pc (none: there is no caller) and registers; whether a signal came there.
#[derive(Default)]
struct Step {
    cfa: Option<u64>,
    pc: Option<u64>,
    registers: Registers,
    interrupted: bool,
}

/// By the table of the file that `pc` lies in; `None` where it has none for it.
fn by_table(at: &mut Snapshot, arch: &Arch, known: &Registers, pc: u64) -> Option<Result<Step, String>> {
    let image = at.image_at(pc)?;
    let address = pc.wrapping_sub(image.bias);
    let table = table(&image.path);
    let (fde, without_caller) = table.functions.range(..=address).next_back()?.1;
    if !fde.contains(address) {
        return None;
    }
    let mut context = UnwindContext::new();
    let row = match fde.unwind_info_for_address(table.section.as_ref()?, &table.bases, &mut context, address) {
        Ok(row) => row.clone(),
        Err(error) => return Some(Err(format!("the FDE cannot be read: {}", error))),
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            arch.value(known, *register).map(|value| value.wrapping_add(*offset as u64))
        }
        CfaRule::Expression(expression) => evaluate(at, arch, known, *expression, None),
    };
    let cfa = match cfa {
        Some(cfa) => cfa,
        None => return Some(Err("the CFA cannot be computed".into())),
    };
    let mut step = Step { cfa: Some(cfa), interrupted: fde.is_signal_trampoline(), ..Step::default() };
    let mut kept = |number: Register, name: &str| match row.register(number) {
        RegisterRule::Undefined if name == arch.sp => Some(cfa),
        RegisterRule::Undefined | RegisterRule::SameValue => known.get(name).copied(),
        RegisterRule::Offset(offset) => at.word_at(cfa.wrapping_add(offset as u64)),
        RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add(offset as u64)),
        RegisterRule::Register(other) => arch.value(known, other),
        RegisterRule::Expression(said) => {
            evaluate(at, arch, known, said, Some(cfa)).and_then(|address| at.word_at(address))
        }
        RegisterRule::ValExpression(said) => evaluate(at, arch, known, said, Some(cfa)),
        _ => None,
    };
    let ra = kept(fde.cie().return_address_register(), arch.ra);
    for (number, name) in arch.numbered.iter().enumerate() {
        if step.interrupted || *name == arch.sp || arch.kept.contains(name) {
            kept(Register(number as u16), name).map(|value| step.registers.insert(name, value));
        }
    }
    step.pc = ra.map(|ra| ra & !at.session.pac_mask);
    if address >= *without_caller || step.pc == Some(0) {
        step.pc = None;
    } else if step.pc.is_none() {
        return Some(Err("the return address is unknown".into()));
    }
    Some(Ok(step))
}

/// What a DWARF expression says; where it is a register's, the CFA is on its stack.
type Said = Expression<Bytes>;
fn evaluate(at: &mut Snapshot, arch: &Arch, known: &Registers, said: Said, cfa: Option<u64>) -> Option<u64> {
    let encoding = gimli::Encoding { address_size: at.session.word as u8, format: gimli::Format::Dwarf32, version: 4 };
    let mut evaluation = said.evaluation(encoding);
    cfa.map(|cfa| evaluation.set_initial_value(cfa));
    let mut result = evaluation.evaluate().ok()?;
    while result != EvaluationResult::Complete {
        result = match result {
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(arch.value(known, register)?)).ok()?
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let bytes = at.read(address, size as usize);
                let word = bytes.iter().rev().fold(0, |word, byte| word << 8 | *byte as u64);
                let whole = bytes.len() == size as usize;
                evaluation.resume_with_memory(Value::Generic(Some(word).filter(|_| whole)?)).ok()?
            }
            _ => return None,
        }
    }
    match evaluation.result().first()?.location {
        gimli::Location::Address { address } => Some(address),
        gimli::Location::Value { value } => value.to_u64(u64::MAX).ok(),
        _ => None,
    }
}

/// A record is two words at the frame pointer: the caller's frame pointer, and the return address.
fn by_frame_record(at: &mut Snapshot, arch: &Arch, known: &Registers) -> Result<Step, String> {
    let fp = *known.get(arch.fp).ok_or("no table, and the frame pointer is unknown")?;
    if fp == 0 {
        return Ok(Step::default());
    }
    if fp % 8 != 0 || known.get(arch.sp).map_or(false, |sp| fp < *sp) {
        return Err("no table, and the frame pointer leads nowhere".into());
    }
    match (at.word_at(fp), at.word_at(fp.wrapping_add(8))) {
        (Some(saved), Some(pc)) => {
            let pc = Some(pc & !at.session.pac_mask);
            Ok(Step { pc, registers: Registers::from([(arch.fp, saved)]), ..Step::default() })
        }
        _ => Err("no table, and the frame record cannot be read".into()),
    }
}

fn unwind(at: &mut Snapshot) -> (Vec<Frame>, End) {
    let arch = if at.session.arch == "x86_64" { &X86_64 } else { &ARM64 };
    let known = arch.numbered.iter().filter_map(|name| Some((*name, *at.registers.get(*name)?)));
    let mut known: Registers = known.collect();
    let mut frames = vec![Frame { pc: at.pc, interrupted: false, cfa: None, registers: Vec::new() }];
    while frames.len() < 1024 {
        let last = &frames[frames.len() - 1];
        // A return address is behind its call; that of a signal handler is the first instruction of a trampoline.
        let called = frames.len() > 1 && !last.interrupted && !begins_trampoline(at, last.pc);
        let pc = last.pc.wrapping_sub(called as u64);
        let stepped = by_table(at, arch, &known, pc).unwrap_or_else(|| by_frame_record(at, arch, &known));
        let step = match stepped {
            Ok(step) => step,
            Err(reason) => return (frames, End::Stopped(reason)),
        };
        frames.last_mut().unwrap().cfa = step.cfa;
        let pc = match step.pc {
            Some(pc) => pc,
            None => return (frames, End::Root),
        };
        if at.image_at(pc.wrapping_sub(1)).is_none() {
            return (frames, End::Stopped("the return address lies in no program".into()));
        }
        let registers = step.registers.iter().map(|(name, value)| (*name, *value)).collect();
        frames.push(Frame { pc, interrupted: step.interrupted, cfa: None, registers });
        known = step.registers;
    }
    (frames, End::Stopped("too many frames".into()))
}

fn begins_trampoline(at: &Snapshot, pc: u64) -> bool {
    let found = at.image_at(pc).and_then(|image| table(&image.path).functions.get(&pc.wrapping_sub(image.bias)));
    found.map_or(false, |(fde, _)| fde.is_signal_trampoline())
}

fn main() {
    serve(unwind, "gimli", "1", &["x86_64", "arm64"]);
}
