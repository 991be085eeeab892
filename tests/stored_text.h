// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_STORED_TEXT_H_
#define VITRINE_TESTS_STORED_TEXT_H_

#include <string>

namespace vitrine {

// Expects exactly the text of tests/golden/printed/`name`, since all output for people and programs is a contract. With
// VITRINE_STORE=1, writes the file instead, so that its diff can be reviewed.
void ExpectStored(const std::string& name, const std::string& text);

// Returns a page as text: a line for each text, without tags and style. A drawing becomes its texts and a number that
// changes with any other change of the drawing.
std::string Reading(const std::string& html);

}  // namespace vitrine

#endif  // VITRINE_TESTS_STORED_TEXT_H_
