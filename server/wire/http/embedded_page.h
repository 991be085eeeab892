// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_HTTP_EMBEDDED_PAGE_H_
#define VITRINE_SERVER_WIRE_HTTP_EMBEDDED_PAGE_H_

#include <string_view>
#include <vector>

namespace vitrine {

struct EmbeddedFile {
  std::string_view name;   // "style.css"
  std::string_view bytes;  // bytes of the file, which exist until the program ends
};

// Returns the files of server/page/. The build embeds them in the program: see cmake/embed_files.cmake.
const std::vector<EmbeddedFile>& EmbeddedPage();

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_HTTP_EMBEDDED_PAGE_H_
