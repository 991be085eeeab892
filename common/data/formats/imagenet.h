// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DATA_FORMATS_IMAGENET_H_
#define VITRINE_COMMON_DATA_FORMATS_IMAGENET_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// Returns the names of ImageNet-1k's 1,000 classes in ascending order of their WordNet ids, as in ILSVRC 2012.
const std::vector<std::string>& ImageNetNames();

// Returns the class index of a WordNet id such as "n01440764"; nullopt for an id outside ImageNet-1k.
std::optional<int> ImageNetClass(std::string_view wnid);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DATA_FORMATS_IMAGENET_H_
