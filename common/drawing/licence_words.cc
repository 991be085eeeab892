// SPDX-License-Identifier: Apache-2.0
#include "common/drawing/licence_words.h"

namespace vitrine {

std::string LicenceOf(const v1::Provenance& provenance) {
  return provenance.licence().empty() ? provenance.origin().licence() : provenance.licence();
}

std::string LicenceInWords(const v1::Provenance& provenance) {
  const std::string licence = LicenceOf(provenance);
  return licence.empty() ? "not stated" : licence;
}

}  // namespace vitrine
