// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_COMMANDS_MODELS_MODEL_PAGE_H_
#define VITRINE_CLIENT_COMMANDS_MODELS_MODEL_PAGE_H_

#include <string>

#include "client/commands/output/terminal.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// Returns a description of one version as text: state, memory, parameters, labels, supported requests, metrics, origin
// of the weights, configuration. Text from the server is made printable and wrapped to the page.
std::string ModelPage(const v1::ModelVersion& version, const Page& page);

// Formats 2867392 as "2,867,392".
std::string WithCommas(int64_t number);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_COMMANDS_MODELS_MODEL_PAGE_H_
