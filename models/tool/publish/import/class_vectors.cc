// SPDX-License-Identifier: Apache-2.0
// Makes the head of an image tower from class vectors that a text tower computed.
#include "models/tool/publish/import/class_vectors.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/data/file.h"
#include "common/status_macros.h"
#include "models/repository/files/text.h"

namespace vitrine {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr double kLargestLogitScale = 100;

absl::Status NoArray(const char* fault) {
  return absl::InvalidArgumentError(absl::StrCat(
      fault, "; write it with numpy.save(file, numpy.ascontiguousarray(vectors, \"float32\")), a row per class"));
}

// Returns the text after `'name':` in the header, which is a Python dictionary.
std::string_view Behind(std::string_view header, std::string_view name) {
  const size_t at = header.find(name);
  if (at == std::string_view::npos) return "";
  header.remove_prefix(at + name.size());
  const size_t first = header.find_first_not_of(": ");
  return first == std::string_view::npos ? "" : header.substr(first);
}

// Parses "(rows, columns)".
absl::StatusOr<std::vector<int64_t>> ShapeIn(std::string_view text) {
  std::vector<int64_t> shape;
  const char *at = text.data(), *const end = text.data() + text.size();
  if (at != end && *at == '(') {
    while (++at != end && *at != ')') {
      int64_t side = 0;
      const auto [after, error] = std::from_chars(at, end, side);
      if (error == std::errc()) shape.push_back(side);
      at = error == std::errc() ? after - 1 : at;
    }
  }
  constexpr int64_t kMost = 1 << 20;
  const bool fits = shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && shape[0] <= kMost && shape[1] <= kMost;
  if (!fits) return NoArray("it does not have two dimensions of 1 to 1,048,576");
  return shape;
}

template <class Number>
void Convert(std::string_view bytes, std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    Number number;
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    values[i] = static_cast<float>(number);
  }
}

}  // namespace

absl::StatusOr<FloatArray> ParseArray(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return NoArray("it is not an array of NumPy (.npy)");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const bool is_long = byte(6) > 1;  // the header's length has four bytes
  const size_t begin = is_long ? 12 : 10;
  const size_t length = byte(8) + (byte(9) << 8) + (is_long ? (byte(10) << 16) + (byte(11) << 24) : 0);
  if (length > bytes.size() - begin) return NoArray("its header is cut off");
  const std::string_view header = bytes.substr(begin, length), data = bytes.substr(begin + length);
  if (!Behind(header, "'fortran_order'").starts_with("False")) return NoArray("it is not in C order");
  FloatArray array;
  ASSIGN_OR_RETURN(array.shape, ShapeIn(Behind(header, "'shape'")));
  const std::string_view type = Behind(header, "'descr'");
  const size_t item = type.starts_with("'<f8'") ? 8 : type.starts_with("'<f4'") ? 4 : type.starts_with("'<f2'") ? 2 : 0;
  if (item == 0) return NoArray("its numbers are not float16, float32 or float64");
  const size_t numbers = static_cast<size_t>(array.shape[0] * array.shape[1]);
  if (data.size() != numbers * item) return NoArray("it does not have as many numbers as its shape says");
  array.values.resize(numbers);
  if (item == 8) {
    Convert<double>(data, array.values);
  } else if (item == 4) {
    Convert<float>(data, array.values);
  } else {
    std::byte* halves = nullptr;
    const StoredTensor stored = MakeStored(Dtype::kF16, array.shape, halves);
    std::memcpy(halves, data.data(), data.size());
    array = FloatsOf(stored);
  }
  return array;
}

double LogitScaleOf(const TensorMap& tensors) {
  const auto found = tensors.find("logit_scale");
  if (found == tensors.end() || !IsFloating(found->second.dtype)) return kLargestLogitScale;
  const FloatArray value = FloatsOf(found->second);
  return value.values.size() == 1 ? std::exp(double{value.values[0]}) : kLargestLogitScale;
}

absl::StatusOr<StoredTensor> CosineHead(const std::string& path, const std::vector<std::string>& labels, int64_t width,
                                        double scale) {
  const auto classes = static_cast<int64_t>(labels.size());
  constexpr int64_t kMostBytes = int64_t{1} << 31;
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path, kMostBytes));
  absl::StatusOr<FloatArray> array = ParseArray(bytes);
  if (!array.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", array.status().message()));
  if (array->shape != std::vector<int64_t>{classes, width}) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", array->shape[0], " vectors of ", array->shape[1],
                                                   " numbers; there are ", classes,
                                                   " labels, and the model's vectors have ", width, " numbers"));
  }
  for (int64_t row = 0; row < classes; ++row) {
    const auto first = array->values.begin() + row * width;
    const double length = std::sqrt(std::inner_product(first, first + width, first, 0.0));
    if (!(length > 0) || !std::isfinite(length)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the vector of class ", row, ", ", Quoted(labels[static_cast<size_t>(row)]),
                       ", has the length ", length, "; every class needs a vector of finite numbers, not all zero"));
    }
    for (auto value = first; value != first + width; ++value) {
      *value = static_cast<float>(scale * double{*value} / length);
    }
  }
  return StoredOf(*std::move(array));
}

absl::Status CheckTakesVectors(const ImportOptions& options, const v1::ModelConfig& config) {
  if (options.zero_shot.empty() || config.vit().projection() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--zero-shot needs a model whose vectors compare with those of texts, as CLIP's; ", options.arch, " is none"));
}

absl::StatusOr<std::string> AddCosineHead(const ImportOptions& options, const std::vector<std::string>& labels,
                                          const TensorMap& foreign, v1::ModelConfig& config, TensorMap& tensors) {
  const int width = config.vit().projection();
  const double scale = options.logit_scale.value_or(LogitScaleOf(foreign));
  ASSIGN_OR_RETURN(tensors["head.weight"], CosineHead(options.zero_shot, labels, width, scale));
  config.set_classes(static_cast<int>(labels.size()));
  config.mutable_vit()->set_cosine_head(true);
  return absl::StrCat("; head of ", labels.size(), " class vectors with scale ", scale);
}

}  // namespace vitrine
