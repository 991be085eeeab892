// SPDX-License-Identifier: Apache-2.0
// Memory of the emulated device: buffers between guard pages, and a shadow word for each of its words.
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_MEMORY_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "models/engine/cuda/emulated/fault.h"

namespace vitrine::cuda::emulated {

// Position of a thread in the order that barriers make, as 64 bits. Blocks run one after the other, so a number that
// grows at each barrier of a block says launch, block and barrier interval at once.
class Moment {
 public:
  Moment() = default;
  Moment(uint64_t interval, uint64_t warp_interval, int thread)
      : bits_(interval << 24 | (warp_interval & 0x3fff) << 10 | static_cast<uint64_t>(thread)) {}

  uint64_t interval() const { return bits_ >> 24; }
  uint64_t warp_interval() const { return bits_ >> 10 & 0x3fff; }
  int thread() const { return static_cast<int>(bits_ & 0x3ff); }
  int warp() const { return thread() / 32; }

 private:
  uint64_t bits_ = 0;
};

// The thread that runs: what accesses are compared with.
struct Running {
  Moment now;
  uint64_t launch_first = 0;  // first interval of the launch
  uint64_t block_first = 0;   // first interval of the block
};

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Returns `bytes` of memory, aligned to 16, whose end is a guard page (after at most 15 bytes that are stray too).
  // It holds NaN, and counts as unwritten. Addresses are not used again.
  void* Allocate(size_t bytes);
  void Free(void* buffer);
  size_t allocated() const { return allocated_; }

  // Copies from and to the host. A read of memory that nobody wrote gives NaN.
  void Upload(void* to, const void* from, size_t bytes);
  void Download(void* to, const void* from, size_t bytes) const;
  // Makes the words of a buffer unwritten, NaN and free of accesses: shared memory when a block begins.
  void Reset(void* buffer, size_t bytes);

  // Checks an access of the running thread; returns null, or the fault's kind with `detail` set.
  const FaultKind* Read(const Running& running, uintptr_t address, size_t bytes, std::string& detail);
  const FaultKind* Write(const Running& running, uintptr_t address, size_t bytes, std::string& detail);
  // Checks as Write, fills `bytes` bytes with NaN, and marks them as in flight until Land.
  const FaultKind* Fly(const Running& running, uintptr_t address, size_t bytes, std::string& detail);
  void Land(const Running& running, uintptr_t address, size_t bytes);

 private:
  // Accesses of four bytes. Masks have a bit for each byte; of accesses to parts of a word, the last thread's is known.
  struct Word {
    Moment writer, first_reader, last_reader;
    uint8_t allocated = 0, written = 0, in_flight = 0, writer_mask = 0, reader_mask = 0;
  };

  bool Contains(uintptr_t address) const { return address - base_ < kBytes; }
  std::byte* Place(uintptr_t address) const { return memory_ + (address - base_); }
  Word& WordAt(uintptr_t address) const { return shadow_[(address - base_) / 4]; }
  template <class Check>
  const FaultKind* ForWords(uintptr_t address, size_t bytes, Check check);

  static constexpr size_t kBytes = size_t{1} << 30;
  std::byte* memory_ = nullptr;
  uintptr_t base_ = 0;  // its address
  size_t next_ = 0;     // offset of the first page that was never used
  size_t allocated_ = 0;
  Word* shadow_ = nullptr;
  std::map<uintptr_t, size_t> buffers_;  // bytes by address
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_MEMORY_H_
