// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/failing_allocator.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace vitrine::testing {
namespace {

constexpr std::string_view kServingThreads[] = {"executor-", "calls", "http"};
constexpr const char* kSpared[] = {"libgrpc", "libgpr", "libtorch", "libc10"};

std::atomic<int64_t> left = 0;  // until one fails; 0: none does
std::atomic<bool> failed = false;

// Where the code of the libraries lies that are spared.
struct Range {
  uintptr_t begin = 0, end = 0;
};
std::array<Range, 16> spared;
std::atomic<int> spared_count = 0;

int AddSpared(dl_phdr_info* info, size_t, void*) {
  for (const char* name : kSpared) {
    if (std::strstr(info->dlpi_name, name) == nullptr) continue;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
      const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
      if (spared_count < static_cast<int>(spared.size())) spared[spared_count++] = {begin, begin + part.p_memsz};
    }
  }
  return 0;
}

_Unwind_Reason_Code LookAt(_Unwind_Context* frame, void* is_spared) {
  const uintptr_t at = _Unwind_GetIP(frame);
  for (int i = 0; i < spared_count; ++i) {
    if (at < spared[i].begin || at >= spared[i].end) continue;
    *static_cast<bool*>(is_spared) = true;
    return _URC_END_OF_STACK;
  }
  return _URC_NO_REASON;
}

bool InsideSparedLibrary() {
  bool is_spared = false;
  _Unwind_Backtrace(LookAt, &is_spared);
  return is_spared;
}

bool OnServingThread() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return std::any_of(std::begin(kServingThreads), std::end(kServingThreads),
                     [&](std::string_view prefix) { return std::string_view(name).starts_with(prefix); });
}

bool Fails() {
  thread_local bool looking = false;  // unwinding may allocate
  if (left.load(std::memory_order_relaxed) <= 0 || looking) return false;
  looking = true;
  const bool counts = OnServingThread() && !InsideSparedLibrary();
  looking = false;
  if (!counts || left.fetch_sub(1) != 1) return false;
  failed = true;
  return true;
}

void* Allocate(size_t size, size_t alignment) {
  if (Fails()) throw std::bad_alloc();
  size = std::max<size_t>(size, 1);
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(size)
                           : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void FailAllocation(int64_t n) {
  if (spared_count == 0) dl_iterate_phdr(AddSpared, nullptr);
  failed = false;
  left = n;
}

bool StopFailing() {
  left = 0;
  return failed;
}

}  // namespace vitrine::testing

// The other forms of new are made of these two.
void* operator new(size_t size) {
  return vitrine::testing::Allocate(size, 0);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return vitrine::testing::Allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
