// SPDX-License-Identifier: Apache-2.0
#include "trainer/watch/event_record.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace vitrine {
namespace {

template <typename Number>
void AppendLittleEndian(Number number, std::string& bytes) {
  for (size_t i = 0; i < sizeof(number); ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

uint32_t Masked(uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8u;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes) {
  uint32_t state = 0xffffffff;
  while (!bytes.empty()) {  // the library's length type is int
    const std::string_view part = bytes.substr(0, std::numeric_limits<int>::max());
    // The library only reads the data, but its parameter is not const.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    state = crc32_iscsi(data, static_cast<int>(part.size()), state);
    bytes.remove_prefix(part.size());
  }
  return ~state;
}

std::string EventRecord(std::string_view data) {
  std::string record;
  record.reserve(data.size() + 16);
  AppendLittleEndian(static_cast<uint64_t>(data.size()), record);
  AppendLittleEndian(Masked(Crc32c(record)), record);
  record += data;
  AppendLittleEndian(Masked(Crc32c(data)), record);
  return record;
}

}  // namespace vitrine
