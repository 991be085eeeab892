// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_KIND_H_
#define VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_KIND_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace vitrine {

// Describes a file that is not a safetensors file: its probable format, and how to get the weights as safetensors ("is
// a Git LFS pointer, ..."). Recognizes Git LFS pointers, web pages, archives and the formats of other frameworks by
// their first bytes and their name; does not recognize pickles. Returns "" for any other file.
std::string KindInWords(const std::filesystem::path& file, std::string_view bytes);

}  // namespace vitrine

#endif  // VITRINE_MODELS_REPOSITORY_IMPORT_IMPORT_KIND_H_
