// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_DIGEST_H_
#define VITRINE_DATA_DIGEST_H_

#include <string>

#include "data/dataset.h"

namespace vitrine {

// SHA-256 over the sorted lines "name<TAB>label", as 64 hexadecimal digits: a manifest's data_digest. Says which
// pictures a set has and how they are labelled, not what they show.
std::string DigestOf(const Dataset& data);

// The same over the lines in the order of the set, each as often as it is there.
std::string OrderedDigestOf(const Dataset& data);

}  // namespace vitrine

#endif  // VITRINE_DATA_DIGEST_H_
