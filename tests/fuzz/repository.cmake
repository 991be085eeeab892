vitrine_fuzzer(safetensors_fuzz SOURCES safetensors_fuzz.cc ROOMS repository)
vitrine_fuzzer(manifest_fuzz SOURCES manifest_fuzz.cc ROOMS repository)
