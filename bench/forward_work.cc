// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "bench/stored_model.h"
#include "bench/work.h"
#include "common/status_macros.h"
#include "models/engine/cpu/engine.h"
#include "models/engine/cpu/instructions.h"
#include "models/reference/checkpoint/stored_tensors.h"
#include "models/reference/initializer.h"
#include "models/reference/model.h"
#include "models/repository/files/safetensors.h"

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

// Returns a line of logits for each image.
std::vector<std::string> Lines(const float* logits, size_t images, int64_t classes) {
  std::vector<std::string> lines(images);
  for (std::string& line : lines) {
    for (int64_t j = 0; j < classes; ++j) {
      absl::StrAppend(&line, j == 0 ? "" : " ", absl::StrFormat("%.9g", *logits++));
    }
  }
  return lines;
}

// A batch: indices of its images, and views of their pixels.
struct CompiledBatch {
  std::vector<size_t> images;
  std::vector<engine::ImagePlanes> inputs;
  std::vector<float> logits;
};

// Batches, computed one after the other, and the engine that computes them.
struct CompiledBatches {
  engine::Engine engine;
  engine::Workspace workspace;
  ImageBatch images;
  std::vector<CompiledBatch> batches;

  void Run() {
    for (CompiledBatch& batch : batches) engine.Run(batch.inputs, workspace, batch.logits.data());
  }

  // Returns the results in the order of the images.
  std::vector<std::string> Results() const {
    std::vector<std::string> lines(images.size());
    for (const CompiledBatch& batch : batches) {
      std::vector<std::string> own = Lines(batch.logits.data(), batch.images.size(), engine.plan().classes);
      for (size_t i = 0; i < own.size(); ++i) lines[batch.images[i]] = std::move(own[i]);
    }
    return lines;
  }
};

// Returns the image indices of each batch in ForwardOptions::batches. Each image must be in exactly one batch.
absl::StatusOr<std::vector<std::vector<size_t>>> Divide(size_t images, const std::vector<std::string>& batches) {
  std::vector<std::vector<size_t>> divided;
  std::vector<int> seen(images, 0);
  for (const std::string& batch : batches) {
    divided.emplace_back();
    for (const absl::string_view part : absl::StrSplit(batch, ',')) {
      size_t image = 0;
      if (!absl::SimpleAtoi(part, &image) || image >= images || seen[image]++ > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("batch \"", batch, "\": write each number below ", images, " once"));
      }
      divided.back().push_back(image);
    }
  }
  if (divided.empty()) {
    divided.emplace_back(images);
    std::iota(divided.back().begin(), divided.back().end(), size_t{0});
  } else if (std::count(seen.begin(), seen.end(), 0) > 0) {
    return absl::InvalidArgumentError("some image is in no batch");
  }
  return divided;
}

absl::StatusOr<cpu::CpuPath> PathOf(const std::string& isa) {
  const std::vector<cpu::CpuPath> paths = cpu::SupportedPaths();
  if (isa.empty()) return paths.back();
  for (const cpu::CpuPath path : paths) {
    if (cpu::Name(path) == isa) return path;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("this CPU has no path \"", isa, "\"; write amx, avx512_bf16, avx512, avx2 or portable"));
}

absl::StatusOr<Precision> PrecisionOf(const std::string& name) {
  if (const auto precision = ParsePrecision(name)) return *precision;
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is no precision; write fp32, bf16 or int8"));
}

absl::Status ByEngine(const Model& model, const ImageBatch& images, const ForwardOptions& forward, Work& work) {
  ASSIGN_OR_RETURN(const cpu::CpuPath path, PathOf(forward.isa));
  ASSIGN_OR_RETURN(const Precision precision, PrecisionOf(forward.precision));
  ASSIGN_OR_RETURN(engine::Engine engine, EngineOf(model, path, precision));
  ASSIGN_OR_RETURN(const std::vector<std::vector<size_t>> divided, Divide(images.size(), forward.batches));
  const auto classes = static_cast<size_t>(engine.plan().classes);
  auto all = std::make_shared<CompiledBatches>(CompiledBatches{std::move(engine), {}, images, {}});
  for (const std::vector<size_t>& numbers : divided) {
    CompiledBatch batch{numbers, {}, std::vector<float>(numbers.size() * classes)};
    for (const size_t number : numbers) batch.inputs.push_back(ImageOf(all->images[number]));
    all->batches.push_back(std::move(batch));
  }
  all->Run();
  work.repeat = [all] {
    all->Run();
    return absl::OkStatus();
  };
  work.results = [all] { return all->Results(); };
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
  RETURN_IF_ERROR(ByEngine(*model, images, forward, work));
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
    instructions.MultiplyAdd(precision, 500'000'000);
    return absl::OkStatus();
  };
  return work;
}

}  // namespace vitrine
