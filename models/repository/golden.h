// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_GOLDEN_H_
#define VITRINE_MODELS_REPOSITORY_GOLDEN_H_

#include <functional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "models/float_array.h"
#include "models/model_description.h"
#include "models/repository/stored_version.h"

namespace vitrine {

// Golden inputs of a version, with the logits that its weights gave when it was published. golden.safetensors has, for
// i = 0, 1, ..., only these tensors:
//   "input.<i>" F32 [C, H, W], a normalised input; or "picture.<i>" U8 [bytes], an encoded image to be preprocessed
//   "logits.<i>" F32 [classes]
//   "<precision>.logits.<i>" for a precision other than fp32; present for all goldens or for none
//
// This file does not depend on image decoding or on a back end; callers pass functions for both.

// Converts an encoded image to a model's input [C, H, W].
using ImageToInput =
    std::function<absl::StatusOr<FloatArray>(std::string_view image, const v1::Preprocessing& preprocessing)>;
// Computes logits [images, classes] of at least one input [C, H, W]; the model must accept each input.
using Forward = std::function<absl::StatusOr<FloatArray>(std::span<const FloatArray> images)>;

// Options of CheckGolden.
struct GoldenRun {
  // True to run only the encoded images and the smallest input. This tests the preprocessing and a batch of several
  // sizes at less cost. The other goldens must still be well-formed.
  bool few = false;
  // Callbacks that CheckGolden calls, on its caller's thread, before and after the last run. This run has only one
  // golden. The model is then warm, so the caller can measure a first latency per image. `tokens` is the number of
  // tokens of that golden.
  std::function<void()> before_alone = nullptr;
  std::function<void(int64_t tokens)> after_alone = nullptr;
};

// Runs all goldens, or the goldens that `run` selects, in one batch. Then runs the first golden again, alone. Compares
// the results with the logits recorded for `precision` (or for fp32 if no logits are recorded for `precision`), within
// the manifest's tolerance for `device` ("cpu", "cuda" or "cuda:N") and `precision`. FAILED_PRECONDITION names the
// golden, the error and the tolerance. FAILED_PRECONDITION is also returned if an image cannot be decoded, or if there
// is no golden image or no tolerance for this device and precision. Returns errors of `forward`.
absl::Status CheckGolden(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                         const ImageToInput& to_input, std::string_view device, std::string_view precision,
                         const GoldenRun& run = {});

// Runs all goldens in one batch. Returns the error relative to the logits that CheckGolden would use: the largest
// |logit - golden| / max(0.001, largest |golden| of all goldens); NaN if a logit is NaN. `version` may lack weights,
// because only its goldens are used. Needs no tolerance in the manifest; otherwise returns the same errors as
// CheckGolden.
absl::StatusOr<float> GoldenDrift(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                                  const ImageToInput& to_input, std::string_view precision);

// Adds the logits of `precision` that `forward` computes for the inputs and images in `golden`; replaces existing
// logits of `precision`. `forward` must use the weights as stored. It must not be the serving back end, because
// CheckGolden would then compare that back end with itself. FAILED_PRECONDITION as in CheckGolden; `golden` is then
// unchanged.
absl::Status RecordGolden(const ModelDescription& model, const Forward& forward, const ImageToInput& to_input,
                          Safetensors& golden, std::string_view precision = "fp32");

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_GOLDEN_H_
