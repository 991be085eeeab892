// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_MUTATE_MESSAGE_H_
#define VITRINE_TESTS_FUZZ_MUTATE_MESSAGE_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace vitrine {

// Implementations of LLVMFuzzerCustomMutator for inputs that are a message in wire or text format. In three of four
// cases they change one field, so that the result can be parsed and reaches the code after the parser. In the other
// cases they change bytes. They overwrite `scratch`, which is a message of the input's type.
size_t MutateWire(google::protobuf::Message& scratch, uint8_t* data, size_t size, size_t max_size, unsigned seed);
size_t MutateText(google::protobuf::Message& scratch, uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_MUTATE_MESSAGE_H_
