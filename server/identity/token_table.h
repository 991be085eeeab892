// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_IDENTITY_TOKEN_TABLE_H_
#define VITRINE_SERVER_IDENTITY_TOKEN_TABLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/sha256.h"

namespace vitrine {

// Bearer tokens, of which only SHA-256 digests are known. A digest without salt or stretching is enough for what
// `vitrine token new` makes, 256 random bits, and for nothing that a person thought up. Immutable.
class TokenTable {
 public:
  // Shorter ones are never right, whatever the file says: a word could be found by trying.
  static constexpr size_t kShortestToken = 32;

  // Lines of "NAME sha256:<64 hexadecimal digits>"; empty lines and lines that begin with # are skipped. A name may
  // stand on several lines, so that a token can be replaced while the old one still works. Without lines no token is
  // known. INVALID_ARGUMENT names the
  // line, but nothing of it beyond the name, since somebody may have put the token itself there.
  static absl::StatusOr<TokenTable> Parse(std::string_view text);

  // The name of the line whose digest the token has. Takes the same time wherever the line stands and however much of
  // a digest agrees.
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
