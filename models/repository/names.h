// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_NAMES_H_
#define VITRINE_MODELS_REPOSITORY_NAMES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace vitrine {

// Returns true for valid names of models and files: [A-Za-z0-9_.-]{1,64}, except "." and "..".
bool IsPlainName(std::string_view name);

// Parses a version from a folder's name: a positive integer without sign, leading zeros or spaces. Returns nullopt for
// other names.
std::optional<int64_t> ParseVersion(std::string_view name);

// Returns true if an address names this machine: localhost, 127.0.0.0/8 or [::1], with or without a port.
bool IsThisMachine(std::string_view host_and_port);

// Folder for downloads in progress, within the local copy of a remote repository. Its file kRefreshedFile is replaced
// after each complete refresh and contains "<number> versions of <address>". Before the first complete refresh, the
// file contains "part of <address>" if a refresh copied some of the versions; such a copy can be served.
inline constexpr char kPullFolder[] = ".pull";
inline constexpr char kRefreshedFile[] = "refreshed";

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_NAMES_H_
