// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/features.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/file/write.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/repository/files/safetensors.h"
#include "trainer/lab/tasks/sequence_base.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytes = int64_t{8} << 30;
constexpr int64_t kMostLabel = 999'999;

absl::Status Fault(const fs::path& file, const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": ", fault));
}

absl::Status CheckShapes(const fs::path& file, const at::Tensor& features, const at::Tensor& labels) {
  const auto type = features.scalar_type();
  if (features.dim() != 2 || features.size(1) == 0 ||
      (type != at::kFloat && type != at::kHalf && type != at::kBFloat16)) {
    return Fault(file, "the tensor \"features\" is not [vectors, values] of F32, F16 or BF16");
  }
  if (labels.dim() != 1 || labels.scalar_type() != at::kLong || labels.size(0) != features.size(0)) {
    return Fault(file, absl::StrCat("the tensor \"labels\" is not [", features.size(0),
                                    "] of I64, one class for each row of \"features\""));
  }
  return absl::OkStatus();
}

// Returns two independent draws of N(0, 1) by Box and Muller.
std::pair<double, double> Normals(CounterRandom& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  const double angle = 2 * std::numbers::pi * random.Uniform();
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::vector<float> NormalVector(int64_t width, int64_t epoch, int64_t number) {
  CounterRandom random = RandomFor(kMeasuredSeed, Stream::kClusters, epoch, number);
  std::vector<float> values(width + 1);
  for (int64_t i = 0; i < width; i += 2) {
    const auto [first, second] = Normals(random);
    values[i] = static_cast<float>(first);
    values[i + 1] = static_cast<float>(second);
  }
  values.resize(width);
  return values;
}

FeatureSet Rows(const FeatureSet& set, const std::vector<int64_t>& rows) {
  FeatureSet chosen{.features = set.features.index_select(0, at::tensor(rows, at::kLong)), .labels = {}};
  for (const int64_t row : rows) chosen.labels.push_back(set.labels[row]);
  return chosen;
}

}  // namespace

absl::StatusOr<FeatureSet> ReadFeatures(const fs::path& file) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(file, kMostBytes));
  auto content = ParseSafetensors(bytes);
  if (!content.ok()) return Fault(file, std::string(content.status().message()));
  for (const char* name : {"features", "labels"}) {
    if (!content->tensors.contains(name)) return Fault(file, absl::StrCat("there is no tensor \"", name, "\""));
  }
  if (const absl::Status finite = CheckFinite(*content); !finite.ok()) {
    return Fault(file, std::string(finite.message()));
  }
  const at::Tensor features = TensorOf(content->tensors["features"]), labels = TensorOf(content->tensors["labels"]);
  RETURN_IF_ERROR(CheckShapes(file, features, labels));
  FeatureSet set{.features = features.to(at::kFloat), .labels = {}};
  const int64_t* label = labels.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < labels.size(0); ++i) {
    if (label[i] < 0 || label[i] > kMostLabel) {
      return Fault(file, absl::StrCat("row ", i, " has the label ", label[i], "; allowed: 0 to ", kMostLabel));
    }
    set.labels.push_back(static_cast<int>(label[i]));
  }
  return set;
}

absl::Status WriteFeatures(const FeatureSet& set, const fs::path& file) {
  Safetensors content;
  content.tensors["features"] = StoredOf(set.features);
  content.tensors["labels"] =
      StoredOf(at::tensor(std::vector<int64_t>(set.labels.begin(), set.labels.end()), at::kLong));
  ASSIGN_OR_RETURN(const std::string bytes, WriteSafetensors(content));
  return WriteFile(file.string(), bytes);
}

absl::StatusOr<FeatureSplits> ReadFeatureSplits(const fs::path& place) {
  FeatureSplits splits;
  if (!IsFolder(place)) {
    ASSIGN_OR_RETURN(const FeatureSet all, ReadFeatures(place));
    std::tie(splits.train, splits.test) = SplitByClass(all, 0.1, kMeasuredSeed);
    return splits;
  }
  ASSIGN_OR_RETURN(splits.train, ReadFeatures(place / "train.safetensors"));
  ASSIGN_OR_RETURN(splits.test, ReadFeatures(place / "test.safetensors"));
  if (splits.train.features.size(1) == splits.test.features.size(1)) return splits;
  return Fault(place, absl::StrCat("train.safetensors has ", splits.train.features.size(1),
                                   " values per vector, test.safetensors has ", splits.test.features.size(1)));
}

FeatureSplits GeneratedClusters(int64_t width) {
  constexpr int64_t kClasses = 20, kTrain = 100, kTest = 20, kPerClass = kTrain + kTest;
  // The centres of two clouds are 0.5 sqrt(2 width) apart on average; each cloud has a standard deviation of 1.
  constexpr float kSpread = 0.5F;
  FeatureSplits splits;
  for (FeatureSet* set : {&splits.train, &splits.test}) {
    const bool train = set == &splits.train;
    const int64_t count = train ? kTrain : kTest;
    set->features = at::empty({kClasses * count, width}, at::kFloat);
    float* values = set->features.mutable_data_ptr<float>();
    for (int64_t label = 0; label < kClasses; ++label) {
      const std::vector<float> centre = NormalVector(width, /*epoch=*/0, label);
      for (int64_t i = 0; i < count; ++i) {
        const std::vector<float> noise = NormalVector(width, 1, label * kPerClass + (train ? 0 : kTrain) + i);
        for (int64_t k = 0; k < width; ++k) *values++ = kSpread * centre[k] + noise[k];
        set->labels.push_back(static_cast<int>(label));
      }
    }
  }
  return splits;
}

std::pair<FeatureSet, FeatureSet> SplitByClass(const FeatureSet& set, double share, uint64_t seed) {
  std::map<int, std::vector<int64_t>> members;
  for (size_t i = 0; i < set.labels.size(); ++i) members[set.labels[i]].push_back(static_cast<int64_t>(i));
  std::vector<int64_t> rest, taken;
  for (auto& [label, rows] : members) {
    CounterRandom random = RandomFor(seed, Stream::kSplit, 0, label);
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.Below(static_cast<int64_t>(i))]);
    const auto count = static_cast<std::ptrdiff_t>(std::lround(share * static_cast<double>(rows.size())));
    taken.insert(taken.end(), rows.begin(), rows.begin() + count);
    rest.insert(rest.end(), rows.begin() + count, rows.end());
  }
  std::sort(taken.begin(), taken.end());
  std::sort(rest.begin(), rest.end());
  return {Rows(set, rest), Rows(set, taken)};
}

}  // namespace vitrine
