// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/stored_model.h"
#include "bench/work.h"
#include "reference/initializer.h"
#include "reference/model.h"
#include "repository/safetensors.h"

namespace vitrine {
namespace {

constexpr uint64_t kSeed = 20240229;

absl::StatusOr<ImageBatch> DrawInputs(const Model& model, const std::vector<std::string>& sizes) {
  Initializer initializer(kSeed, at::kCPU);
  ImageBatch images;
  for (const std::string& size : sizes) {
    int height = 0, width = 0;
    if (std::sscanf(size.c_str(), "%dx%d", &height, &width) != 2) {
      return absl::InvalidArgumentError(absl::StrCat(size, " is no size; write HEIGHTxWIDTH"));
    }
    RETURN_IF_ERROR(model.GridFor(height, width).status());
    images.push_back(initializer.Normal({model.config().preprocessing().channels(), height, width}, 1));
  }
  return images;
}

absl::Status Save(const ImageBatch& images, const std::string& path) {
  Safetensors inputs;
  for (size_t i = 0; i < images.size(); ++i) inputs.tensors[absl::StrFormat("input.%03d", i)] = images[i];
  ASSIGN_OR_RETURN(const std::string bytes, WriteSafetensors(inputs));
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, " cannot be written"));
}

std::vector<std::string> Lines(const at::Tensor& logits) {
  std::vector<std::string> lines;
  const at::Tensor rows = logits.contiguous();
  const float* value = rows.const_data_ptr<float>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    std::string& line = lines.emplace_back();
    for (int64_t j = 0; j < rows.size(1); ++j)
      absl::StrAppend(&line, j == 0 ? "" : " ", absl::StrFormat("%.9g", *value++));
  }
  return lines;
}

}  // namespace

absl::StatusOr<Work> ForwardWork(const std::string& repository, const std::string& name,
                                 const std::vector<std::string>& sizes, const std::string& save_inputs) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, ReadNewest(repository, name));
  ASSIGN_OR_RETURN(const ImageBatch images, DrawInputs(*model, sizes));
  if (!save_inputs.empty()) RETURN_IF_ERROR(Save(images, save_inputs));
  ASSIGN_OR_RETURN(const at::Tensor logits, RunModel(*model, images));
  Work work;
  work.description = absl::StrCat("forward of ", name, ", a batch of ", images.size());
  work.images = static_cast<int>(images.size());
  work.repeat = [model, images] { return RunModel(*model, images).status(); };
  work.results = [logits] { return Lines(logits); };
  return work;
}

}  // namespace vitrine
