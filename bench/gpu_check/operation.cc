// SPDX-License-Identifier: Apache-2.0
// Tests memory, swaps, rejections and load.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/gpu_check/checks.h"
#include "bench/gpu_check/measurements.h"
#include "bench/gpu_check/subject.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr int64_t kMayStay = int64_t{32} << 20;  // freed bytes that the driver may keep
constexpr int kThreads = 4;
constexpr int kLeastSwaps = 2;

// Returns the name of a small model, for tests with many batches: the first requested SmallForm, else "xcit".
std::string SmallModel(const CheckSetting& setting) {
  return setting.forms.empty() ? "xcit" : setting.forms.front();
}
// Returns the name of a model of a usual size: the first requested SmallForm, else "xcit-n12".
std::string LargeModel(const CheckSetting& setting) {
  return setting.forms.empty() ? "xcit-n12" : setting.forms.front();
}

using BackendHandle = std::shared_ptr<const Backend>;

absl::Status CheckFreed(const CheckSetting& setting, const DeviceStatus& before) {
  ASSIGN_OR_RETURN(const DeviceStatus after, setting.library->status(setting.device));
  if (after.free_bytes >= before.free_bytes - kMayStay) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(before.free_bytes - after.free_bytes,
                                          " bytes of the device were not freed, or another process took them"));
}

// A model on the device, and images with the logits of each image in a batch of one.
struct Expected {
  BackendHandle backend = nullptr;
  int64_t classes = 0;
  std::vector<FloatArray> images = {};
  std::vector<std::vector<float>> logits = {};  // by image
};

absl::StatusOr<Expected> Expect(const CheckSetting& setting, const Subject& subject, Precision precision,
                                std::vector<FloatArray> images) {
  Expected expected = {.classes = subject.description().outputs(), .images = std::move(images)};
  ASSIGN_OR_RETURN(expected.backend, subject.OnCard(setting, precision, expected.images));
  for (size_t i = 0; i < expected.images.size(); ++i) {
    const size_t place[] = {i};
    ASSIGN_OR_RETURN(std::vector<float> logits, LogitsOf(*expected.backend, expected.classes, expected.images, place));
    expected.logits.push_back(std::move(logits));
  }
  return expected;
}

// Returns images of several sizes for a SmallForm.
std::vector<FloatArray> Ragged(const Subject& subject, int height, int width) {
  const std::pair<int, int> sizes[] = {
      {height, width}, {2 * height, width}, {height, 2 * width}, {2 * height, 3 * width}};
  return subject.Images(sizes);
}

// Runs a random batch and returns its number of images. INTERNAL: the logits of an image differ from `expected`.
absl::StatusOr<int> RunRandomBatch(const Expected& expected, const Backend& backend, std::mt19937& random) {
  std::vector<size_t> places(1 + random() % (2 * expected.images.size()));
  for (size_t& place : places) place = random() % expected.images.size();
  ASSIGN_OR_RETURN(const std::vector<float> logits, LogitsOf(backend, expected.classes, expected.images, places));
  const auto classes = static_cast<size_t>(expected.classes);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!SameBits(std::span(logits).subspan(i * classes, classes), expected.logits[places[i]])) {
      return absl::InternalError(absl::StrCat("other bits under load: image ", i, " of ", places.size()));
    }
  }
  return static_cast<int>(places.size());
}

