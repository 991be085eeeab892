// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_INPUTS_H_
#define VITRINE_MODELS_ZOO_INPUTS_H_

#include "vitrine/v1/model.pb.h"

namespace vitrine::zoo {

// Configs with the classes and preprocessing of a data set. The caller must set the model family.

v1::ModelConfig Cifar(int classes, int cell);  // native resolution, as many tokens as in 24x24 to 48x48 pixels
v1::ModelConfig FixedCifar(int classes);       // 32x32
v1::ModelConfig Mnist();                       // 28x28, one channel
v1::ModelConfig FixedFashionMnist();           // 32x32, one channel
v1::ModelConfig FashionMnist(int cell);        // native resolution, one channel
v1::ModelConfig FixedTinyImageNet();           // 32x32, 200 classes, ImageNet's mean and deviation
v1::ModelConfig TinyImageNet(int cell);        // native resolution, otherwise like FixedTinyImageNet
v1::ModelConfig ImageNet(int side);            // 1000 classes, mean and deviation 0.5 (ViT)
// Native resolution, as many tokens as in 96x96 to 512x512 pixels, ImageNet's mean and deviation (XCiT, X-ViT).
v1::ModelConfig NativeImageNet(int classes, int cell);

// Returns the side, in cells, of the square grid of learned positions. The grid is for the config's fixed size, or for
// 32x32 pixels if the config has native resolution.
int GridSide(const v1::ModelConfig& config, int cell);

}  // namespace vitrine::zoo

#endif  // VITRINE_MODELS_ZOO_INPUTS_H_
