// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace vitrine::cuda::emulated {
namespace {

constexpr size_t kPage = 4096;
constexpr int kNan = 0xff;  // a float or a bf16 of these bytes is NaN

constexpr FaultKind kKinds[] = {FaultKind::kStray, FaultKind::kUnwritten, FaultKind::kInFlight, FaultKind::kRace};
const FaultKind* const kStray = &kKinds[0];
const FaultKind* const kUnwritten = &kKinds[1];
const FaultKind* const kInFlight = &kKinds[2];
const FaultKind* const kRace = &kKinds[3];

void* Reserve(size_t bytes, int protection) {
  void* const place = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) std::abort();
  return place;
}

// Returns true if no barrier orders the access at `other` before the current access of the running thread.
bool Unordered(const Running& running, Moment other) {
  if (other.interval() < running.launch_first) return false;  // an earlier launch
  if (other.interval() < running.block_first) return true;    // another block of this launch
  if (other.interval() != running.now.interval() || other.thread() == running.now.thread()) return false;
  return other.warp() != running.now.warp() || other.warp_interval() == running.now.warp_interval();
}

std::string Describe(const Running& running, Moment other, const char* what) {
  if (other.interval() < running.block_first) return absl::StrCat(what, " by another block of this launch");
  const char* const barrier = other.warp() == running.now.warp() ? "SyncWarp or SyncBlock" : "SyncBlock";
  return absl::StrCat(what, " by thread ", other.thread(), " without ", barrier, " between");
}

}  // namespace

Memory::Memory()
    : memory_(static_cast<std::byte*>(Reserve(kBytes, PROT_NONE))),
      base_(reinterpret_cast<uintptr_t>(memory_)),
      shadow_(static_cast<Word*>(Reserve(kBytes / 4 * sizeof(Word), PROT_READ | PROT_WRITE))) {}

Memory::~Memory() {
  munmap(memory_, kBytes);
  munmap(shadow_, kBytes / 4 * sizeof(Word));
}

void* Memory::Allocate(size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  const size_t aligned = (bytes + 15) / 16 * 16, pages = (aligned + kPage - 1) / kPage * kPage;
  if (next_ + pages + 2 * kPage > kBytes) std::abort();
  const uintptr_t first = base_ + next_ + kPage;  // after a guard page
  next_ += kPage + pages;
  if (mprotect(Place(first), pages, PROT_READ | PROT_WRITE) != 0) std::abort();
  const uintptr_t buffer = first + pages - aligned;
  std::memset(Place(first), kNan, pages);
  for (size_t i = 0; i < bytes; ++i) WordAt(buffer + i).allocated |= static_cast<uint8_t>(1 << i % 4);
  buffers_[buffer] = bytes;
  allocated_ += bytes;
  return Place(buffer);
}

void Memory::Free(void* buffer) {
  if (buffer == nullptr) return;
  const auto found = buffers_.find(reinterpret_cast<uintptr_t>(buffer));
  if (found == buffers_.end()) std::abort();
  const auto [begin, bytes] = *found;
  buffers_.erase(found);
  allocated_ -= bytes;
  for (size_t i = 0; i < bytes; i += 4) WordAt(begin + i) = Word();
  const uintptr_t first = begin / kPage * kPage, end = (begin + bytes + kPage - 1) / kPage * kPage;
  madvise(Place(first), end - first, MADV_DONTNEED);
  mprotect(Place(first), end - first, PROT_NONE);
}

void Memory::Upload(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  const auto address = reinterpret_cast<uintptr_t>(to);
  for (size_t i = 0; i < bytes; ++i) WordAt(address + i).written |= static_cast<uint8_t>(1 << (address + i) % 4);
}

void Memory::Download(void* to, const void* from, size_t bytes) const {
  std::memcpy(to, from, bytes);
}

void Memory::Reset(void* buffer, size_t bytes) {
  std::memset(buffer, kNan, bytes);
  const auto address = reinterpret_cast<uintptr_t>(buffer);
  for (size_t i = 0; i < bytes; i += 4) {
    Word& word = WordAt(address + i);
    const uint8_t allocated = word.allocated;
    word = Word();
    word.allocated = allocated;
  }
}

// Calls check(word, mask) for each word of an access, until a call returns a fault.
template <class Check>
const FaultKind* Memory::ForWords(uintptr_t address, size_t bytes, Check check) {
  if (!Contains(address) || !Contains(address + bytes - 1)) return kStray;
  while (bytes > 0) {
    const size_t offset = address % 4, count = std::min(bytes, 4 - offset);
    const auto mask = static_cast<uint8_t>(((1u << count) - 1) << offset);
    Word& word = WordAt(address);
    if ((word.allocated & mask) != mask) return kStray;
    if ((word.in_flight & mask) != 0) return kInFlight;
    if (const FaultKind* const fault = check(word, mask)) return fault;
    address += count;
    bytes -= count;
  }
  return nullptr;
}

const FaultKind* Memory::Read(const Running& running, uintptr_t address, size_t bytes, std::string& detail) {
  return ForWords(address, bytes, [&](Word& word, uint8_t mask) -> const FaultKind* {
    if ((word.written & mask) != mask) return kUnwritten;
    if ((word.writer_mask & mask) != 0 && Unordered(running, word.writer)) {
      detail = Describe(running, word.writer, "written");
      return kRace;
    }
    // Two readers per interval are enough: if several threads have read, at least one of the two recorded readers is
    // not the thread that writes next.
    const Moment first = word.first_reader;
    const bool is_old = first.interval() != running.now.interval() ||
                        (first.warp() == running.now.warp() && first.warp_interval() != running.now.warp_interval());
    if (is_old) {
      if (Unordered(running, first)) word.last_reader = first;
      word.first_reader = running.now;
      word.reader_mask = mask;
    } else {
      if (first.thread() != running.now.thread()) word.last_reader = running.now;
      word.reader_mask |= mask;
    }
    return nullptr;
  });
}

const FaultKind* Memory::Write(const Running& running, uintptr_t address, size_t bytes, std::string& detail) {
  return ForWords(address, bytes, [&](Word& word, uint8_t mask) -> const FaultKind* {
    if ((word.writer_mask & mask) != 0 && Unordered(running, word.writer)) {
      detail = Describe(running, word.writer, "written");
      return kRace;
    }
    for (const Moment reader : {word.first_reader, word.last_reader}) {
      if ((word.reader_mask & mask) == 0 || !Unordered(running, reader)) continue;
      detail = Describe(running, reader, "read");
      return kRace;
    }
    word.writer = running.now;
    word.writer_mask = mask;
    word.written |= mask;
    return nullptr;
  });
}

const FaultKind* Memory::Fly(const Running& running, uintptr_t address, size_t bytes, std::string& detail) {
  if (const FaultKind* const fault = Write(running, address, bytes, detail)) return fault;
  std::memset(Place(address), kNan, bytes);
  for (size_t i = 0; i < bytes; i += 4) WordAt(address + i).in_flight = 0xf;
  return nullptr;
}

// Records the write at the end of the copy, because later reads must be ordered after the wait, not only after the
// start of the copy.
void Memory::Land(const Running& running, uintptr_t address, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4) {
    Word& word = WordAt(address + i);
    word.in_flight = 0;
    word.writer = running.now;
  }
}

}  // namespace vitrine::cuda::emulated
