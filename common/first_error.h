// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_FIRST_ERROR_H_
#define VITRINE_COMMON_FIRST_ERROR_H_

#include <google/protobuf/io/tokenizer.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vitrine {

// Keeps the first error of protobuf's text parser, with its position. By default the parser prints all errors on
// stderr. Bytes of the file that are not printable ASCII are escaped, because the text may be sent in an answer, which
// must be valid UTF-8.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!message_.empty()) return;
    message_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ");
    for (const char c : message) {
      const auto byte = static_cast<unsigned char>(c);
      message_ += absl::ascii_isprint(byte) ? std::string(1, c) : absl::StrFormat("\\x%02x", byte);
    }
  }
  // Returns the error, or "" if there was none.
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

}  // namespace vitrine

#endif  // VITRINE_COMMON_FIRST_ERROR_H_
