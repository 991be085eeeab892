// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_CHECKPOINT_H_
#define VITRINE_REPOSITORY_CHECKPOINT_H_

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "reference/model.h"
#include "repository/stored_version.h"

namespace vitrine {

// Copies the stored tensors into a model, on whatever device it is. The set of names, each shape, and finiteness must
// match exactly; bf16 and fp16 storage widens to fp32. FAILED_PRECONDITION names the first tensor at fault; the model
// is unchanged then.
absl::Status LoadWeights(const Safetensors& weights, Model& model);

// Every parameter and buffer of a model; floating tensors stored as `storage` (at::kFloat or at::kBFloat16). Copies:
// training on does not change them.
Safetensors SaveWeights(const Model& model, at::ScalarType storage);

// The model of a stored version, on the CPU. Its tensors are those of `weights`, without a copy, where these are fp32;
// others are widened one by one and let go, so that at no time there is much more than the model. FAILED_PRECONDITION
// if config, weights and the manifest's parameter count do not fit together; the sentence names the version.
absl::StatusOr<std::unique_ptr<Model>> BuildModel(const v1::Manifest& manifest, Safetensors weights);

// Of weights that stay with the version, and are shared.
absl::StatusOr<std::unique_ptr<Model>> BuildModel(const StoredVersion& version);

// Golden inputs of a version, with the logits that its weights gave when it was published.
// golden.safetensors holds, for i = 0, 1, ...: "input.<i>" [C, H, W] F32, a normalised input; or "picture.<i>" [bytes]
// stored as U8, an encoded picture that goes through the preprocessing; and "logits.<i>" [classes] F32. Nothing else.
//
// Turns an encoded picture into a model's input [C, H, W]; injected, since this room does not know imaging/.
using PictureToInput = std::function<absl::StatusOr<at::Tensor>(std::string_view picture, const v1::Preprocessing&)>;

// Told on the calling thread around the run of one golden alone, of a model that has run before: how long that takes
// is a first guess of what a picture costs.
struct GoldenSteps {
  std::function<void()> before_alone = nullptr;
  std::function<void(int64_t tokens)> after_alone = nullptr;  // the device is done as well
};

// Runs every golden, all in one batch and the first also alone, and compares with the manifest's tolerance for
// (device, precision). `device` is where the model is: "cpu", "cuda" or "cuda:N". FAILED_PRECONDITION says which
// golden, how far off, and the tolerance; also if there is no golden picture or no tolerance for this device and
// precision.
absl::Status CheckGolden(const StoredVersion& version, const Model& model, const PictureToInput& to_input,
                         std::string_view device, std::string_view precision, const GoldenSteps& steps = {});

// How far a model is off now: the largest |logit - golden| / max(1, largest |golden|) over the goldens, all in one
// batch. NaN if a logit is. Of `version` the manifest and the goldens are looked at; the weights may be left out.
// Errors as CheckGolden.
absl::StatusOr<float> GoldenDrift(const StoredVersion& version, const Model& model, const PictureToInput& to_input,
                                  std::string_view device);

// Adds the logits of `model`, which must be on the CPU, for the inputs and pictures already in `golden`; logits that
// are there are replaced. Record from the weights as stored: SaveWeights in the storage type, LoadWeights back, then
// this. FAILED_PRECONDITION as CheckGolden; `golden` is unchanged then.
absl::Status RecordGolden(const Model& model, const PictureToInput& to_input, Safetensors& golden);

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_CHECKPOINT_H_
