// SPDX-License-Identifier: Apache-2.0
#include "server/trace/span_ids.h"

#include <sys/random.h>

#include <cmath>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace vitrine {
namespace {

constexpr int kRandomBits = 56;

std::mt19937_64& Generator() {
  thread_local std::mt19937_64 generator = [] {
    std::array<uint32_t, 8> seed{};
    // For so few bytes, getrandom either returns all of them or fails, for example if the system call is forbidden.
    if (getrandom(seed.data(), sizeof(seed), 0) != sizeof(seed)) seed[0] = std::random_device()();
    std::seed_seq sequence(seed.begin(), seed.end());
    return std::mt19937_64(sequence);
  }();
  return generator;
}

template <typename Id>
Id NewId() {
  Id id{};
  bool is_zero = true;
  while (is_zero) {
    for (size_t at = 0; at < id.size(); at += sizeof(uint64_t)) {
      const uint64_t bits = Generator()();
      is_zero &= bits == 0;
      for (size_t i = 0; i < sizeof(uint64_t); ++i) id[at + i] = static_cast<uint8_t>(bits >> (8 * i));
    }
  }
  return id;
}

template <typename Id>
Id IdOf(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  Id id{};
  for (size_t i = 0; i < id.size(); ++i) {
    id[i] = static_cast<uint8_t>(16 * value(digits[2 * i]) + value(digits[2 * i + 1]));
  }
  return id;
}

template <typename Id>
std::string HexOf(const Id& id) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(id.data()), id.size()));
}

}  // namespace

TraceId NewTraceId() {
  return NewId<TraceId>();
}

SpanId NewSpanId() {
  return NewId<SpanId>();
}

TraceId TraceIdOf(std::string_view digits) {
  return IdOf<TraceId>(digits);
}

SpanId SpanIdOf(std::string_view digits) {
  return IdOf<SpanId>(digits);
}

std::string Hex(const TraceId& id) {
  return HexOf(id);
}

std::string Hex(const SpanId& id) {
  return HexOf(id);
}

bool IsSampled(const TraceId& id, double ratio) {
  uint64_t random = 0;
  for (size_t i = id.size() - kRandomBits / 8; i < id.size(); ++i) random = random << 8 | id[i];
  return random >= static_cast<uint64_t>(std::llround((1 - ratio) * std::ldexp(1.0, kRandomBits)));
}

}  // namespace vitrine
