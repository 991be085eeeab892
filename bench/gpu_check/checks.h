// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_GPU_CHECK_CHECKS_H_
#define VITRINE_BENCH_GPU_CHECK_CHECKS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/gpu_check/report.h"
#include "models/engine/cuda/driver/card.h"
#include "models/engine/cuda_library.h"
#include "models/engine/precision.h"
#include "models/repository/repository.h"

namespace vitrine {

// Timeout of work on the device, for all checks and measurements. It is longer than a server's, because a slow GPU may
// need more time for a large batch that the user chooses, and the emulated driver of tests is slow.
inline constexpr absl::Duration kDeviceTimeout = absl::Minutes(1);

// Input of the checks.
struct CheckSetting {
  int device = 0;
  const CudaLibrary* library = nullptr;  // the library that the server uses, with the device open
  cuda::driver::Card* card = nullptr;    // the device of `library`, for functions that `library` does not have
  std::filesystem::path repository = {};
  std::vector<VersionId> versions = {};  // in the repository
  std::vector<std::string> images = {};  // encoded photographs, of different shapes
  std::vector<std::string> forms = {};   // names of SmallForms to compare (models/zoo/small_forms.h); empty: all
  absl::Duration load = absl::Seconds(20);
};

// Compares the device's arithmetic with the rules that the engine relies on (models/engine/cuda/emulated/products.h).
void CheckPrimitives(const CheckSetting& setting, CheckReport& report);

// Compares logits, attention and tokens of every SmallForm with the CPU's results, in each precision. Checks that an
// image's logits are bit-identical if the image is computed alone, in any batch, or again.
void CheckForms(const CheckSetting& setting, CheckReport& report);

// Loads every version of the repository, checks its golden outputs, and compares its logits for `setting.images` with
// the CPU's logits.
void CheckVersions(const CheckSetting& setting, CheckReport& report);

// Measures a model's memory, and checks that all of it is freed with the model.
void CheckMemory(const CheckSetting& setting, CheckReport& report);

// Replaces a version while threads use it. A batch's results must be bit-identical to those of the version that was
// current when the batch began. The memory of replaced versions must be freed.
void CheckSwap(const CheckSetting& setting, CheckReport& report);

// Loads a model that does not fit into the device's memory. It must be rejected, and the device must continue to work.
void CheckRefusal(const CheckSetting& setting, CheckReport& report);

// Runs random batches of several models on several threads for the duration `setting.load`. Logits must not depend on
// the batch.
void CheckLoad(const CheckSetting& setting, CheckReport& report);

}  // namespace vitrine

#endif  // VITRINE_BENCH_GPU_CHECK_CHECKS_H_
