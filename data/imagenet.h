// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_IMAGENET_H_
#define VITRINE_DATA_IMAGENET_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vitrine {

// The names of ImageNet-1k's 1,000 classes, in the order of ILSVRC 2012, which is that of their WordNet ids.
const std::vector<std::string>& ImageNetNames();

// The number of the class that has this WordNet id, as in "n01440764"; none if it is none of ImageNet-1k's.
std::optional<int> ImageNetClass(std::string_view wnid);

}  // namespace vitrine

#endif  // VITRINE_DATA_IMAGENET_H_
