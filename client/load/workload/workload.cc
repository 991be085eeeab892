// SPDX-License-Identifier: Apache-2.0
#include "client/load/workload/workload.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/commands/attention_choice.h"
#include "client/commands/images.h"
#include "client/load/workload/random.h"
#include "common/imaging/encode/encode_png.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kMaxImageBytes = 32 << 20;
constexpr int kMadeSide = 224;

// Files that were already read, shared by the classes.
class FileCache {
 public:
  explicit FileCache(const WorkloadOptions& options) : options_(options) {}

  absl::StatusOr<std::string> Take(const std::string& path) {
    const auto known = images_.find(path);
    if (known != images_.end()) return known->second;
    std::string bytes;
    if (path.empty()) {
      // The smallest generated image fits any --bytes.
      bytes = MadeImage(options_.bytes > 0 ? 1 : kMadeSide);
    } else {
      auto read = ReadImage(path, kMaxImageBytes);
      if (!read.ok()) return absl::Status(read.status().code(), absl::StrCat(path, ": ", read.status().message()));
      bytes = *std::move(read);
    }
    if (options_.bytes > 0) bytes.resize(static_cast<size_t>(options_.bytes));
    return images_.emplace(path, std::move(bytes)).first->second;
  }

 private:
  const WorkloadOptions& options_;
  std::map<std::string, std::string> images_;
};

v1::ClassifyRequest RequestOf(const RequestClass& request_class) {
  v1::ClassifyRequest request;
  request.set_model(request_class.model.name);
  AskForVersion(request_class.model, request);
  if (request_class.resolution.has_value()) *request.mutable_resolution() = *request_class.resolution;
  if (request_class.priority != v1::NORMAL) request.set_priority(request_class.priority);
  for (const v1::AttentionKind kind : request_class.attention) request.add_attention()->set_kind(kind);
  for (const v1::FeatureKind kind : request_class.features) request.add_features()->set_kind(kind);
  if (!request_class.attention.empty() || !request_class.features.empty()) {
    request.set_max_attention_bytes(kMostAttentionBytes);
  }
  if (request_class.top_k.has_value()) request.set_top_k(*request_class.top_k);
  return request;
}

// Adds requests to a workload whose request classes are complete.
class WorkloadBuilder {
 public:
  WorkloadBuilder(const WorkloadOptions& options, Workload& workload)
      : options_(options), shelf_(options), workload_(workload) {}

  absl::Status Add(uint32_t request_class, const std::string& image) {
    v1::ClassifyRequest request = RequestOf(workload_.classes[request_class]);
    ASSIGN_OR_RETURN(*request.mutable_image(), shelf_.Take(image));
    workload_.image_bytes += static_cast<double>(request.image().size());
    workload_.requests.push_back({request.SerializeAsString(), request_class, image});
    total_ += static_cast<int64_t>(workload_.requests.back().bytes.size());
    if (total_ <= options_.max_bytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the images take more than ", options_.max_bytes >> 20,
                                                   " MiB, and all must fit in memory; give fewer images"));
  }

  void Finish() { workload_.image_bytes /= static_cast<double>(std::max<size_t>(1, workload_.requests.size())); }

 private:
  const WorkloadOptions& options_;
  FileCache shelf_;
  Workload& workload_;
  int64_t total_ = 0;
};

}  // namespace

uint32_t Workload::Pick(uint64_t seed, uint64_t number) const {
  uint32_t chosen = 0;
  if (classes.size() > 1) {
    const double total = std::accumulate(classes.begin(), classes.end(), 0.0,
                                         [](double sum, const RequestClass& one) { return sum + one.weight; });
    double left = RandomShare(seed, RandomPurpose::kClass, number) * total;
    while (chosen + 1 < classes.size() && left >= classes[chosen].weight) left -= classes[chosen++].weight;
  }
  const auto of_class = [](const Request& request, uint32_t wanted) { return request.request_class < wanted; };
  const auto begin = std::lower_bound(requests.begin(), requests.end(), chosen, of_class);
  const auto end = std::lower_bound(begin, requests.end(), chosen + 1, of_class);
  const auto images = static_cast<uint64_t>(end - begin);
  return static_cast<uint32_t>(begin - requests.begin()) +
         static_cast<uint32_t>(RandomBits(seed, RandomPurpose::kImage, number) % images);
}

absl::StatusOr<Workload> PrepareWorkload(std::vector<RequestClass> classes, const WorkloadOptions& options) {
  Workload workload;
  workload.classes = std::move(classes);
  WorkloadBuilder builder(options, workload);
  for (uint32_t number = 0; number < workload.classes.size(); ++number) {
    std::vector<std::string> paths = {""};
    if (!workload.classes[number].images.empty()) {
      ASSIGN_OR_RETURN(FoundImages found, FindImages(workload.classes[number].images));
      paths = std::move(found.paths);
      std::string& all = workload.passed_over;
      if (!absl::StrContains(all, found.passed_over)) {
        absl::StrAppend(&all, all.empty() ? "" : "; ", found.passed_over);
      }
    }
    for (const std::string& path : paths) RETURN_IF_ERROR(builder.Add(number, path));
  }
  builder.Finish();
  return workload;
}

absl::StatusOr<Workload> PrepareTrace(const Trace& trace, const WorkloadOptions& options) {
  Workload workload;
  workload.classes = trace.classes;
  WorkloadBuilder builder(options, workload);
  for (const Trace::Request& request : trace.requests) {
    if (std::error_code none; std::filesystem::is_directory(request.image, none)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a trace names one image per line; ", request.image, " is a folder"));
    }
    RETURN_IF_ERROR(builder.Add(request.request_class, request.image));
  }
  builder.Finish();
  return workload;
}

std::string MadeImage(int side) {
  Image image{side, side, 3, {}};
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int patch = y / 4 * side + x / 4;
      const uint64_t noise = RandomBits(0, RandomPurpose::kImage, static_cast<uint64_t>(patch));
      const int level = 255 * (x + y) / (2 * side);
      for (int channel = 0; channel < 3; ++channel) {
        const int grain = static_cast<int>(noise >> (8 * channel) & 63);
        image.pixels.push_back(static_cast<uint8_t>(std::clamp(level + grain - 32, 0, 255)));
      }
    }
  }
  const absl::StatusOr<std::string> png = EncodePng(image);
  return png.ok() ? *png : std::string();
}

}  // namespace vitrine
