"""arm64: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64, 2024Q3) and its DWARF supplement.

Frame records: AAPCS64 section 6.4.6 (the record's place in the frame is *not* specified, so the distance from
x29 to the CFA is not fixed). DWARF numbers: AADWARF64 section 4.1 (d8-d15 are 72-79).
"""

from testbed.arch.model import Arch, ExitCall, FrameRecord, Isa, Register, SignalFrame

# The same exit call as everywhere: the machine is Linux's, only the file is Apple's.
# Clang's -fsanitize=shadow-call-stack: every function that stores its return address pushes it here first. The
# section's name tells that x18 is that pointer; the word below the first entry is zero.
# Pointer authentication and branch targets, as hints that older cores pass over; then the returns that no hint is.
# Return addresses get signatures as under Linux with 48-bit addresses: T0SZ = 16, and the top byte is ignored (TBI0),
# so a signature has the bits 54 to 48 (arch/arm64/include/asm/pointer_auth.h, ptrauth_user_pac_mask; a debugger is
# told by NT_ARM_PAC_MASK).
_SIGNATURE = 0x7F << 48

ARM64 = Arch(
    name="arm64",
    title="arm64",
    aliases=("aarch64", "armv8"),
    word=8,
    registers=(
        *(Register(f"x{i}", i, 64) for i in range(31)),
        Register("sp", 31, 64),
        Register("pc", 32, 64),
        *(Register(f"d{i}", 64 + i, 64) for i in range(8, 16)),
        Register("nzcv", None, 32),
    ),
    pc="pc",
    sp="sp",
    link="x30",
    flags="nzcv",
    return_address="x30",
    entry_cfa=0,
    code_mask=0xFFFF_FFFF_FFFF_FFFF,
    isas=(
        Isa(
            name="arm64",
            records=(FrameRecord("x29", "x29", saved_pointer=0, return_address=8),),
            address_bit=0,
            mapping_symbol="$x",
            pc_reads_ahead=0,
        ),
    ),
    isa_flag=None,
    exit_call=ExitCall("x8", "x0", frozenset({93, 94})),
    # arch/arm64/kernel/signal.c, uapi/asm/sigcontext.h: siginfo, ucontext with fpsimd_context, frame record.
    signal_frame=SignalFrame(
        call=139,
        size=4704,
        alignment=16,
        skew=0,
        red_zone=0,
        registers={
            **{f"x{i}": 312 + 8 * i for i in range(31)},
            "sp": 560,
            "pc": 568,
            "nzcv": 576,
            **{f"d{i}": 608 + 16 * i for i in range(8, 16)},
        },
        number=0,
        context=128,
        arguments=("x0", "x1", "x2"),
        constants=((592, 4, 0x4650_8001), (596, 4, 528)),  # FPSIMD_MAGIC, its size
        record=4688,
    ),
    shadow_pointer="x18",
    ra_sign_state=34,
    signature=_SIGNATURE,
    cpus=("signing",),
)
