// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_MODEL_PAGE_H_
#define VITRINE_CLIENT_MODEL_PAGE_H_

#include <string>

#include "client/terminal.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Everything that a server tells about one version, for people: state, memory, parameters, labels, what can be asked
// of it, its metrics, where its weights come from, its configuration. Text from the server is made printable and folded
// to the page.
std::string ModelPage(const v1::ModelVersion& version, const Page& page);

// 2867392 -> "2,867,392"
std::string WithCommas(int64_t number);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_MODEL_PAGE_H_
