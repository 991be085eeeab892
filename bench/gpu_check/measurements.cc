// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_check/measurements.h"

#include <algorithm>
#include <optional>

#include "bench/gpu_check/profiled_device.h"
#include "common/status_macros.h"
#include "models/zoo.h"
#include "models/zoo/small_forms.h"

namespace vitrine {
namespace {

constexpr int kSide = 224;                         // image side for models that accept several sizes
constexpr size_t kBesidePixels = size_t{8} << 20;  // bytes for data uploaded with the pixels
constexpr size_t kCopied = size_t{32} << 20;       // bytes of a timed copy
constexpr int kCopies = 12;

std::optional<SmallForm> FindForm(const std::string& name) {
  for (const std::vector<SmallForm>& forms : {SmallForms(), SmallPrefixForms(), SmallKvForms()}) {
    for (const SmallForm& form : forms) {
      if (form.name == name) return form;
    }
  }
  return std::nullopt;
}

// Pinned and device memory for a copy.
struct CopyMemory {
  explicit CopyMemory(const cuda::driver::Card& of) : card(of) {}
  ~CopyMemory() {
    if (pinned != nullptr) card.functions().cuMemFreeHost(pinned);
    if (device != 0) card.functions().cuMemFree_v2(device);
  }
  absl::Status Allocate() {
    RETURN_IF_ERROR(card.Enter());
    RETURN_IF_ERROR(card.Check(card.functions().cuMemHostAlloc(&pinned, kCopied, 0), "cuMemHostAlloc"));
    return card.Check(card.functions().cuMemAlloc_v2(&device, kCopied), "cuMemAlloc");
  }

  const cuda::driver::Card& card;
  void* pinned = nullptr;
  cuda::driver::DevicePointer device = 0;
};

}  // namespace

absl::StatusOr<Measured> MakeMeasured(const std::string& model, int batch) {
  std::pair<int, int> size = {kSide, kSide};
  v1::ModelConfig config;
  if (const std::optional<SmallForm> form = FindForm(model)) {
    config = form->config;
    size = {form->height, form->width};
  } else {
    ASSIGN_OR_RETURN(const ZooRow row, FindVariant(model));
    config = row.config;
    const v1::Preprocessing& preprocessing = config.preprocessing();
    if (preprocessing.has_fixed()) size = {preprocessing.fixed().height(), preprocessing.fixed().width()};
  }
  ASSIGN_OR_RETURN(Subject subject, Subject::Make(config));
  std::vector<FloatArray> images = subject.Images(std::vector(static_cast<size_t>(batch), size));
  if (images.empty()) return absl::InvalidArgumentError(model + " takes no image of this size");
  return Measured{std::move(subject), std::move(images)};
}

cuda::BatchLimits LimitsFor(const Measured& measured) {
  const LargestImage largest = LargestOf(measured.subject.description(), measured.images);
  const auto images = static_cast<int64_t>(measured.images.size());
  return {.images = static_cast<int>(images),
          .cells = static_cast<int>(images * largest.cells),
          .pixels = images * largest.pixels};
}

size_t StagingFor(const cuda::BatchLimits& limits) {
  return static_cast<size_t>(limits.pixels) * sizeof(float) + kBesidePixels +
         static_cast<size_t>(limits.cells) * 2 * sizeof(float) * kSide;
}

absl::StatusOr<double> CopyRate(cuda::driver::Card& card) {
  ASSIGN_OR_RETURN(const std::unique_ptr<cuda::driver::Slot> slot, cuda::driver::Slot::Make(card, {}));
  CopyMemory memory(card);
  RETURN_IF_ERROR(memory.Allocate());
  TimedEvents events(card, slot->stream());
  for (int copy = 0; copy <= kCopies; ++copy) {
    const auto result = card.functions().cuMemcpyHtoDAsync_v2(memory.device, memory.pinned, kCopied, slot->stream());
    RETURN_IF_ERROR(card.Check(result, "cuMemcpyHtoDAsync"));
    RETURN_IF_ERROR(events.Record());
  }
  ASSIGN_OR_RETURN(std::vector<double> times, events.Take());
  return kCopied / (MedianOf(std::move(times)) * 1e-3);
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace vitrine
