// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_TORCH_LIBRARY_H_
#define VITRINE_MODELS_ENGINE_TORCH_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/engine/backend.h"
#include "models/float_array.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Functions of libvitrine_torch.so, which contains LibTorch (about a gigabyte). Programs load the library only for the
// reference. Devices have LibTorch's names: "cpu", "cuda:1".
struct TorchLibrary {
  // Initializes a CUDA device. Called once, before the other functions. FAILED_PRECONDITION says what is missing.
  absl::Status (*open_device)(const std::string& device);
  // Returns true if an open CUDA device is lost: after some errors (an illegal address, a bus failure) every call of
  // the process fails, and only a new process can use the device. Runs a small computation and waits for it without a
  // timeout. A device without free memory is not lost.
  bool (*is_lost)(const std::string& device);
  // Makes the reference of a model on a device. `weights` as in MakeCpuBackend, but on the CPU the backend shares them,
  // so they must outlive it. Errors of ModelDescription::Make; RESOURCE_EXHAUSTED or INTERNAL from the device.
  absl::StatusOr<std::unique_ptr<const Backend>> (*make_backend)(const v1::ModelConfig& config,
                                                                 std::span<const float* const> weights,
                                                                 const std::string& device);
  // Returns initial weights for training, in program order. Errors of ModelDescription::Make.
  absl::StatusOr<std::vector<FloatArray>> (*draw)(const v1::ModelConfig& config, uint64_t seed);
};

// Loads the library at the first call, from ../lib relative to the program's folder, from that folder, or from the
// system's search path. FAILED_PRECONDITION says why it cannot be loaded. Thread-safe.
absl::StatusOr<const TorchLibrary*> OpenTorchLibrary();

// Sets the library for a program that links LibTorch itself, so that no library is loaded. Call before the first
// OpenTorchLibrary; `library` must live until the process ends.
void UseTorchLibrary(const TorchLibrary* library);

// Name of the library's only symbol, of type TorchLibrary().
inline constexpr char kTorchLibrarySymbol[] = "vitrine_torch_library";

}  // namespace vitrine

#endif  // VITRINE_MODELS_ENGINE_TORCH_LIBRARY_H_
