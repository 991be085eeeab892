#ifndef VITRINE_MODELS_ZOO_INPUTS_H_
#define VITRINE_MODELS_ZOO_INPUTS_H_

#include "vitrine/v1/model.pb.h"

namespace vitrine::zoo {

// Configs with classes and preprocessing of a data set, the family still open.

v1::ModelConfig Cifar(int classes, int cell);  // native resolution, 36 to 144 tokens of `cell` pixels
v1::ModelConfig FixedCifar(int classes);       // 32x32
v1::ModelConfig Mnist();                       // 28x28, one channel
v1::ModelConfig FashionMnist(int cell);        // native resolution, one channel
v1::ModelConfig ImageNet(int side);            // 1000 classes, mean and deviation 0.5 (ViT)

// Side of the square grid that positions are learned for: of the fixed size, or of 32x32 pixels.
int GridSide(const v1::ModelConfig& config, int cell);

}  // namespace vitrine::zoo

#endif  // VITRINE_MODELS_ZOO_INPUTS_H_
