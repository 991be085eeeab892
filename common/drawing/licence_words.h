// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_DRAWING_LICENCE_WORDS_H_
#define VITRINE_COMMON_DRAWING_LICENCE_WORDS_H_

#include <string>

#include "vitrine/v1/manifest.pb.h"

namespace vitrine {

// Returns the licence of the weights; if none is stated, the licence of the downloaded model; "" if that is not stated
// either.
std::string LicenceOf(const v1::Provenance& provenance);

// Like LicenceOf, but returns "not stated" instead of "".
std::string LicenceInWords(const v1::Provenance& provenance);

}  // namespace vitrine

#endif  // VITRINE_COMMON_DRAWING_LICENCE_WORDS_H_
