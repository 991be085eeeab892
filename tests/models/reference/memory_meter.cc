// SPDX-License-Identifier: Apache-2.0
#include "tests/models/reference/memory_meter.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace vitrine::testing {
namespace {

struct Counts {
  std::mutex mutex;
  std::unordered_map<void*, int64_t> sizes;
  int64_t alive = 0;
  int64_t peak = 0;
  int64_t largest = 0;
};
Counts counts;

// This allocator is never destroyed, because tensors may outlive the meter and need the allocator's deleter.
class CountingAllocator : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = c10::alloc_cpu(size);
    if (data != nullptr) {
      const auto bytes = static_cast<int64_t>(size);
      const std::lock_guard lock(counts.mutex);
      counts.sizes[data] = bytes;
      counts.alive += bytes;
      counts.peak = std::max(counts.peak, counts.alive);
      counts.largest = std::max(counts.largest, bytes);
    }
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }

 private:
  static void Free(void* data) {
    if (data == nullptr) return;
    {
      const std::lock_guard lock(counts.mutex);
      const auto found = counts.sizes.find(data);
      counts.alive -= found->second;
      counts.sizes.erase(found);
    }
    c10::free_cpu(data);
  }
};

CountingAllocator allocator;
c10::Allocator* before = nullptr;

}  // namespace

MemoryMeter::MemoryMeter() {
  before = c10::GetCPUAllocator();
  const std::lock_guard lock(counts.mutex);
  counts.alive = counts.peak = counts.largest = 0;
  c10::SetCPUAllocator(&allocator, /*priority=*/255);
}

MemoryMeter::~MemoryMeter() {
  c10::SetCPUAllocator(before, /*priority=*/255);
}

int64_t MemoryMeter::peak_bytes() const {
  const std::lock_guard lock(counts.mutex);
  return counts.peak;
}

int64_t MemoryMeter::largest_bytes() const {
  const std::lock_guard lock(counts.mutex);
  return counts.largest;
}

}  // namespace vitrine::testing
