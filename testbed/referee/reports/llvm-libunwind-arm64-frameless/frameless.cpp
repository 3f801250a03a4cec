#define _LIBUNWIND_TARGET_AARCH64 1
#include "AddressSpace.hpp"
#include "Registers.hpp"
#include "CompactUnwinder.hpp"
#include <cstdio>

int main() {
    // A frame of 16 bytes: x20 at SP, x19 at SP + 8, and then the caller's frame.
    uint64_t stack[] = {20, 19, 111, 111};
    libunwind::LocalAddressSpace memory;
    libunwind::Registers_arm64 registers;
    registers.setSP((uint64_t)stack);
    unsigned encoding = UNWIND_ARM64_MODE_FRAMELESS | 1 << 12 | UNWIND_ARM64_FRAME_X19_X20_PAIR;
    libunwind::CompactUnwinder_arm64<libunwind::LocalAddressSpace>::stepWithCompactEncoding(encoding, 0, memory, registers);
    printf("x19 %d, x20 %d\n", (int)registers.getRegister(UNW_AARCH64_X19), (int)registers.getRegister(UNW_AARCH64_X20));
}
