// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_SMALL_FORMS_H_
#define VITRINE_MODELS_ZOO_SMALL_FORMS_H_

#include <string>
#include <vector>

#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A small model of one form of a family, and the pixels of an image that suits it. Tests and vitrine-gpu-check compare
// every form.
struct SmallForm {
  std::string name;
  v1::ModelConfig config;
  int height = 0;
  int width = 0;
};

// Every form of every family that takes images of many sizes, from configs so that the zoo's names need not be known.
std::vector<SmallForm> SmallForms();
// Small variants of the zoo for every form of KV, which takes images of one size.
std::vector<SmallForm> SmallKvForms();

}  // namespace vitrine

#endif  // VITRINE_MODELS_ZOO_SMALL_FORMS_H_
