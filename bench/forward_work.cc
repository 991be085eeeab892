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
#include "checkpoint/stored_tensors.h"
#include "engine/cpu/engine.h"
#include "engine/cpu/peaks.h"
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
  for (size_t i = 0; i < images.size(); ++i) inputs.tensors[absl::StrFormat("input.%03d", i)] = StoredOf(images[i]);
  ASSIGN_OR_RETURN(const std::string bytes, WriteSafetensors(inputs));
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, " cannot be written"));
}

// A line per image.
std::vector<std::string> Lines(const float* logits, size_t images, int64_t classes) {
  std::vector<std::string> lines(images);
  for (std::string& line : lines) {
    for (int64_t j = 0; j < classes; ++j) {
      absl::StrAppend(&line, j == 0 ? "" : " ", absl::StrFormat("%.9g", *logits++));
    }
  }
  return lines;
}

absl::Status ByReference(const std::shared_ptr<const Model>& model, const ImageBatch& images, Work& work) {
  ASSIGN_OR_RETURN(at::Tensor logits, RunModel(*model, images));
  logits = logits.contiguous();
  work.repeat = [model, images] { return RunModel(*model, images).status(); };
  work.results = [logits] { return Lines(logits.const_data_ptr<float>(), logits.size(0), logits.size(1)); };
  return absl::OkStatus();
}

// A batch and what computes it. The pictures are views of the images.
struct CompiledBatch {
  engine::Engine engine;
  engine::Workspace workspace;
  ImageBatch images;
  std::vector<engine::Picture> pictures;
  std::vector<float> logits;

  void Run() { engine.Run(pictures, workspace, logits.data()); }
};

absl::StatusOr<cpu::CpuPath> PathOf(const std::string& isa) {
  const std::vector<cpu::CpuPath> paths = cpu::SupportedPaths();
  if (isa.empty()) return paths.back();
  for (const cpu::CpuPath path : paths) {
    if (cpu::Name(path) == isa) return path;
  }
  return absl::InvalidArgumentError(absl::StrCat("this CPU has no path \"", isa, "\"; write avx512, avx2 or portable"));
}

absl::StatusOr<Precision> PrecisionOf(const std::string& name) {
  if (const auto precision = ParsePrecision(name)) return *precision;
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no precision; write fp32, bf16 or int8"));
}

absl::Status ByEngine(const Model& model, const ImageBatch& images, const ForwardOptions& forward, Work& work) {
  ASSIGN_OR_RETURN(const cpu::CpuPath path, PathOf(forward.isa));
  ASSIGN_OR_RETURN(const Precision precision, PrecisionOf(forward.precision));
  std::vector<const float*> weights;
  for (const at::Tensor& weight : model.weights()) weights.push_back(weight.const_data_ptr<float>());
  ASSIGN_OR_RETURN(engine::Engine engine,
                   engine::Engine::Make(model.program(), weights, path, {.precision = precision, .kept = {}}));
  engine::Workspace workspace;
  const int64_t classes = engine.plan().classes;
  auto batch = std::make_shared<CompiledBatch>(CompiledBatch{std::move(engine), std::move(workspace), images, {}, {}});
  for (const at::Tensor& image : batch->images) {
    batch->pictures.push_back({image.const_data_ptr<float>(), static_cast<int>(image.size(0)),
                               static_cast<int>(image.size(1)), static_cast<int>(image.size(2))});
  }
  batch->logits.resize(images.size() * static_cast<size_t>(classes));
  batch->Run();
  work.repeat = [batch] {
    batch->Run();
    return absl::OkStatus();
  };
  work.results = [batch, classes] { return Lines(batch->logits.data(), batch->images.size(), classes); };
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Work> ForwardWork(const std::string& repository, const std::string& name,
                                 const ForwardOptions& forward) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, ReadNewest(repository, name));
  ASSIGN_OR_RETURN(const ImageBatch images, DrawInputs(*model, forward.sizes));
  if (!forward.save_inputs.empty()) RETURN_IF_ERROR(Save(images, forward.save_inputs));
  Work work;
  work.description = absl::StrCat("forward of ", name, ", a batch of ", images.size());
  work.images = static_cast<int>(images.size());
  RETURN_IF_ERROR(forward.compiled ? ByEngine(*model, images, forward, work) : ByReference(model, images, work));
  return work;
}

absl::StatusOr<Work> PeakWork(const ForwardOptions& forward) {
  ASSIGN_OR_RETURN(const cpu::CpuPath path, PathOf(forward.isa));
  ASSIGN_OR_RETURN(const Precision precision, PrecisionOf(forward.precision));
  RETURN_IF_ERROR(engine::CanCompute(precision, path));
  ASSIGN_OR_RETURN(const engine::Instructions instructions, engine::FindInstructions(path));
  Work work;
  work.description = absl::StrCat("multiply-adds of ", Name(precision), " by ", cpu::Name(path));
  work.images = 1;
  work.repeat = [instructions, precision] {
    engine::MultiplyAdd(instructions, precision, 500'000'000);
    return absl::OkStatus();
  };
  return work;
}

}  // namespace vitrine
