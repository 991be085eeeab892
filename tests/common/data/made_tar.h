// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_COMMON_DATA_MADE_TAR_H_
#define VITRINE_TESTS_COMMON_DATA_MADE_TAR_H_

#include <cstdio>
#include <cstring>
#include <string>

namespace vitrine {

// Sets the checksum of the 512-byte header at `header`. The checksum is the sum of the header's bytes with spaces in
// the checksum field.
inline void SetTarChecksum(char* header) {
  std::memset(header + 148, ' ', 8);
  unsigned sum = 0;
  for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(header[i]);
  std::snprintf(header + 148, 8, "%06o", sum & 0777777u);
}

// Returns a ustar member. `declared` is the text of the size field, with which a test can make the member invalid.
inline std::string TarMemberBytes(const std::string& name, const std::string& content, char type,
                                  const std::string& declared) {
  std::string bytes(512, '\0');
  bytes.replace(0, std::min<size_t>(name.size(), 100), name, 0, 100);
  bytes.replace(100, 7, "0000644");
  bytes.replace(108, 7, "0000000");
  bytes.replace(116, 7, "0000000");
  bytes.replace(124, declared.size(), declared);
  bytes.replace(136, 11, "00000000000");
  bytes[156] = type;
  bytes.replace(257, 8,
                std::string("ustar\0"
                            "00",
                            8));
  SetTarChecksum(bytes.data());
  bytes += content;
  bytes.resize((bytes.size() + 511) / 512 * 512, '\0');
  return bytes;
}

inline std::string TarMemberBytes(const std::string& name, const std::string& content, char type = '0') {
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  return TarMemberBytes(name, content, type, size);
}

inline std::string TarEnd() {
  return std::string(1024, '\0');
}

}  // namespace vitrine

#endif  // VITRINE_TESTS_COMMON_DATA_MADE_TAR_H_
