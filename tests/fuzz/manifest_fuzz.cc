// SPDX-License-Identifier: Apache-2.0
// Parses arbitrary text as a manifest. The text must be rejected with a status, or give a manifest that stays equal
// when it is printed and parsed again.
#include <cstdint>
#include <string_view>

#include "models/repository/manifest.h"
#include "tests/fuzz/mutate_message.h"
#include "tests/fuzz/require.h"

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  vitrine::v1::Manifest scratch;
  return vitrine::MutateText(scratch, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto manifest = vitrine::ParseManifest({reinterpret_cast<const char*>(data), size});
  if (!manifest.ok() || !vitrine::ValidateManifest(*manifest).ok()) return 0;
  const auto again = vitrine::ParseManifest(vitrine::FormatManifest(*manifest));
  vitrine::Require(again.ok() && vitrine::ValidateManifest(*again).ok());
  vitrine::Require(vitrine::FormatManifest(*again) == vitrine::FormatManifest(*manifest));
  return 0;
}
