// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/subject.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/families/input.h"
#include "models/repository/selection.h"
#include "models/repository/stored_version.h"
#include "models/zoo.h"
#include "models/zoo/published.h"

namespace vitrine {
namespace {

absl::StatusOr<int> ParsePixels(std::string_view text) {
  int pixels = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pixels);
  if (error != std::errc() || end != text.data() + text.size() || pixels < 1 || pixels > 8192) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" is not a number of pixels from 1 to 8192, as in --resolution 224 or --resolution 224x320"));
  }
  return pixels;
}

void TakeMoreTokens(v1::ModelConfig& config) {
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  if (preprocessing.has_native()) preprocessing.mutable_native()->set_max_tokens(kMostTokens);
}

absl::StatusOr<Subject> SubjectInRepository(const std::string& model, const std::string& repository, bool weights) {
  ASSIGN_OR_RETURN(const VersionId id, FindOneVersion(repository, model));
  const std::string name = absl::StrCat(id.model, "/", id.version);
  StoredVersion version;
  if (weights) {
    ASSIGN_OR_RETURN(version, ReadVersion(repository, id));
  } else {
    ASSIGN_OR_RETURN(version.manifest, ReadManifest(repository, id));
  }
  const WorkloadInput input = DefaultInput(version.manifest.config());
  TakeMoreTokens(*version.manifest.mutable_config());
  if (weights) {
    ASSIGN_OR_RETURN(WeightedModel fitted, FitWeights(version.manifest, std::move(version.weights)));
    return Subject{name, std::move(fitted), input};
  }
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(version.manifest.config()));
  return Subject{name, {std::move(description), {}}, input};
}

StoredTensor AnyNumbers(const std::vector<int64_t>& shape) {
  FloatArray numbers{.shape = shape};
  int64_t count = 1;
  for (const int64_t side : shape) count *= side;
  for (int64_t i = 0; i < count; ++i) numbers.values.push_back(0.05F * static_cast<float>(i % 17 - 8) / 8);
  return StoredOf(std::move(numbers));
}

absl::StatusOr<Subject> SubjectInZoo(const std::string& model, bool weights) {
  ASSIGN_OR_RETURN(ZooRow row, FindVariant(model));
  const WorkloadInput input = DefaultInput(row.config);
  TakeMoreTokens(row.config);
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(row.config));
  Subject subject{std::string(row.name), {std::move(description), {}}, input};
  if (weights) {
    for (const program::Weight& weight : subject.model.description.program().weights()) {
      subject.model.weights.push_back(AnyNumbers(weight.shape));
    }
  }
  const std::optional<Published> published = FindPublished(row.name);
  if (published && published->side > 0) subject.input.height = subject.input.width = published->side;
  return subject;
}

}  // namespace

absl::StatusOr<Subject> FindSubject(const std::string& model, const std::string& repository, bool weights) {
  return repository.empty() ? SubjectInZoo(model, weights) : SubjectInRepository(model, repository, weights);
}

absl::StatusOr<WorkloadInput> ParseResolution(const std::string& text) {
  const size_t x = text.find('x');
  WorkloadInput input;
  ASSIGN_OR_RETURN(input.height, ParsePixels(std::string_view(text).substr(0, x)));
  input.width = input.height;
  if (x != std::string::npos) {
    ASSIGN_OR_RETURN(input.width, ParsePixels(std::string_view(text).substr(x + 1)));
  }
  return input;
}

std::vector<float> RandomPixels(int channels, const WorkloadInput& input, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal;
  std::vector<float> pixels(static_cast<size_t>(channels) * static_cast<size_t>(input.height) *
                            static_cast<size_t>(input.width));
  std::ranges::generate(pixels, [&] { return normal(random); });
  return pixels;
}

absl::StatusOr<Grid> GridOf(const Subject& subject) {
  absl::StatusOr<Grid> grid = subject.model.description.GridFor(subject.input.height, subject.input.width);
  if (grid.ok()) return grid;
  return absl::InvalidArgumentError(absl::StrCat(subject.name, ": ", std::string(grid.status().message())));
}

}  // namespace vitrine
