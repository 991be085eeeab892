// SPDX-License-Identifier: Apache-2.0
#include "server/process/address_space.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

// Approximate number of threads that are not executors, such as threads of listeners, model loads and periodic tasks.
constexpr int kOtherThreads = 40;
// Address space for heaps and temporary mappings.
constexpr size_t kOther = size_t{128} << 20;

size_t StackBytes() {
  pthread_attr_t attributes;
  size_t bytes = size_t{8} << 20;
  if (pthread_attr_init(&attributes) != 0) return bytes;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

}  // namespace

absl::Status CheckAddressSpace(int executors) {
  const int threads = executors + kOtherThreads;
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return absl::OkStatus();
  const size_t needed = static_cast<size_t>(threads) * StackBytes() + kOther;
  void* const room = mmap(nullptr, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) {
    munmap(room, needed);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "virtual memory is limited to ", limit.rlim_cur >> 20, " MiB (ulimit -v), and ", threads,
      " threads with their stacks need ", needed >> 20,
      " MiB in addition to the program; raise the limit, or limit the memory in use with a control group"));
}

}  // namespace vitrine
