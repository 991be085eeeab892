// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_MEMORY_FILE_H_
#define VITRINE_TESTS_FUZZ_MEMORY_FILE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/fuzz/require.h"

namespace vitrine {

// A file that exists only in memory but has a path, for functions that read files.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
    Require(descriptor_ >= 0 && write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_MEMORY_FILE_H_
