// Android's libunwindstack over the memory of a snapshot.
//
// Debian's android-libbacktrace has the library's code and no header for it. Declared here is what of its C++ interface is
// used, as version 29 lays it out: the order of virtual functions and of the members is the library's, names of members
// are ours. Unwinder::Unwind decides everything else, as in a crash report: which table, which row, where the stack ends.
//
// Of each caller the library lists the address before its pc. By how much it is before, GetPcAdjustment says, which is
// a virtual function: it is asked here a second time, so that the pc itself can be told.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace unwindstack {

enum ArchEnum : uint8_t {};
class Elf;
class JitDebug;
class DexFiles;
struct MapInfo;

class Memory {
 public:
  virtual ~Memory() = default;
  virtual bool ReadString(uint64_t at, std::string *into, uint64_t most);
  virtual void Clear() {}
  virtual size_t Read(uint64_t at, void *into, size_t size) = 0;
};

class Maps {
 public:
  Maps() = default;
  virtual ~Maps() = default;
  virtual bool Parse();
  virtual const std::string GetMapsFile() const { return ""; }

 protected:
  std::vector<std::unique_ptr<char>> maps;  // never looked at, only given back by the library
};

class BufferMaps : public Maps {
 public:
  explicit BufferMaps(const char *text) : text(text) {}
  bool Parse() override;

 private:
  const char *text;
};

class Regs {
 public:
  Regs(uint16_t count, uint8_t where, int16_t value) : count(count), where{where, value} {}
  virtual ~Regs() = default;
  virtual ArchEnum Arch() = 0;
  virtual bool Is32Bit() = 0;
  virtual void *RawData() = 0;
  virtual uint64_t pc() = 0;
  virtual uint64_t sp() = 0;
  virtual void set_pc(uint64_t) = 0;
  virtual void set_sp(uint64_t) = 0;
  virtual uint64_t GetPcAdjustment(uint64_t relative_pc, Elf *) = 0;
  virtual bool StepIfSignalHandler(uint64_t offset, Elf *, Memory *) = 0;
  virtual bool SetPcFromReturnAddress(Memory *) = 0;
  virtual void IterateRegisters(std::function<void(const char *, uint64_t)>) = 0;
  virtual Regs *Clone() = 0;

 protected:
  uint16_t count;
  struct {
    uint8_t kind;
    int16_t value;
  } where;
  uint64_t dex_pc = 0;
};

template <typename Word> class RegsImpl : public Regs {
 public:
  bool Is32Bit() override { return sizeof(Word) == 4; }
  void *RawData() override { return words.data(); }
  void IterateRegisters(std::function<void(const char *, uint64_t)>) override;

 protected:
  RegsImpl() : Regs(0, 0, 0) {}
  std::vector<Word> words;
};

#define REGISTERS(Name, Word)                                                 \
  class Name : public RegsImpl<Word> {                                       \
   public:                                                                    \
    Name();                                                                   \
    ArchEnum Arch() override;                                                 \
    uint64_t pc() override;                                                   \
    uint64_t sp() override;                                                   \
    void set_pc(uint64_t) override;                                           \
    void set_sp(uint64_t) override;                                           \
    uint64_t GetPcAdjustment(uint64_t, Elf *) override;                       \
    bool StepIfSignalHandler(uint64_t, Elf *, Memory *) override;             \
    bool SetPcFromReturnAddress(Memory *) override;                           \
    void IterateRegisters(std::function<void(const char *, uint64_t)>) override; \
    Regs *Clone() override;                                                   \
  };
REGISTERS(RegsX86_64, uint64_t)
REGISTERS(RegsArm64, uint64_t)
REGISTERS(RegsArm, uint32_t)

struct FrameData {
  size_t number;
  uint64_t relative_pc, pc, sp;
  std::string function;
  uint64_t function_offset = 0;
  std::string map;
  uint64_t map_elf_start = 0, map_offset = 0, map_start = 0, map_end = 0, map_load_bias = 0;
  int map_flags = 0;
};

struct ErrorData {
  uint8_t code;
  uint64_t address;
};

