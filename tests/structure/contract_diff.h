// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_
#define VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace vitrine {

// Returns a sentence for each change from `accepted` to `now` that breaks programs built against `accepted`: removed
// messages, fields, enum values, services or methods, and fields whose number, type, label, presence or oneof changed.
// Additions break nothing, and removing a field whose number and name are reserved breaks nothing.
std::vector<std::string> BreakingChanges(const google::protobuf::FileDescriptorSet& accepted,
                                         const google::protobuf::FileDescriptorSet& now);

}  // namespace vitrine

#endif  // VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_
