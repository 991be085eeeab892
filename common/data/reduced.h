// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_REDUCED_H_
#define VITRINE_COMMON_DATA_REDUCED_H_

#include <memory>

#include "common/data/dataset.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns a set whose image() decodes to a smaller size, as a server does for a model with REDUCED decoding. encoded()
// returns the unchanged file. With FULL decoding, returns the set itself.
std::unique_ptr<Dataset> MakeReduced(std::unique_ptr<Dataset> dataset, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_REDUCED_H_
