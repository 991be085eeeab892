// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ZOO_ROWS_H_
#define VITRINE_MODELS_ZOO_ROWS_H_

#include <vector>

#include "models/zoo.h"

namespace vitrine::zoo {

// Rows by family. To add a variant, add a row in the file of its family, such as vit.cc.
std::vector<ZooRow> VitRows();
std::vector<ZooRow> EitRows();
std::vector<ZooRow> KvRows();
std::vector<ZooRow> XcitRows();
std::vector<ZooRow> XVitRows();
std::vector<ZooRow> NullRows();

}  // namespace vitrine::zoo

#endif  // VITRINE_MODELS_ZOO_ROWS_H_
