// LLVM libunwind's cursor over the memory of a snapshot.
//
// The library's headers are templates over an address space and a set of registers. Only the address space is ours: every
// byte is asked for through a callback. Which table is read, which row of it, what a register's rule means and where the
// stack ends is decided by UnwindCursor, as in a program that calls unw_step().
//
// One piece is left out: the recognition of Linux's arm64 signal trampoline reads the program's own memory directly.

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#undef _LIBUNWIND_TARGET_LINUX
#define _LIBUNWIND_SUPPORT_COMPACT_UNWIND 1
#include "libunwind.h"
#include "libunwind_ext.h"
#include "dwarf2.h"
#include "Registers.hpp"

namespace libunwind {

// One image: where its tables lie at run time. A length of 0: there is none.
struct Image {
  uint64_t start, end, header;
  uint64_t eh_frame, eh_frame_length;
  uint64_t index, index_length;
  uint64_t compact, compact_length;
};

struct UnwindInfoSections {
  uint64_t dso_base = 0, text_segment_length = 0;
  uint64_t dwarf_section = 0, dwarf_section_length = 0;
  uint64_t dwarf_index_section = 0, dwarf_index_section_length = 0;
  uint64_t compact_unwind_section = 0, compact_unwind_section_length = 0;
};

// Bytes at an address; false where they are not mapped.
typedef bool (*ReadMemory)(uint64_t address, void *into, uint64_t size);

class Remote {
public:
  typedef uint64_t pint_t;
  typedef int64_t sint_t;

  // What no snapshot changes: read without asking.
  struct Constant {
    uint64_t start, size;
    const uint8_t *data;
  };

  ReadMemory reader = nullptr;
  const Constant *constants = nullptr;
  size_t constant_count = 0;
  const Image *images = nullptr;
  size_t count = 0;
  uint64_t unreadable = 0;
  bool failed = false;

  uint8_t get8(pint_t at) { return get<uint8_t>(at); }
  uint16_t get16(pint_t at) { return get<uint16_t>(at); }
  uint32_t get32(pint_t at) { return get<uint32_t>(at); }
  uint64_t get64(pint_t at) { return get<uint64_t>(at); }
  double getDouble(pint_t at) { return get<double>(at); }
  v128 getVector(pint_t at) { return get<v128>(at); }
  pint_t getP(pint_t at) { return get64(at); }
  uint64_t getRegister(pint_t at) { return get64(at); }

  uint64_t getULEB128(pint_t &at, pint_t end) {
    unsigned bits;
    uint8_t last;
    return leb128(at, end, bits, last);
  }

  int64_t getSLEB128(pint_t &at, pint_t end) {
    unsigned bits;
    uint8_t last;
    uint64_t value = leb128(at, end, bits, last);
    if (bits < 64 && (last & 0x40))
      value |= ~UINT64_C(0) << bits;
    return (int64_t)value;
  }

  // A pointer as DW_EH_PE_* encodes it.
  pint_t getEncodedP(pint_t &at, pint_t end, uint8_t encoding, pint_t data = 0, pint_t *found_at = nullptr) {
    const pint_t start = at;
    pint_t value;
    switch (encoding & 0x0f) {
    case DW_EH_PE_uleb128:
      value = getULEB128(at, end);
      break;
    case DW_EH_PE_sleb128:
      value = (pint_t)getSLEB128(at, end);
      break;
    case DW_EH_PE_udata2:
      value = take<uint16_t>(at);
      break;
    case DW_EH_PE_sdata2:
      value = (pint_t)(int64_t)take<int16_t>(at);
      break;
    case DW_EH_PE_udata4:
      value = take<uint32_t>(at);
      break;
    case DW_EH_PE_sdata4:
      value = (pint_t)(int64_t)take<int32_t>(at);
      break;
    case DW_EH_PE_ptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      value = take<uint64_t>(at);
      break;
    default:
      _LIBUNWIND_ABORT("unknown pointer encoding");
    }
    if (value == 0)
      return 0;
    switch (encoding & 0x70) {
    case DW_EH_PE_absptr:
      break;
    case DW_EH_PE_pcrel:
      value += start;
      break;
    case DW_EH_PE_datarel:
      value += data;
      break;
    default:
      _LIBUNWIND_ABORT("unknown pointer base");
    }
    if (encoding & DW_EH_PE_indirect) {
      if (found_at)
        *found_at = value;
      value = getP(value);
    }
    return value;
  }

  // The set of registers is an argument since LLVM 22.
  template <typename R = void, typename Address> bool findUnwindSections(Address pc, UnwindInfoSections &into) {
    for (size_t i = 0; i < count; i++) {
      const Image &image = images[i];
      if (pc < image.start || pc >= image.end)
        continue;
      into.dso_base = image.header;
      into.text_segment_length = image.end - image.start;
      into.dwarf_section = image.eh_frame_length ? image.eh_frame : 0;
      into.dwarf_section_length = image.eh_frame_length;
      into.dwarf_index_section = image.index_length ? image.index : 0;
      into.dwarf_index_section_length = image.index_length;
      into.compact_unwind_section = image.compact_length ? image.compact : 0;
      into.compact_unwind_section_length = image.compact_length;
      return true;
    }
    return false;
  }