class Unwinder {
 public:
  Unwinder(size_t most, Maps *maps, Regs *regs, std::shared_ptr<Memory> memory)
      : most(most), maps(maps), regs(regs), memory(memory) {
    found.reserve(most);
  }
  virtual ~Unwinder() = default;
  void Unwind(const std::vector<std::string> *skipped, const std::vector<std::string> *ignored);

  size_t most;
  Maps *maps;
  Regs *regs;
  std::vector<FrameData> found;
  std::shared_ptr<Memory> memory;
  JitDebug *jit = nullptr;
  DexFiles *dex = nullptr;
  bool names = false, sonames = false, build_ids = false, from_memory = false;
  ErrorData error = {0, 0};
};

}  // namespace unwindstack

using namespace unwindstack;

namespace {

typedef bool (*ReadMemory)(uint64_t at, void *into, uint64_t size);

class SnapshotMemory : public Memory {
 public:
  explicit SnapshotMemory(ReadMemory reader) : reader(reader) {}
  size_t Read(uint64_t at, void *into, size_t size) override { return reader(at, into, size) ? size : 0; }

 private:
  ReadMemory reader;
};

struct Asked {
  uint64_t pc, before;  // a caller's pc, and how far before it the library looks
};

template <typename Registers> class Watched : public Registers {
 public:
  std::vector<Asked> asked;
  uint64_t GetPcAdjustment(uint64_t relative_pc, Elf *elf) override {
    uint64_t before = Registers::GetPcAdjustment(relative_pc, elf);
    asked.push_back({this->pc(), before});
    return before;
  }
};

struct Session {
  int arch;
  std::string text;
  std::unique_ptr<BufferMaps> maps;
  std::shared_ptr<Memory> memory;
};

// What is told of one frame. `exact`: the library took its pc for an instruction, not for a return address.
struct Frame {
  uint64_t pc, sp, exact;
};

template <typename Registers, typename Word>
int unwound(Session *session, const uint64_t *values, int count, Frame *frames, size_t most, uint64_t *error) {
  Watched<Registers> registers;
  Word *words = static_cast<Word *>(registers.RawData());
  for (int i = 0; i < count; i++) words[i] = static_cast<Word>(values[i]);
  Unwinder unwinder(most, session->maps.get(), &registers, session->memory);
  unwinder.Unwind(nullptr, nullptr);
  size_t next = 0, told = 0;
  for (const FrameData &each : unwinder.found) {
    Frame &frame = frames[told++];
    frame = {each.pc, each.sp, 1};
    if (next < registers.asked.size() && told > 1) {
      const Asked &asked = registers.asked[next];
      if (each.pc == asked.pc - asked.before && asked.before) frame = {asked.pc, each.sp, 0};
      if (each.pc == asked.pc || each.pc == asked.pc - asked.before) next++;
    }
  }
  error[0] = unwinder.error.code;
  error[1] = unwinder.error.address;
  return static_cast<int>(told);
}

}  // namespace

extern "C" {

// `maps` is text as in /proc/PID/maps.
Session *referee_open(int arch, const char *maps, ReadMemory reader) {
  auto *session = new Session{arch, maps, nullptr, std::make_shared<SnapshotMemory>(reader)};
  session->maps = std::make_unique<BufferMaps>(session->text.c_str());
  if (!session->maps->Parse()) {
    delete session;
    return nullptr;
  }
  return session;
}

void referee_close(Session *session) { delete session; }

// The number of frames, at most `most`; why there are no more is in error[0], and the address that could not be read in
// error[1]. `values` are the registers in the library's order.
int referee_unwind(Session *session, const uint64_t *values, int count, Frame *frames, size_t most, uint64_t *error) {
  switch (session->arch) {
  case 0:
    return unwound<RegsX86_64, uint64_t>(session, values, count, frames, most, error);
  case 1:
    return unwound<RegsArm64, uint64_t>(session, values, count, frames, most, error);
  default:
    return unwound<RegsArm, uint32_t>(session, values, count, frames, most, error);
  }
}
}
