// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FUZZ_MUTATE_MESSAGE_H_
#define VITRINE_TESTS_FUZZ_MUTATE_MESSAGE_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace vitrine {

// Bodies of LLVMFuzzerCustomMutator for inputs that are a message: on the wire, or as text. Three times in four one
// field is changed, so that what comes out can be parsed and gets as far as what is meant by it; else bytes are, as
// hostile hands would. `scratch` is a message of the type, its content is lost.
size_t MutateWire(google::protobuf::Message& scratch, uint8_t* data, size_t size, size_t max_size, unsigned seed);
size_t MutateText(google::protobuf::Message& scratch, uint8_t* data, size_t size, size_t max_size, unsigned seed);

}  // namespace vitrine

#endif  // VITRINE_TESTS_FUZZ_MUTATE_MESSAGE_H_
