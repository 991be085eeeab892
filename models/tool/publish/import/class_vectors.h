// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CLASS_VECTORS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CLASS_VECTORS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/float_array.h"
#include "models/repository/files/safetensors.h"
#include "models/repository/foreign/import.h"
#include "models/tool/publish/import/import.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Parses an array of NumPy (.npy, versions 1 to 3) with two dimensions of little-endian float16, float32 or float64 in
// C order. INVALID_ARGUMENT says what is wrong, with the line of NumPy that writes the accepted form.
absl::StatusOr<FloatArray> ParseArray(std::string_view bytes);

// Returns CLIP's scale of cosines: exp of the tensor "logit_scale", which OpenCLIP and transformers store beside the
// text tower. Without that tensor, returns 100, the largest value of the scale.
double LogitScaleOf(const TensorMap& tensors);

// Returns the weight of a cosine head, [classes, width]: each row of the file, divided by its Euclidean norm and
// multiplied by `scale`. INVALID_ARGUMENT names the file if ParseArray rejects it, if the array does not have a row of
// `width` numbers for each of `labels`, or if a row is zero or not finite.
absl::StatusOr<StoredTensor> CosineHead(const std::string& path, const std::vector<std::string>& labels, int64_t width,
                                        double scale);

// Returns INVALID_ARGUMENT if options.zero_shot is set and the model has no projection.
absl::Status CheckTakesVectors(const ImportOptions& options, const v1::ModelConfig& config);

// Adds the head of options.zero_shot to the tensors and config of a model with a projection. `foreign` has the tensors
// of the weights file, which may include "logit_scale". Returns a phrase for the provenance, or errors of CosineHead.
absl::StatusOr<std::string> AddCosineHead(const ImportOptions& options, const std::vector<std::string>& labels,
                                          const TensorMap& foreign, v1::ModelConfig& config, TensorMap& tensors);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_CLASS_VECTORS_H_
