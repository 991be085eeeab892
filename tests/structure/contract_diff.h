// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_
#define VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

namespace vitrine {

// What of `accepted` a program built against it would miss in `now`, one sentence each: messages, fields, enum values,
// services or methods that are gone, and fields whose number, type, label, presence or oneof changed.
// Additions are not breaking. A removed field is not breaking if its number and its name are reserved.
std::vector<std::string> BreakingChanges(const google::protobuf::FileDescriptorSet& accepted,
                                         const google::protobuf::FileDescriptorSet& now);

}  // namespace vitrine

#endif  // VITRINE_TESTS_STRUCTURE_CONTRACT_DIFF_H_
