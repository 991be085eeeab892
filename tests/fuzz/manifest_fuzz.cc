// Any text is refused with a status or gives a manifest; a valid one survives being printed and parsed again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "repository/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto manifest = vitrine::ParseManifest({reinterpret_cast<const char*>(data), size});
  if (!manifest.ok() || !vitrine::ValidateManifest(*manifest).ok()) return 0;
  const auto again = vitrine::ParseManifest(vitrine::FormatManifest(*manifest));
  if (!again.ok() || !vitrine::ValidateManifest(*again).ok()) std::abort();
  if (vitrine::FormatManifest(*again) != vitrine::FormatManifest(*manifest)) std::abort();
  return 0;
}
