// SPDX-License-Identifier: Apache-2.0
// Memory of the emulated device: buffers between guard pages. For every 4 bytes, a shadow word records the accesses.
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_MEMORY_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "models/engine/cuda/emulated/fault.h"

namespace vitrine::cuda::emulated {

// Thread and time of an access, in 64 bits. The time is an interval between two barriers. Blocks run one after the
// other, so one counter that grows at each barrier of a block identifies launch, block and interval.
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

// The running thread, and the first intervals of its launch and block. The intervals show whether an earlier access was
// in the same launch and block.
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

  // Returns `bytes` of memory, aligned to 16. The memory is followed by at most 15 unused bytes and a guard page. An
  // access to these bytes or to the page is a fault. The memory contains NaN and counts as unwritten. Addresses are not
  // reused.
  void* Allocate(size_t bytes);
  void Free(void* buffer);
  size_t allocated() const { return allocated_; }

  // Copy from and to the host. Memory that was never written reads as NaN.
  void Upload(void* to, const void* from, size_t bytes);
  void Download(void* to, const void* from, size_t bytes) const;
  // Sets the words of a buffer to NaN, and marks them as unwritten and never accessed. Used for shared memory at the
  // start of a block.
  void Reset(void* buffer, size_t bytes);

  // Check an access of the running thread. Return null if the access is valid; otherwise set `detail` and return the
  // kind of fault.
  const FaultKind* Read(const Running& running, uintptr_t address, size_t bytes, std::string& detail);
  const FaultKind* Write(const Running& running, uintptr_t address, size_t bytes, std::string& detail);
  // Starts an asynchronous copy to these bytes: checks them like Write, fills them with NaN, and marks them as in
  // flight until Land.
  const FaultKind* Fly(const Running& running, uintptr_t address, size_t bytes, std::string& detail);
  void Land(const Running& running, uintptr_t address, size_t bytes);

 private:
  // State of a word of four bytes, and its last accesses. Masks have one bit per byte. Only the last writer is
  // recorded, even if several threads have written different bytes of the word.
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
  uintptr_t base_ = 0;  // address of `memory_`
  size_t next_ = 0;     // offset of the first page that was never used
  size_t allocated_ = 0;
  Word* shadow_ = nullptr;
  std::map<uintptr_t, size_t> buffers_;  // size by address
};

}  // namespace vitrine::cuda::emulated

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_MEMORY_H_