  template <typename R = void, typename Address> bool findOtherFDE(Address, pint_t &) { return false; }

  template <typename R = void, typename Address> bool findFunctionName(Address, char *, size_t, unw_word_t *) {
    return false;
  }

private:
  template <typename T> T get(pint_t at) {
    T value;
    for (size_t i = 0; i < constant_count; i++) {
      const Constant &part = constants[i];
      if (at >= part.start && at - part.start + sizeof value <= part.size) {
        memcpy(&value, part.data + (at - part.start), sizeof value);
        return value;
      }
    }
    if (!reader(at, &value, sizeof value)) {
      memset(&value, 0, sizeof value);
      if (!failed)
        unreadable = at;
      failed = true;
    }
    return value;
  }

  template <typename T> T take(pint_t &at) {
    T value = get<T>(at);
    at += sizeof value;
    return value;
  }

  uint64_t leb128(pint_t &at, pint_t end, unsigned &bits, uint8_t &last) {
    uint64_t value = 0;
    bits = 0;
    do {
      if (at == end)
        _LIBUNWIND_ABORT("truncated LEB128 number");
      last = take<uint8_t>(at);
      if (bits < 64)
        value |= (uint64_t)(last & 0x7f) << bits;
      bits += 7;
    } while ((last & 0x80) && !failed);
    return value;
  }
};

} // namespace libunwind

#define __ADDRESSSPACE_HPP__ // its place is taken by the class above
#define LocalAddressSpace Remote
#include "UnwindCursor.hpp"

using namespace libunwind;

namespace {

struct Session {
  Remote space;
  Image *images;
  AbstractUnwindCursor *cursor;
  bool arm64;
  alignas(16) char room[sizeof(unw_cursor_t)];
};

template <typename R> AbstractUnwindCursor *cursor_in(Session *session) {
  typedef UnwindCursor<Remote, R> Cursor;
  static_assert(sizeof(Cursor) <= sizeof(session->room), "the cursor has its room");
  return new ((Cursor *)session->room) Cursor(session->space, nullptr);
}

} // namespace

extern "C" {

// What would resume a frame in this very process: assembly of the library's, and nothing that a snapshot needs. Here it
// has C names of its own, since the library declares other types of them in other versions.
void no_x86_64_jumpto() __asm__("__libunwind_Registers_x86_64_jumpto");
void no_arm64_jumpto() __asm__("__libunwind_Registers_arm64_jumpto");
void no_arm64_za_disable() __asm__("__libunwind_Registers_arm64_za_disable");
void no_x86_64_jumpto() { abort(); }
void no_arm64_jumpto() { abort(); }
void no_arm64_za_disable() { abort(); }

Session *referee_open(int arm64, ReadMemory reader, const Image *images, size_t count) {
  Session *session = (Session *)calloc(1, sizeof(Session));
  session->images = (Image *)calloc(count, sizeof(Image));
  memcpy(session->images, images, count * sizeof(Image));
  session->arm64 = arm64 != 0;
  session->space.reader = reader;
  session->space.images = session->images;
  session->space.count = count;
  for (size_t i = 0; i < count; i++) // the cache knows files by this address, and another one may have lain there
    DwarfFDECache<Remote>::removeAllIn(images[i].header);
  return session;
}

// The caller keeps the parts and their bytes.
void referee_constants(Session *session, const Remote::Constant *parts, size_t count) {
  session->space.constants = parts;
  session->space.constant_count = count;
}

// A cursor at a snapshot's registers: `values` by DWARF number, the pc apart. The library chooses the rows that begin
// before the pc, as is right behind a call. `exact`: the interrupted pc is handed over as if a call of one byte had just
// been made there, so that the row that begins at it counts too. Otherwise as unw_init_local() does it.
void referee_start(Session *session, const uint64_t *values, int count, uint64_t pc, int exact) {
  session->space.failed = false;
  session->cursor = session->arm64 ? cursor_in<Registers_arm64>(session) : cursor_in<Registers_x86_64>(session);
  for (int i = 0; i < count; i++)
    session->cursor->setReg(i, values[i]);
  session->cursor->setReg(UNW_REG_IP, exact ? pc + 1 : pc);
  session->cursor->setInfoBasedOnIPRegister(exact != 0);
}

// unw_step(): positive where there is a caller, 0 at the end of the stack, negative for an error; -1000: unreadable memory.
int referee_step(Session *session) {
  int result = session->cursor->step();
  return session->space.failed ? -1000 : result;
}

uint64_t referee_register(Session *session, int number) { return session->cursor->getReg(number); }
int referee_is_signal_frame(Session *session) { return session->cursor->isSignalFrame(); }
uint64_t referee_unreadable(Session *session) { return session->space.unreadable; }
}
