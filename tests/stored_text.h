// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_STORED_TEXT_H_
#define VITRINE_TESTS_STORED_TEXT_H_

#include <string>

namespace vitrine {

// Expects that `text` equals the file tests/golden/printed/`name`. Output for people and programs is stored
// because each change of it must be reviewed. With VITRINE_STORE=1, writes the file instead.
void ExpectStored(const std::string& name, const std::string& text);

// Returns the text of an HTML page, one line for each piece of text, without tags and style. A drawing is returned as
// its texts, followed by a hash of its tags.
std::string Reading(const std::string& html);

}  // namespace vitrine

#endif  // VITRINE_TESTS_STORED_TEXT_H_
