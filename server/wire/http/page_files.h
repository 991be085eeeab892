// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_PAGE_FILES_H_
#define VITRINE_SERVER_WIRE_HTTP_PAGE_FILES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/http/server.h"

namespace vitrine {

// The page for people and the pictures that it offers as samples, all in memory. Immutable; thread-safe.
//   GET /                              page/index.html
//   GET /page/NAME                     the other files of page/
//   GET /page/samples                  {"burst": whether the page may, "samples": [{"group", "name", "path"}]}
//   GET /page/samples/GROUP/NAME       one of them
class PageFiles {
 public:
  // Bytes of all samples together, and how many there are at most.
  static constexpr int64_t kMaxSampleBytes = int64_t{16} << 20;
  static constexpr int kMaxSamples = 256;

  // Reads the samples: the pictures DIR/GROUP/NAME of the folder; empty for none. `burst`: the page offers to
  // send many requests at once. INVALID_ARGUMENT if the folder cannot
  // be read, has no such picture or more than it may.
  static absl::StatusOr<std::unique_ptr<const PageFiles>> Open(const std::string& samples, bool burst);

  bool Has(std::string_view path) const { return files_.contains(path); }
  // The answer to a GET or HEAD of that path, 304 where the client has it already; nothing if no such file is here.
  // `if_none_match` and `accept_encoding` are the headers of these names, empty without one.
  std::optional<HttpResponse> Answer(std::string_view method, std::string_view path, std::string_view if_none_match,
                                     std::string_view accept_encoding) const;

 private:
  struct File {
    std::string type;
    std::string_view bytes;
    std::string packed;  // with gzip; empty where that gains nothing
    std::string tag, packed_tag;
  };
  PageFiles() = default;
  void Add(std::string path, std::string type, std::string_view bytes);
  absl::Status AddSamples(const std::string& folder, bool burst);

  std::map<std::string, std::string, std::less<>> kept_;  // what is not the program's own, by path
  std::map<std::string, File, std::less<>> files_;        // by path
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_PAGE_FILES_H_
