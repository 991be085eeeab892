// SPDX-License-Identifier: Apache-2.0
#include "common/data/formats/webdataset.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/data/formats/image_files.h"
#include "common/data/formats/tar_index.h"
#include "common/data/formats/tar_shards.h"
#include "common/data/formats/webdataset_shard.h"
#include "common/data/parallel.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Maximum number of classes if no file lists the class names.
constexpr int kMostClasses = 100'000;
// There may be more threads than cores, because reading headers mostly waits for the disk.
constexpr int kIndexThreads = 8;

struct Shard {
  fs::path path;
  int64_t bytes = 0;  // size of the file when it was indexed
  std::vector<ShardSample> samples;
};

class WebDataset final : public Dataset {
 public:
  WebDataset(fs::path folder, std::vector<Shard> shards, std::vector<std::string> labels, bool undivided)
      : folder_(std::move(folder)), shards_(std::move(shards)) {
    labels_ = std::move(labels);
    undivided_ = undivided;
    for (const Shard& shard : shards_) {
      begins_.push_back(size_);
      size_ += static_cast<int64_t>(shard.samples.size());
    }
  }

  int64_t size() const override { return size_; }
  int label(int64_t index) const override { return Find(index).second.label; }

  std::string name(int64_t index) const override {
    const auto [shard, sample] = Find(index);
    return absl::StrCat(shard.path.lexically_relative(folder_).string(), "/", sample.key);
  }

  absl::StatusOr<Image> image(int64_t index) const override {
    const auto [shard, sample] = Find(index);
    ASSIGN_OR_RETURN(std::string bytes, Read(shard, sample));
    return DecodeNamed(NameOf(shard, sample), std::move(bytes));
  }

  absl::StatusOr<std::string> encoded(int64_t index) const override {
    const auto [shard, sample] = Find(index);
    ASSIGN_OR_RETURN(std::string bytes, Read(shard, sample));
    return SentFile(NameOf(shard, sample), std::move(bytes));
  }

  absl::StatusOr<std::string> stored(int64_t index) const override {
    const auto [shard, sample] = Find(index);
    return Read(shard, sample);
  }

 private:
  // Returns the image's name for error messages.
  static std::string NameOf(const Shard& shard, const ShardSample& sample) {
    return absl::StrCat(shard.path.string(), ": ", sample.key);
  }

  std::pair<const Shard&, const ShardSample&> Find(int64_t index) const {
    const size_t shard = std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin() - 1;
    return {shards_[shard], shards_[shard].samples[index - begins_[shard]]};
  }

  static absl::StatusOr<std::string> Read(const Shard& shard, const ShardSample& sample) {
    return ReadTarMember(shard.path, shard.bytes, sample.offset, sample.bytes);
  }

  const fs::path folder_;
  const std::vector<Shard> shards_;
  std::vector<int64_t> begins_;  // index of each shard's first image
  int64_t size_ = 0;
};

absl::StatusOr<std::vector<Shard>> ReadShards(const std::vector<fs::path>& paths, int classes) {
  std::vector<Shard> shards(paths.size());
  RETURN_IF_ERROR(ParallelFor(static_cast<int64_t>(paths.size()), kIndexThreads, [&](int64_t i) -> absl::Status {
    ASSIGN_OR_RETURN(const ReadOnlyFile file, ReadOnlyFile::Open(paths[i]));
    ASSIGN_OR_RETURN(std::vector<ShardSample> samples, ReadShard(file, classes));
    shards[i] = {.path = paths[i], .bytes = file.size(), .samples = std::move(samples)};
    return absl::OkStatus();
  }));
  return shards;
}

// Returns the class names, or an empty list if no file has them.
absl::StatusOr<std::vector<std::string>> NamedClasses(const fs::path& folder) {
  for (const char* name : {"classes.txt", "classnames.txt"}) {
    if (!IsRegularFile(folder / name)) continue;
    ASSIGN_OR_RETURN(std::vector<std::string> labels, ReadLines(folder / name));
    const auto empty = std::find(labels.begin(), labels.end(), "");
    if (!labels.empty() && empty == labels.end()) return labels;
    return absl::InvalidArgumentError(
        absl::StrCat((folder / name).string(), ": line ", empty - labels.begin() + 1, " names no class"));
  }
  return std::vector<std::string>();
}

int CountClasses(const std::vector<Shard>& shards) {
  int classes = 0;
  for (const Shard& shard : shards) {
    for (const ShardSample& sample : shard.samples) classes = std::max(classes, sample.label + 1);
  }
  return classes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> OpenWebDataset(std::string_view where, Split split) {
  ASSIGN_OR_RETURN(const TarShards found, FindTarShards(where));
  const std::vector<fs::path>& paths = split == Split::kTrain ? found.train : found.test;
  if (paths.empty()) {
    return absl::NotFoundError(absl::StrCat("no shard of ", std::string(where), " has ",
                                            split == Split::kTrain ? "train" : "test or val",
                                            " in its name, so the split is missing"));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> labels, NamedClasses(found.folder));
  int classes = labels.empty() ? kMostClasses : static_cast<int>(labels.size());
  const bool from_train = labels.empty() && split == Split::kTest && !found.undivided && !found.train.empty();
  if (from_train) {
    ASSIGN_OR_RETURN(const std::vector<Shard> train, ReadShards(found.train, classes));
    classes = CountClasses(train);
  }
  ASSIGN_OR_RETURN(std::vector<Shard> shards, ReadShards(paths, classes));
  if (CountClasses(shards) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(paths.front().string(),
                                                   paths.size() > 1 ? " and the others hold" : " holds",
                                                   " no image; expected members KEY.jpg with KEY.cls"));
  }
  if (labels.empty() && !from_train) classes = CountClasses(shards);
  for (int i = static_cast<int>(labels.size()); i < classes; ++i) labels.push_back(absl::StrCat(i));
  return std::make_unique<WebDataset>(found.folder, std::move(shards), std::move(labels), found.undivided);
}

}  // namespace vitrine
