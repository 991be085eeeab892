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
#include "common/http/server.h"

namespace vitrine {

// The web page and its sample images, all in memory. Immutable; thread-safe.
//   GET /                              server/page/index.html
//   GET /page/NAME                     the other files of server/page/
//   GET /page/samples                  {"burst": BOOL, "samples": [{"group", "name", "path"}]}
//   GET /page/samples/GROUP/NAME       one sample
class PageFiles {
 public:
  // Limits on the total bytes and the number of samples.
  static constexpr int64_t kMaxSampleBytes = int64_t{16} << 20;
  static constexpr int kMaxSamples = 256;

  // Reads the sample images, which are the files GROUP/NAME in the folder `samples`. If `samples` is empty, the page
  // has no sample images. If `burst` is true, the page lets visitors send many requests at once. INVALID_ARGUMENT: the
  // folder cannot be read, has no sample or exceeds a limit.
  static absl::StatusOr<std::unique_ptr<const PageFiles>> Open(const std::string& samples, bool burst);

  bool Has(std::string_view path) const { return files_.contains(path); }
  // Returns the answer to a GET or HEAD of `path`, or 304 if the client already has the file; nullopt if there is no
  // such file. `if_none_match` and `accept_encoding` are the values of these headers; empty if absent.
  std::optional<HttpResponse> Answer(std::string_view method, std::string_view path, std::string_view if_none_match,
                                     std::string_view accept_encoding) const;

 private:
  struct File {
    std::string type;
    std::string_view bytes;
    std::string packed;           // gzip-compressed content; empty if it is not smaller
    std::string tag, packed_tag;  // ETags of `bytes` and `packed`
  };
  PageFiles() = default;
  void Add(std::string path, std::string type, std::string_view bytes);
  absl::Status AddSamples(const std::string& folder, bool burst);

  std::map<std::string, std::string, std::less<>> kept_;  // contents that are not embedded in the program, by path
  std::map<std::string, File, std::less<>> files_;        // files to serve, by path
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_PAGE_FILES_H_
