// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_TORCH_LIBRARY_H_
#define VITRINE_MODELS_ENGINE_TORCH_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/engine/backend.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Functions of libvitrine_torch.so, which contains LibTorch (about a gigabyte). Programs load the library only to run
// the LibTorch reference of a model.
struct TorchLibrary {
  // Makes the LibTorch reference of a model on the CPU. `weights` is as in MakeCpuBackend, but the backend does not
  // copy the weights, so `weights` must outlive the backend. Returns the errors of ModelDescription::Make, and
  // RESOURCE_EXHAUSTED or INTERNAL of LibTorch.
  absl::StatusOr<std::unique_ptr<const Backend>> (*make_backend)(const v1::ModelConfig& config,
                                                                 std::span<const float* const> weights);
  // Returns initial weights for training, in program order, or an error of ModelDescription::Make.
  absl::StatusOr<std::vector<FloatArray>> (*draw)(const v1::ModelConfig& config, uint64_t seed);
  // Makes softmax attention store its matrix, as the papers' code does, and limits operators to one thread. Affects the
  // whole process. Used for measurements.
  void (*compute_as_published)();
};

// Loads the library at the first call, from ../lib relative to the program's folder, from the program's folder, or from
// the system's search path. FAILED_PRECONDITION, with the reason, if loading fails. Thread-safe.
absl::StatusOr<const TorchLibrary*> OpenTorchLibrary();

// Name of the library's only symbol, of type const TorchLibrary*().
inline constexpr char kTorchLibrarySymbol[] = "vitrine_torch_library";

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_TORCH_LIBRARY_H_
