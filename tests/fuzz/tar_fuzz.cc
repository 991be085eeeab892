// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a tar shard. They must be rejected with a status, or give samples that lie within the shard
// and have labels in range.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "common/data/formats/tar_index.h"
#include "common/data/formats/webdataset_shard.h"
#include "tests/common/data/made_tar.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/require.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using vitrine::Require;
using vitrine::TarEnd;
using vitrine::TarMemberBytes;

constexpr int kClasses = 10;

const std::vector<std::string>& Seeds() {
  static const auto& seeds = *new std::vector<std::string>{
      TarMemberBytes("a.jpg", "picture") + TarMemberBytes("a.cls", "3") + TarEnd(),
      TarMemberBytes("b.json", R"({"label": 4})") + TarMemberBytes("b.png", std::string(600, 'x')) + TarEnd(),
      TarMemberBytes("pax", "23 path=c/long/name.jpg\n", 'x') + TarMemberBytes("short", "c") +
          TarMemberBytes("c/long/name.cls", "1") + TarEnd(),
      TarMemberBytes("pax", "12 size=600\n26 GNU.sparse.realsize=9\n", 'x') + TarMemberBytes("d.jpg", "d"),
      TarMemberBytes("././@LongLink", std::string("e/long/name.jpg\0", 16), 'L') + TarMemberBytes("e", "e"),
      TarMemberBytes("link.jpg", "", '1') + TarMemberBytes("folder/", "", '5') + TarEnd(),
  };
  return seeds;
}

}  // namespace

// Sets the correct checksum in every header. Otherwise no mutation would pass the check of the checksum.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 512 || seed % 64 == 0) {
    const std::string& start = Seeds()[seed / 64 % Seeds().size()];
    size = std::min(start.size(), max_size);
    std::memcpy(data, start.data(), size);
  }
  size = LLVMFuzzerMutate(data, size, max_size);
  for (size_t at = 0; seed % 16 != 1 && at + 512 <= size; at += 512) {
    char* header = reinterpret_cast<char*>(data) + at;
    if (std::memcmp(header + 257, "ustar", 5) == 0) vitrine::SetTarChecksum(header);
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const vitrine::MemoryFile memory({reinterpret_cast<const char*>(data), size});
  const auto file = vitrine::ReadOnlyFile::Open(memory.path());
  Require(file.ok());
  const auto samples = vitrine::ReadShard(*file, kClasses);
  if (!samples.ok()) {
    Require(samples.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  std::set<std::string> keys;
  for (const vitrine::ShardSample& sample : *samples) {
    Require(!sample.key.empty() && keys.insert(sample.key).second);
    Require(sample.label >= 0 && sample.label < kClasses);
    const auto bytes = file->ReadAt(sample.offset, sample.bytes);
    Require(bytes.ok() && std::memcmp(bytes->data(), data + sample.offset, bytes->size()) == 0);
  }
  return 0;
}
