// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_WEBDATASET_SHARD_H_
#define VITRINE_COMMON_DATA_FORMATS_WEBDATASET_SHARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/file.h"

namespace vitrine {

// A labelled image in a shard.
struct ShardSample {
  std::string key;
  int64_t offset = 0;  // start of the encoded image within the shard
  int64_t bytes = 0;
  int label = 0;  // 0 or more
};

// Reads the samples of one shard, in the order of its images; see OpenWebDataset. Labels must be below `classes`.
// INVALID_ARGUMENT names the shard and the key.
absl::StatusOr<std::vector<ShardSample>> ReadShard(const ReadOnlyFile& shard, int classes);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_WEBDATASET_SHARD_H_
