// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_DATA_DIGEST_H_
#define VITRINE_DATA_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "data/dataset.h"

namespace vitrine {

// SHA-256 over the sorted lines "name<TAB>label", as 64 hexadecimal digits. Says which pictures a set has and how they
// are labelled, not what they show; reads no picture.
std::string DigestOf(const Dataset& data);

// SHA-256 over the sorted lines "name<TAB>label<TAB>SHA-256 of the picture's stored bytes": a manifest's data_digest.
// Reads every picture, with `threads` threads; errors as Dataset::stored.
absl::StatusOr<std::string> ContentDigestOf(const Dataset& data, int threads = 1);

// The same over the lines in the order of the set, each as often as it is there.
std::string OrderedDigestOf(const Dataset& data);

}  // namespace vitrine

#endif  // VITRINE_DATA_DIGEST_H_
