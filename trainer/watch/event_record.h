// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_EVENT_RECORD_H_
#define VITRINE_TRAINER_WATCH_EVENT_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace vitrine {

// Returns the CRC-32C (Castagnoli), as in RFC 3720.
uint32_t Crc32c(std::string_view bytes);

// Returns a TFRecord record: length (uint64), masked CRC of the length, `data`, masked CRC of the data. Numbers are
// little-endian. Masking rotates a CRC right by 15 bits and adds 0xa282ead8. Without masking, the CRC of data that
// contain CRCs could miss errors.
std::string EventRecord(std::string_view data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_EVENT_RECORD_H_
