// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_SMALL_FORMS_H_
#define VITRINE_MODELS_ZOO_SMALL_FORMS_H_

#include <string>
#include <vector>

#include "vitrine/v1/model.pb.h"

namespace vitrine {

// A small model with one choice of a family's options (a form). Tests and vitrine-gpu-check run every form.
struct SmallForm {
  std::string name;
  v1::ModelConfig config;
  int height = 0;
  int width = 0;
};

// Returns forms of each family that accepts many image sizes, except the forms of SmallPrefixForms. The configs do not
// depend on the zoo.
std::vector<SmallForm> SmallForms();
// Returns forms of ViT with the parts of distilled DeiT, DINOv2 and CLIP. They are not in SmallForms, because tests
// compare the weights of all SmallForms with recorded weights.
std::vector<SmallForm> SmallPrefixForms();
// Returns small zoo variants for every form of KV, which accepts a single image size.
std::vector<SmallForm> SmallKvForms();

}  // namespace vitrine

#endif  // VITRINE_MODELS_ZOO_SMALL_FORMS_H_