absl::StatusOr<std::string> Memory(const CheckSetting& setting) {
  ASSIGN_OR_RETURN(const Measured model, MakeMeasured(LargeModel(setting), 1));
  int64_t weights = 0;
  for (const program::Weight& weight : model.subject.description().program().weights())
    weights += 4 * weight.elements();
  RETURN_IF_ERROR(model.subject.OnCard(setting, Precision::kBf16, model.images).status());  // loads the kernels' code
  std::string figures = absl::StrFormat("%s of %.1f MB:", LargeModel(setting), 1e-6 * static_cast<double>(weights));
  for (const Precision precision : kPrecisions) {
    ASSIGN_OR_RETURN(const DeviceStatus before, setting.library->status(setting.device));
    {
      ASSIGN_OR_RETURN(const std::unique_ptr<const Backend> backend,
                       model.subject.OnCard(setting, precision, model.images));
      ASSIGN_OR_RETURN(const DeviceStatus loaded, setting.library->status(setting.device));
      absl::StrAppendFormat(&figures, " %s takes %.1f MB (%.1f pinned),", Name(precision),
                            1e-6 * static_cast<double>(before.free_bytes - loaded.free_bytes),
                            1e-6 * static_cast<double>(backend->device_memory().pinned_bytes));
    }
    RETURN_IF_ERROR(CheckFreed(setting, before));
  }
  return figures + " two batches in memory included; all freed";
}

// A version that threads use while it is replaced.
class Swap {
 public:
  explicit Swap(const CheckSetting& setting) : setting_(setting) {}

  absl::StatusOr<std::string> Run() {
    ASSIGN_OR_RETURN(const Measured form, MakeMeasured(SmallModel(setting_), 1));
    const auto [height, width] = std::pair(form.images.front().shape[1], form.images.front().shape[2]);
    std::vector<Subject> subjects;
    for (const uint64_t seed : {0, 1000}) {
      ASSIGN_OR_RETURN(Subject subject, Subject::Make(form.subject.description().config(), seed));
      std::vector<FloatArray> images = Ragged(subject, static_cast<int>(height), static_cast<int>(width));
      ASSIGN_OR_RETURN(versions_[subjects.size()], Expect(setting_, subject, Precision::kBf16, std::move(images)));
      subjects.push_back(std::move(subject));
    }
    if (SameBits(versions_[0].logits[0], versions_[1].logits[0])) return absl::InternalError("both versions are equal");
    for (Expected& version : versions_) version.backend = nullptr;
    ASSIGN_OR_RETURN(const DeviceStatus before, setting_.library->status(setting_.device));
    RETURN_IF_ERROR(Replace(subjects[0], 0));
    std::vector<std::thread> threads;
    std::array<absl::Status, kThreads> errors;
    for (size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { errors[i] = Use(static_cast<unsigned>(i)); });
    absl::Status replaced;
    size_t swaps = 0;
    const absl::Time end = absl::Now() + setting_.load / 4;
    while (replaced.ok() && failed_ == 0 && (swaps < kLeastSwaps || absl::Now() < end)) {
      ++swaps;
      replaced = Replace(subjects[swaps % 2], swaps % 2);
    }
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
    current_ = nullptr;
    RETURN_IF_ERROR(replaced);
    for (const absl::Status& error : errors) RETURN_IF_ERROR(error);
    RETURN_IF_ERROR(CheckFreed(setting_, before));
    return absl::StrFormat("%d swaps under %d batches, each with the bits of its version; all freed", swaps,
                           batches_.load());
  }

 private:
  absl::Status Replace(const Subject& subject, size_t version) {
    ASSIGN_OR_RETURN(BackendHandle backend, subject.OnCard(setting_, Precision::kBf16, versions_[version].images));
    {
      const std::scoped_lock lock(mutex_);
      std::swap(current_, backend);
      version_ = version;
    }
    const int64_t seen = batches_;
    const absl::Time end = absl::Now() + absl::Seconds(10);
    while (!stop_ && batches_ < seen + kThreads && absl::Now() < end && failed_ == 0)
      absl::SleepFor(absl::Milliseconds(1));
    return absl::OkStatus();
  }

  absl::Status Use(unsigned seed) {
    std::mt19937 random(seed);
    while (!stop_) {
      BackendHandle backend;
      size_t version = 0;
      {
        const std::scoped_lock lock(mutex_);
        backend = current_;
        version = version_;
      }
      const absl::StatusOr<int> images = RunRandomBatch(versions_[version], *backend, random);
      if (!images.ok()) {
        ++failed_;
        return images.status();
      }
      ++batches_;
    }
    return absl::OkStatus();
  }

