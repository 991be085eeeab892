// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_RECORDED_WEIGHTS_H_
#define VITRINE_TESTS_MODELS_RECORDED_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "vitrine/v1/model.pb.h"

namespace vitrine::testing {

// FNV-1a digest of the added data, in order.
class WeightsDigest {
 public:
  void Add(const std::string& name, const std::vector<int64_t>& shape, bool trained, bool decays);
  void Add(const void* bytes, int64_t count);
  std::string hex() const;

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

// A row of recorded_weights.txt: a variant of the zoo or a form of small_forms.h. The rows were recorded in an earlier
// version, in which models were not yet programs. They ensure that checkpoints from that time still load. In both
// digests, parameters come before buffers.
struct RecordedWeights {
  std::string name;
  v1::ModelConfig config;
  std::string structure;  // digest of each weight's name and shape, and of whether it is trained and decayed
  std::string initial;    // digest of the initial values drawn from seed 7; "-": the model is too large for a test
};
std::vector<RecordedWeights> ReadRecordedWeights();

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_RECORDED_WEIGHTS_H_
