// SPDX-License-Identifier: Apache-2.0
#include "common/file/cache_folder.h"

#include <cstdlib>
#include <string_view>

namespace vitrine {
namespace {

std::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

}  // namespace

std::filesystem::path CacheFolder() {
  if (const std::string_view folders = Variable("CACHE_DIRECTORY"); !folders.empty()) {
    return folders.substr(0, folders.find(':'));
  }
  if (const std::string_view base = Variable("XDG_CACHE_HOME"); !base.empty()) {
    return std::filesystem::path(base) / "vitrine";
  }
  const std::string_view home = Variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".cache" / "vitrine";
}

}  // namespace vitrine
