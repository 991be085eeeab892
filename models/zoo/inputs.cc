// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/inputs.h"

#include <vector>

namespace vitrine::zoo {
namespace {

// Returns a config with the classes and preprocessing of a data set. The caller must set the model family.
v1::ModelConfig Input(int classes, std::vector<float> mean, std::vector<float> std, v1::Interpolation interpolation) {
  v1::ModelConfig config;
  config.set_classes(classes);
  v1::Preprocessing& preprocessing = *config.mutable_preprocessing();
  preprocessing.set_channels(static_cast<int>(mean.size()));
  preprocessing.mutable_mean()->Assign(mean.begin(), mean.end());
  preprocessing.mutable_std()->Assign(std.begin(), std.end());
  preprocessing.set_interpolation(interpolation);
  return config;
}

v1::ModelConfig Fixed(v1::ModelConfig config, int side, v1::FixedResolution::Fit fit) {
  v1::FixedResolution& fixed = *config.mutable_preprocessing()->mutable_fixed();
  fixed.set_height(side);
  fixed.set_width(side);
  fixed.set_fit(fit);
  return config;
}

// Sets native resolution: any aspect ratio, with as many tokens as images of 24x24 to 48x48 pixels have.
v1::ModelConfig Native(v1::ModelConfig config, int cell) {
  v1::NativeResolution& native = *config.mutable_preprocessing()->mutable_native();
  native.set_cell(cell);
  native.set_min_tokens((24 / cell) * (24 / cell));
  native.set_max_tokens((48 / cell) * (48 / cell));
  return config;
}

v1::ModelConfig CifarInput(int classes) {
  return Input(classes, {0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}, v1::BICUBIC);
}

v1::ModelConfig FashionInput() {
  return Input(10, {0.1307F}, {0.3081F}, v1::BICUBIC);
}

v1::ModelConfig TinyImageNetInput() {
  return Input(200, {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}, v1::BICUBIC);
}

}  // namespace

v1::ModelConfig Cifar(int classes, int cell) {
  return Native(CifarInput(classes), cell);
}
v1::ModelConfig FixedCifar(int classes) {
  return Fixed(CifarInput(classes), 32, v1::FixedResolution::CENTER_CROP);
}
v1::ModelConfig Mnist() {
  return Fixed(Input(10, {0.1307F}, {0.3081F}, v1::BICUBIC), 28, v1::FixedResolution::STRETCH);
}
v1::ModelConfig FixedFashionMnist() {
  return Fixed(FashionInput(), 32, v1::FixedResolution::CENTER_CROP);
}
v1::ModelConfig FashionMnist(int cell) {
  return Native(FashionInput(), cell);
}
v1::ModelConfig FixedTinyImageNet() {
  return Fixed(TinyImageNetInput(), 32, v1::FixedResolution::CENTER_CROP);
}
v1::ModelConfig TinyImageNet(int cell) {
  return Native(TinyImageNetInput(), cell);
}
v1::ModelConfig ImageNet(int side) {
  return Fixed(Input(1000, {0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}, v1::BICUBIC), side,
               v1::FixedResolution::CENTER_CROP);
}
v1::ModelConfig NativeImageNet(int classes, int cell) {
  v1::ModelConfig config = Input(classes, {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}, v1::BICUBIC);
  v1::NativeResolution& native = *config.mutable_preprocessing()->mutable_native();
  native.set_cell(cell);
  native.set_min_tokens((96 / cell) * (96 / cell));
  native.set_max_tokens((512 / cell) * (512 / cell));
  return config;
}

int GridSide(const v1::ModelConfig& config, int cell) {
  return (config.preprocessing().has_fixed() ? config.preprocessing().fixed().height() : 32) / cell;
}

}  // namespace vitrine::zoo
