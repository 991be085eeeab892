// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/emulated/counters.h"

#include <algorithm>
#include <set>

namespace vitrine::cuda::emulated {
namespace {

constexpr size_t kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

// Returns the number of passes that a request takes. In each pass, a bank delivers one word. If an access is wider than
// a word, the lanes are served in groups, one group after another. A group has as many lanes as the banks can serve in
// one pass if no two words are in the same bank.
template <class Accesses>
int64_t Passes(const Accesses& lanes) {
  const size_t bytes = lanes.front().bytes, at_once = std::min<size_t>(32, kBanks * kBankBytes / bytes);
  int64_t passes = 0;
  for (size_t first = 0; first < lanes.size(); first += at_once) {
    std::map<size_t, std::set<uintptr_t>> words;
    for (size_t i = first; i < std::min(first + at_once, lanes.size()); ++i) {
      for (size_t byte = 0; byte < bytes; byte += kBankBytes) {
        const uintptr_t word = (lanes[i].address + byte) / kBankBytes;
        words[word % kBanks].insert(word);
      }
    }
    size_t most = 0;
    for (const auto& [bank, distinct] : words) most = std::max(most, distinct.size());
    passes += static_cast<int64_t>(most);
  }
  return passes;
}

template <class Accesses>
int64_t LeastPasses(const Accesses& lanes) {
  const size_t at_once = std::min<size_t>(32, kBanks * kBankBytes / lanes.front().bytes);
  return static_cast<int64_t>((lanes.size() + at_once - 1) / at_once);
}

}  // namespace

void Counters::Add(int thread, const void* address, size_t bytes, bool is_shared, Source at) {
  auto& requests = requests_[{thread / 32, at.line, is_shared}];
  const size_t number = counts_[{thread, at.line, is_shared}]++;
  if (requests.size() <= number) requests.resize(number + 1);
  requests[number].push_back({reinterpret_cast<uintptr_t>(address), bytes});
}

void Counters::EndBlock() {
  for (auto& [place, requests] : requests_) {
    const bool is_shared = std::get<2>(place);
    Traffic& traffic = by_line_[{std::get<1>(place), is_shared}];
    for (auto& lanes : requests) {
      // Sorts the accesses by address. They were recorded in the random order in which the lanes ran, but Passes
      // requires that the lanes of a group have neighbouring addresses.
      std::sort(lanes.begin(), lanes.end(), [](const Access& a, const Access& b) { return a.address < b.address; });
      ++traffic.requests;
      for (const Access& access : lanes) traffic.bytes += static_cast<int64_t>(access.bytes);
      if (is_shared) {
        traffic.passes += Passes(lanes);
        traffic.least_passes += LeastPasses(lanes);
        continue;
      }
      std::set<uintptr_t> sectors, bytes;
      for (const Access& access : lanes) {
        for (size_t i = 0; i < access.bytes; ++i) {
          bytes.insert(access.address + i);
          sectors.insert((access.address + i) / kSectorBytes);
        }
      }
      traffic.sectors += static_cast<int64_t>(sectors.size());
      traffic.least_sectors += static_cast<int64_t>((bytes.size() + kSectorBytes - 1) / kSectorBytes);
    }
  }
  requests_.clear();
  counts_.clear();
}

Traffic Counters::Total(bool is_shared) const {
  Traffic total;
  for (const auto& [place, traffic] : by_line_) {
    if (place.second != is_shared) continue;
    total.requests += traffic.requests;
    total.bytes += traffic.bytes;
    total.passes += traffic.passes;
    total.least_passes += traffic.least_passes;
    total.sectors += traffic.sectors;
    total.least_sectors += traffic.least_sectors;
  }
  return total;
}

}  // namespace vitrine::cuda::emulated
