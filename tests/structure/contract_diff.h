// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_
#define VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace vitrine {

// Returns a sentence for each change from `accepted` to `now` that breaks programs built against `accepted`. Such
// changes are a removed message, field, enum value, service or method, and a field with another number, type, label,
// presence or oneof. A removed field whose number and name are reserved breaks nothing. Additions break nothing.
std::vector<std::string> BreakingChanges(const google::protobuf::FileDescriptorSet& accepted,
                                         const google::protobuf::FileDescriptorSet& now);

}  // namespace vitrine

#endif  // VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_
