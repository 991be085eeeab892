// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_STORED_TEXT_H_
#define VITRINE_TESTS_STORED_TEXT_H_

#include <string>

namespace vitrine {

// Expects the text, to the letter, that tests/golden/printed/`name` holds: what people or programs read is all of it a
// contract. With VITRINE_STORE=1 the file is written instead, and the change is judged where its difference is read.
void ExpectStored(const std::string& name, const std::string& text);

// A page as one reads it: a line for each text, without tags and style. A drawing becomes its texts and a number that
// changes with anything else in it.
std::string Reading(const std::string& html);

}  // namespace vitrine

#endif  // VITRINE_TESTS_STORED_TEXT_H_
