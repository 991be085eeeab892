// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_TORCH_LIBRARY_H_
#define VITRINE_ENGINE_TORCH_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/backend.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// What libvitrine_torch.so does, which brings LibTorch along: it is a gigabyte that a program loads when a CUDA device
// or the reference is asked for, and does without otherwise. Devices are named as LibTorch does: "cpu", "cuda:1".
struct TorchLibrary {
  // Makes a CUDA device usable. Once, before anything else of these. FAILED_PRECONDITION says what is missing.
  absl::Status (*open_device)(const std::string& device);
  // Whether an open CUDA device is lost for good: after some errors (an illegal address, a fallen-off bus) every call
  // of the process fails, and only a new process gets the device back. Tries a small computation and waits for it, for
  // ever behind one that does not end. A device without free memory is not lost.
  bool (*is_lost)(const std::string& device);
  // The reference of a model, on a device. `weights` as MakeCpuBackend's, but on the CPU they are shared and outlive
  // the backend. Errors as ModelDescription::Make, and RESOURCE_EXHAUSTED or INTERNAL of the device.
  absl::StatusOr<std::unique_ptr<const Backend>> (*make_backend)(const v1::ModelConfig& config,
                                                                 std::span<const float* const> weights,
                                                                 const std::string& device);
  // Weights as training starts with them, in the order of the program's. Errors as ModelDescription::Make.
  absl::StatusOr<std::vector<FloatArray>> (*draw)(const v1::ModelConfig& config, uint64_t seed);
};

// Loads it at the first call, from ../lib beside the program, from the program's folder, or from where the system
// looks. FAILED_PRECONDITION says why it cannot be loaded. Thread-safe.
absl::StatusOr<const TorchLibrary*> OpenTorchLibrary();

// For a program that links LibTorch anyway: nothing is loaded from then on. Before the first call of OpenTorchLibrary;
// `library` lives for ever.
void UseTorchLibrary(const TorchLibrary* library);

// The library's only symbol, of the type TorchLibrary().
inline constexpr char kTorchLibrarySymbol[] = "vitrine_torch_library";

}  // namespace vitrine

#endif  // VITRINE_ENGINE_TORCH_LIBRARY_H_
