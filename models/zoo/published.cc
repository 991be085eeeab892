// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/published.h"

#include <algorithm>

namespace vitrine {
namespace {

constexpr FlopConvention kMacs = FlopConvention::kMacs;
constexpr FlopConvention k001 = FlopConvention::k001;
constexpr FlopConvention kNone = FlopConvention::kNone;
constexpr std::string_view kImageNet = "ImageNet-1k";
constexpr std::string_view kCifar = "CIFAR-10";

constexpr Published kTable[] = {
    // clang-format off
    // name, parameters, flops, convention, side, accuracy, data, remark
    // Figures from Table 2 of paper 000, unless the remark names another source.
    {"xcit-n12", "3.1", "", kNone, 0, "69.9", kImageNet, ""},
    {"xcit-n12-sne", "3.1", "", kNone, 0, "70.9", kImageNet, ""},
    {"xcit-n12-p-sne", "3.1", "", kNone, 0, "71.4", kImageNet, ""},
    {"xcit-n12-f-sne-8", "2.9", "", kNone, 0, "70.6", kImageNet, ""},
    {"xcit-n12-f-sne-8-wide", "3.1", "", kNone, 0, "70.8", kImageNet, "Table 5 prints 2.9 for the same model"},
    {"xcit-n12-f-sne-8-wide-own-codes", "3.05", "", kNone, 0, "70.28", kImageNet, ""},
    {"xcit-n12-f-sne-16", "2.9", "", kNone, 0, "70.2", kImageNet, ""},
    {"xcit-n12-f-sne-16-wide", "3.1", "", kNone, 0, "70.6", kImageNet, ""},
    {"xcit-n12-f-sne-32", "2.9", "", kNone, 0, "70.3", kImageNet, ""},
    {"xcit-n12-f-sne-64", "2.9", "", kNone, 0, "70.2", kImageNet, "2.954 M rounds to 3.0"},
    {"xcit-t12", "6.7", "1.2", kMacs, 224, "77.1", kImageNet, "X-ViT's Table 1 prints 26 M, a misprint"},
    {"xcit-t12-sne", "6.7", "", kNone, 0, "77.6", kImageNet, ""},
    {"xcit-t12-p-sne", "6.7", "", kNone, 0, "77.8", kImageNet, ""},
    {"xcit-t12-f-sne-8", "6.3", "", kNone, 0, "76.8", kImageNet, ""},
    {"xcit-t12-f-sne-8-wide", "6.7", "", kNone, 0, "77.7", kImageNet, ""},
    {"xcit-t12-f-sne-16", "6.3", "", kNone, 0, "77.2", kImageNet, ""},
    {"xcit-t12-f-sne-16-wide", "6.7", "", kNone, 0, "77.4", kImageNet, "Table 4 prints 6.3"},
    {"xcit-t12-f-sne-32", "6.3", "", kNone, 0, "77.1", kImageNet, ""},
    {"xcit-t12-f-sne-64", "6.4", "", kNone, 0, "77.1", kImageNet, "from Table 4; Table 2 prints 6.3"},
    {"xcit-s12", "26", "4.8", kMacs, 224, "", "", "from X-ViT's Table 1"},
    // Figures from Tables 3 and 4 of paper 000, for models transferred from ImageNet. The printed sizes are the sizes
    // of the 1000-class model.
    {"xcit-n12-10-classes", "3.1", "", kNone, 0, "98.0", kCifar, "the printed size is for 1000 classes"},
    {"xcit-n12-100-classes", "3.1", "", kNone, 0, "85.5", "CIFAR-100", "the printed size is for 1000 classes"},
    {"xcit-n12-196-classes", "3.1", "", kNone, 0, "87.9", "Cars", "the printed size is for 1000 classes"},
    {"xcit-t12-10-classes", "6.7", "", kNone, 0, "98.5", kCifar, "the printed size is for 1000 classes"},
    {"xcit-t12-100-classes", "6.7", "", kNone, 0, "86.7", "CIFAR-100", "the printed size is for 1000 classes"},
    {"xcit-t12-196-classes", "6.7", "", kNone, 0, "92.7", "Cars", "the printed size is for 1000 classes"},
    // Figures from Tables 4 to 9 of paper 001, for images of 32x32 pixels.
    {"vit-mini-cifar10", "3.798", "0.515", k001, 32, "68.2", kCifar, ""},
    {"lsra-mini-cifar10", "3.679", "0.487", k001, 32, "77.8", kCifar, ""},
    {"cvt-p-mini-cifar10", "3.846", "2.296", k001, 32, "73.8", kCifar, ""},
    {"cvt-t-mini-cifar10", "14.11", "1.838", k001, 32, "71.2", kCifar, ""},
    {"cvt-pt-mini-cifar10", "14.16", "7.580", k001, 32, "77.7", kCifar, ""},
    {"vit-c-mini-cifar10", "4.108", "0.553", k001, 32, "70.0", kCifar, "four blocks; the paper says equal depth"},
    {"eit-p-mini-cifar10", "3.793", "0.527", k001, 32, "74.6", kCifar, ""},
    {"eit-t-mini-cifar10", "3.771", "0.501", k001, 32, "81.8", kCifar, ""},
    {"eit34-mini-cifar10", "3.766", "0.514", k001, 32, "85.5", kCifar, ""},
    {"eit33-mini-cifar10", "3.775", "0.804", k001, 32, "86.5", kCifar, ""},
    {"eit34-tiny-cifar10", "10.59", "1.415", k001, 32, "85.9", kCifar, ""},
    {"eit33-tiny-cifar10", "10.60", "2.214", k001, 32, "87.3", kCifar, ""},
    {"eit34-base-cifar10", "19.54", "2.593", k001, 32, "86.3", kCifar, ""},
    {"eit33-base-cifar10", "19.63", "4.056", k001, 32, "87.5", kCifar, "19.55 is consistent with its own FLOPs"},
    {"eit34-mini-cifar100", "", "", kNone, 32, "60.5", "CIFAR-100", ""},
    {"eit34-mini-tiny-imagenet", "", "", kNone, 32, "34.6", "Tiny-ImageNet", ""},
    {"eit34-mini-fashion-mnist", "", "", kNone, 32, "92.6", "Fashion-MNIST", ""},
    {"eit34-mini-parallel-cifar10", "6.589", "0.887", k001, 32, "84.1", kCifar, ""},
    {"eit34-mini-conv-conv-cifar10", "5.116", "0.687", k001, 32, "84.3", kCifar, ""},
    {"eit34-mini-gelu-conv-cifar10", "3.841", "0.524", k001, 32, "84.6", kCifar, ""},
    {"eit34-mini-bn-relu-cifar10", "3.768", "0.514", k001, 32, "85.1", kCifar,
     "also counts the moving statistics of BatchNorm"},
    {"eit34-mini-increasing-cifar10", "", "", kNone, 32, "79.0", kCifar, ""},
    {"eit34-mini-invariant-cifar10", "", "", kNone, 32, "81.7", kCifar, ""},
    {"eit34-mini-no-positions-cifar10", "", "", kNone, 32, "85.6", kCifar, ""},
    // Figures from Table 1 of paper 002.
    {"xvit-t", "10", "1.9", kMacs, 224, "78.8", kImageNet, ""},
    {"xvit-s", "21", "3.7", kMacs, 224, "82.0", kImageNet, ""},
    {"xvit-m", "37", "7.0", kMacs, 224, "82.8", kImageNet, "at 384: 20.5 G, 83.8 %"},
    {"xvit-b", "64", "11.9", kMacs, 224, "83.3", kImageNet, "at 384: 35.1 G, 84.3 %"},
    // Figures from paper 002, which calls these models DeiT, and from paper 003.
    {"vit-ti16", "5.7", "1.3", kMacs, 224, "", "", "from papers 000 and 002"},
    {"vit-s16", "22", "4.6", kMacs, 224, "", "", "from paper 002"},
    {"vit-b16", "86", "17.5", kMacs, 224, "", "", "86 is without the head; 17.564 G rounds to 17.6"},
    {"vit-l16", "307", "", kNone, 0, "", "", "307 is for patches of 32 pixels"},
    {"vit-l32", "307", "", kNone, 0, "", "", ""},
    {"vit-h14", "632", "", kNone, 0, "", "", ""},
    // clang-format on
};

// Mean over a grid of model sizes. Paper 004 prints one mean for each data set and kind of attention.
struct GridMean {
  std::string_view prefix;  // prefix of the zoo name
  std::string_view accuracy;
  std::string_view data;
};
constexpr GridMean kGridMeans[] = {
    {"qkv-mnist-", "98.1", "MNIST, grid mean"},
    {"kv-pos-mnist-", "98.2", "MNIST, grid mean"},
    {"kv-mnist-", "98.1", "MNIST, grid mean"},
    {"qkv-cifar10-", "66.3", "CIFAR-10, grid mean"},
    {"kv-pos-cifar10-", "66.2", "CIFAR-10, grid mean"},
    {"kv-cifar10-", "66.6", "CIFAR-10, grid mean"},
    {"qkv-cifar100-", "36.3", "CIFAR-100, grid mean"},
    {"kv-pos-cifar100-", "36.6", "CIFAR-100, grid mean"},
    {"kv-cifar100-", "36.9", "CIFAR-100, grid mean"},
    {"anomaly-qkv-", "94.3", "set anomaly, grid mean"},
    {"anomaly-kv-pos-", "96.5", "set anomaly, grid mean"},
    {"anomaly-kv-", "92.7", "set anomaly, grid mean"},
};

}  // namespace

std::optional<Published> FindPublished(std::string_view name) {
  const auto row =
      std::find_if(std::begin(kTable), std::end(kTable), [&](const Published& p) { return p.name == name; });
  if (row != std::end(kTable)) return *row;
  for (const GridMean& mean : kGridMeans) {
    if (!name.starts_with(mean.prefix)) continue;
    Published published;
    published.name = name;
    published.accuracy = mean.accuracy;
    published.data = mean.data;
    return published;
  }
  return std::nullopt;
}

}  // namespace vitrine
