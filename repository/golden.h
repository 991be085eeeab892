// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_REPOSITORY_GOLDEN_H_
#define VITRINE_REPOSITORY_GOLDEN_H_

#include <functional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "models/float_array.h"
#include "models/model_description.h"
#include "repository/stored_version.h"

namespace vitrine {

// Golden inputs of a version, with the logits that its weights gave when it was published.
// golden.safetensors holds, for i = 0, 1, ...: "input.<i>" [C, H, W] F32, a normalised input; or "picture.<i>" [bytes]
// stored as U8, an encoded picture that goes through the preprocessing; "logits.<i>" [classes] F32; and of other
// precisions than fp32, of all goldens or of none, "<precision>.logits.<i>". Nothing else.
//
// This room knows neither pictures nor what computes a model; both are injected.

// Turns an encoded picture into a model's input [C, H, W].
using PictureToInput =
    std::function<absl::StatusOr<FloatArray>(std::string_view picture, const v1::Preprocessing& preprocessing)>;
// Logits [images, classes] of inputs [C, H, W] that the model takes, at least one.
using Forward = std::function<absl::StatusOr<FloatArray>(std::span<const FloatArray> images)>;

// How CheckGolden goes about it.
struct GoldenRun {
  // Run only the encoded pictures and the smallest input: the same preprocessing and several sizes in a batch, for a
  // part of the arithmetic. The others have to be well-formed all the same.
  bool few = false;
  // Told on the calling thread around the run of one golden alone, of a model that has run before: how long that takes
  // is a first guess of what a picture costs.
  std::function<void()> before_alone = nullptr;
  std::function<void(int64_t tokens)> after_alone = nullptr;
};

// Runs every golden, or those that `run` wants, all in one batch and the first also alone, and compares with the logits
// of that precision, or with those of fp32 where it has none, by the manifest's tolerance for the device ("cpu", "cuda"
// or "cuda:N") and precision. FAILED_PRECONDITION says which golden,
// how far off, and the tolerance; also if there is no golden picture or no tolerance for this device and precision.
// Errors of `forward` and `to_input`.
absl::Status CheckGolden(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                         const PictureToInput& to_input, std::string_view device, std::string_view precision,
                         const GoldenRun& run = {});

// How far a model is off now, against the logits that CheckGolden would take: the largest |logit - golden| / max(0.001,
// largest |golden| of all goldens), all in one batch. NaN if a logit is. Of `version` the manifest and the goldens
// are looked at; the weights may be left out. Errors as CheckGolden.
absl::StatusOr<float> GoldenDrift(const StoredVersion& version, const ModelDescription& model, const Forward& forward,
                                  const PictureToInput& to_input, std::string_view precision);

// Adds the logits that `forward` gives for the inputs and pictures already in `golden`; logits that are there are
// replaced; they are those of `precision`. Record from the weights as stored, and never with what serves: an error of
// the kernels would judge itself. FAILED_PRECONDITION as CheckGolden; `golden` is unchanged then.
absl::Status RecordGolden(const ModelDescription& model, const Forward& forward, const PictureToInput& to_input,
                          Safetensors& golden, std::string_view precision = "fp32");

}  // namespace vitrine

#endif  // VITRINE_REPOSITORY_GOLDEN_H_
