// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TOKEN_TABLE_H_
#define VITRINE_SERVER_IDENTITY_TOKEN_TABLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/sha256.h"

namespace vitrine {

// Bearer tokens, stored as SHA-256 digests. A digest without salt or stretching is enough for the 256 random bits of
// `vitrine token new`, but not for a password. Immutable.
class TokenTable {
 public:
  // Shorter tokens are rejected even if they are in the file, because they could be guessed.
  static constexpr size_t kShortestToken = 32;

  // Parses lines of "NAME sha256:<64 hexadecimal digits>"; skips empty lines and lines that begin with #. A name may
  // have several lines, so that a token can be replaced while the old token is still valid. If there are no lines, no
  // token is valid. INVALID_ARGUMENT names the line number but quotes nothing, since the line may contain the token
  // itself.
  static absl::StatusOr<TokenTable> Parse(std::string_view text);

  // Returns the name of the token; nullopt if it is not in the table or too short. The duration of the search does not
  // depend on the line's position or on how many bytes of a digest are equal.
  std::optional<std::string> NameOf(std::string_view token) const;

  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::string name;
    Sha256Digest digest;
  };
  std::vector<Row> rows_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_IDENTITY_TOKEN_TABLE_H_
