// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_REDUCED_H_
#define VITRINE_DATA_REDUCED_H_

#include <memory>

#include "data/dataset.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// The set with its pictures decoded as a model that decodes REDUCED is served them: image() is smaller, encoded() is
// the file. Where the preprocessing decodes in FULL, the set itself.
std::unique_ptr<Dataset> MakeReduced(std::unique_ptr<Dataset> dataset, const v1::Preprocessing& preprocessing);

}  // namespace vitrine

#endif  // VITRINE_DATA_REDUCED_H_
