// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_PARITY_GOLDEN_CASE_H_
#define VITRINE_TESTS_MODELS_PARITY_GOLDEN_CASE_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/reference/model.h"
#include "models/repository/files/safetensors.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine::testing {

// A file of tests/golden/parity: a model, images, and the fp64 results of an independent implementation.
// tests/oracle/record.py describes the contents.
class GoldenCase {
 public:
  // If the file cannot be read, the test fails and the program ends.
  explicit GoldenCase(const std::string& name);
  // Returns the names of all files in tests/golden/parity, without the suffix, sorted.
  static std::vector<std::string> All();

  // Returns the recorded values by name.
  const std::map<std::string, at::Tensor>& recorded() const { return recorded_; }
  const ImageBatch& images() const { return images_; }

  // Returns the model with weights that are recomputed from the hash. Weights with the names of another library are
  // imported first. If the weights do not fit the model, the test fails and the program ends.
  std::unique_ptr<Model> Build() const;

 private:
  // Returns the weights with the names and layout of their source. timm's weights include the `num_batches_tracked` of
  // its BatchNorms, as its checkpoints do.
  Safetensors Weights() const;

  struct HashedRow {
    std::string name;
    std::vector<int64_t> shape;
    double centre = 0;
    double half = 0;
  };
  v1::ModelConfig config_;
  std::string key_;
  std::string arch_;  // name of the model in another library; empty if the tensors have the published names
  std::vector<HashedRow> rows_;
  ImageBatch images_;
  std::map<std::string, at::Tensor> recorded_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_PARITY_GOLDEN_CASE_H_
