// SPDX-License-Identifier: Apache-2.0
#include "common/simd/cpu_description.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#endif

namespace vitrine::cpu {

#if defined(__x86_64__)
namespace {

constexpr unsigned kSignature = 1, kHighestExtended = 0x80000000, kFirstOfName = 0x80000002, kLastOfName = 0x80000004;

// Returns the CPU's name. Each CPUID leaf has sixteen characters of the name. The name is padded with NULs at the end
// and, on some CPUs, with spaces at the start.
std::string ModelName() {
  if (static_cast<unsigned>(__get_cpuid_max(kHighestExtended, nullptr)) < kLastOfName) return "unnamed x86-64";
  std::string name;
  for (unsigned leaf = kFirstOfName; leaf <= kLastOfName; ++leaf) {
    unsigned words[4];
    __cpuid(leaf, words[0], words[1], words[2], words[3]);
    name.append(reinterpret_cast<const char*>(words), sizeof(words));
  }
  name.resize(std::strlen(name.c_str()));
  absl::RemoveExtraAsciiWhitespace(&name);
  return name.empty() ? "unnamed x86-64" : name;
}

}  // namespace

std::string CpuDescription() {
  unsigned signature = 0, others[3];
  __get_cpuid(kSignature, &signature, &others[0], &others[1], &others[2]);
  const unsigned base_family = signature >> 8 & 15, base_model = signature >> 4 & 15;
  // CPUID's extended family and extended model apply if the base family is 15; the extended model also applies if the
  // base family is 6.
  const unsigned family = base_family + (base_family == 15 ? signature >> 20 & 255 : 0);
  const unsigned model = base_model + (base_family == 15 || base_family == 6 ? (signature >> 16 & 15) << 4 : 0);
  return absl::StrCat(ModelName(), ", family ", family, ", model ", model);
}
#else
std::string CpuDescription() {
  return "portable";
}
#endif

}  // namespace vitrine::cpu