  const CheckSetting& setting_;
  std::array<Expected, 2> versions_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> batches_ = 0, failed_ = 0;
  std::mutex mutex_;  // guards the two members below
  BackendHandle current_;
  size_t version_ = 0;
};

absl::StatusOr<std::string> Refusal(const CheckSetting& setting) {
  ASSIGN_OR_RETURN(const Measured form, MakeMeasured(SmallModel(setting), 1));
  ASSIGN_OR_RETURN(const DeviceStatus before, setting.library->status(setting.device));
  // A cell's token takes at least 96 bytes in each buffer, so buffers for this many cells do not fit into the device's
  // memory.
  const LargestImage too_large = {.cells = std::min<int64_t>(before.total_bytes / 50, 2'000'000'000),
                                  .pixels = static_cast<int64_t>(form.images.front().values.size())};
  const std::vector<const float*> weights = form.subject.weights();
  engine::WeightsInMemory source(weights);
  const absl::Status status =
      setting.library
          ->make_backend(setting.device, form.subject.description().program(), source,
                         {.precision = Precision::kFp32, .kept = {}}, too_large, {.images = 1, .tokens = 1})
          .status();
  if (!absl::IsResourceExhausted(status)) {
    return absl::InternalError(absl::StrCat("a model that does not fit gives ", status.ToString()));
  }
  if (setting.library->is_lost(setting.device)) return absl::InternalError("the refusal lost the device");
  RETURN_IF_ERROR(CheckFreed(setting, before));
  ASSIGN_OR_RETURN(const auto fits, form.subject.OnCard(setting, Precision::kFp32, form.images));
  RETURN_IF_ERROR(LogitsOfAll(*fits, form.subject.description().outputs(), form.images).status());
  return absl::StrCat("refused: \"", std::string(status.message()), "\"; the next model loads and runs");
}

absl::StatusOr<std::string> Load(const CheckSetting& setting) {
  std::vector<Expected> models;
  ASSIGN_OR_RETURN(const Measured form, MakeMeasured(SmallModel(setting), 1));
  const std::vector<int64_t>& shape = form.images.front().shape;
  for (const Precision precision : kPrecisions) {
    std::vector<FloatArray> images = Ragged(form.subject, static_cast<int>(shape[1]), static_cast<int>(shape[2]));
    ASSIGN_OR_RETURN(Expected model, Expect(setting, form.subject, precision, std::move(images)));
    models.push_back(std::move(model));
  }
  {
    ASSIGN_OR_RETURN(Measured large, MakeMeasured(LargeModel(setting), 4));
    ASSIGN_OR_RETURN(Expected model, Expect(setting, large.subject, Precision::kBf16, std::move(large.images)));
    models.push_back(std::move(model));
  }
  std::atomic<int64_t> batches = 0, images = 0;
  std::array<absl::Status, kThreads> errors;
  std::vector<std::thread> threads;
  const absl::Time end = absl::Now() + setting.load;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      while (absl::Now() < end && errors[i].ok()) {
        const Expected& model = models[random() % models.size()];
        const absl::StatusOr<int> count = RunRandomBatch(model, *model.backend, random);
        errors[i] = count.status();
        if (!count.ok()) continue;
        ++batches;
        images += *count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& error : errors) RETURN_IF_ERROR(error);
  return absl::StrFormat("%d batches, %d images of %d models in %.0f s; every image has its bits", batches.load(),
                         images.load(), models.size(), absl::ToDoubleSeconds(setting.load));
}

}  // namespace

void CheckMemory(const CheckSetting& setting, CheckReport& report) {
  report.Run("memory", [&] { return Memory(setting); });
}

void CheckSwap(const CheckSetting& setting, CheckReport& report) {
  report.Run("swap", [&] { return Swap(setting).Run(); });
}

void CheckRefusal(const CheckSetting& setting, CheckReport& report) {
  report.Run("refusal", [&] { return Refusal(setting); });
}

void CheckLoad(const CheckSetting& setting, CheckReport& report) {
  report.Run("load", [&] { return Load(setting); });
}

}  // namespace vitrine
