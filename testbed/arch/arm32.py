"""arm32: Procedure Call Standard for the Arm Architecture (AAPCS32, 2024Q3), instruction sets A32 and Thumb.

DWARF numbers: AADWARF32 section 4.1 (d0-d31 are 256-287). GCC still writes the older ones for d0-d15, as halves: s0-s31
are 64-95, so a saved d8 is r80 and, 4 bytes above, r81 (gcc/config/arm/arm.cc, arm_dwarf_register_span). There is no
uniform frame record:

* GCC, A32: r11 points at the saved *lr*, the saved r11 lies below it;
* Clang, A32: r11 points at the saved *r11*, lr lies above it;
* Clang, Thumb: r7 points at the saved r7, lr lies above it; with -mframe-chain=aapcs it is as in A32;
* GCC, Thumb: r7 points below the locals, at no record.

(https://github.com/ARM-software/abi-aa/issues/24; https://github.com/python/cpython/issues/149362.)
"""

from testbed.arch.model import Arch, ExitCall, FrameRecord, Isa, Register, RegisterPart, SignalFrame

CLANG_A32 = FrameRecord("r11-clang", "r11", saved_pointer=0, return_address=4)
GCC_A32 = FrameRecord("r11-gcc", "r11", saved_pointer=-4, return_address=0)
APCS_A32 = FrameRecord("r11-apcs", "r11", saved_pointer=-12, return_address=-4)
THUMB_R7 = FrameRecord("r7", "r7", saved_pointer=0, return_address=4)

ARM32 = Arch(
    name="arm32",
    title="arm32 (A32, Thumb)",
    aliases=("arm", "armv7", "armhf", "aarch32"),
    word=4,
    registers=(
        *(Register(f"r{i}", i, 32) for i in range(13)),
        Register("sp", 13, 32),
        Register("lr", 14, 32),
        Register("pc", 15, 32),
        *(Register(f"d{i}", 256 + i, 64) for i in range(8, 16)),
        Register("cpsr", None, 32),
    ),
    pc="pc",
    sp="sp",
    link="lr",
    flags="cpsr",
    return_address="lr",
    entry_cfa=0,
    code_mask=0xFFFF_FFFE,
    parts={64 + i: RegisterPart(f"s{i}", f"d{i // 2}", 32 * (i % 2), 32) for i in range(16, 32)},
    isas=(
        Isa(
            name="a32",
            records=(CLANG_A32, GCC_A32, APCS_A32),
            address_bit=0,
            mapping_symbol="$a",
            pc_reads_ahead=8,
        ),
        Isa(
            name="thumb",
            records=(THUMB_R7, CLANG_A32),
            address_bit=1,
            mapping_symbol="$t",
            pc_reads_ahead=4,
        ),
    ),
    isa_flag=5,  # CPSR.T
    # One entry per function, as the source says.
    # What ARM tables name as personality routines: nothing here calls them.
    exit_call=ExitCall("r7", "r0", frozenset({1, 248})),
    # arch/arm/kernel/signal.c, asm/ucontext.h: siginfo, ucontext with vfp_sigframe, retcode.
    signal_frame=SignalFrame(
        call=173,
        size=888,
        alignment=8,
        skew=0,
        red_zone=0,
        registers={
            **{f"r{i}": 160 + 4 * i for i in range(13)},
            "sp": 212,
            "lr": 216,
            "pc": 220,
            "cpsr": 224,
            **{f"d{i}": 368 + 8 * i for i in range(8, 16)},
        },
        number=0,
        context=128,
        arguments=("r0", "r1", "r2"),
        constants=((360, 4, 0x5646_5001), (364, 4, 288)),  # VFP_MAGIC, its size
    ),
)
